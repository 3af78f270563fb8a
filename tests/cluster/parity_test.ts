/** The API server of standalone, held against kube-apiserver: the same requests to both, and the same answers. */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { serveApi } from "../../standalone/apiserver/serve.ts";
import { collections } from "./parity/collections.ts";
import { differences } from "./parity/differences.ts";
import { lives } from "./parity/life.ts";
import { requests } from "./parity/requests.ts";
import { rules } from "./parity/rules.ts";
import { type Entry, inOrder, Recorder, type Side } from "./parity/side.ts";
import { type Cluster, startCluster } from "./support/cluster.ts";

const scenarios = [...lives, ...collections, ...requests, ...rules];

const text = (answer: unknown) => JSON.stringify(answer);

async function realSide(cluster: Cluster): Promise<Side> {
  const pki = `${cluster.folder}/pki`, kubeconfig = await Deno.readTextFile(cluster.kubeconfig);
  const client = Deno.createHttpClient({
    caCerts: [await Deno.readTextFile(`${pki}/ca.crt`)],
    cert: await Deno.readTextFile(`${pki}/kubernetes-admin.crt`),
    key: await Deno.readTextFile(`${pki}/kubernetes-admin.key`),
  });
  return { url: /server: "?([^",]+)/.exec(kubeconfig)![1]!, client, [Symbol.dispose]: () => client.close() };
}

async function record(side: Side, index: number): Promise<Entry[]> {
  const api = new Recorder(side, `s${index}`);
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: api.namespace } };
  await api.quietly("POST", "/api/v1/namespaces", { body: namespace });
  await scenarios[index]!.run(api);
  return api.entries;
}

Deno.test("parity: both API servers give the same answers", async (t) => {
  await using cluster = await startCluster({ gatewayApi: { version: "v1.7.0", channel: "experimental" } });
  const dataDir = await Deno.makeTempDir();
  await using api = await serveApi({ dataDir, model: typedModel(), clock: systemClock, log: silentLog });
  const client = Deno.createHttpClient({
    caCerts: [api.certificates.authority.certificate],
    cert: api.certificates.admin.certificate,
    key: api.certificates.admin.key,
  });
  using standalone: Side = { url: api.url, client, [Symbol.dispose]: () => client.close() };
  using real = await realSide(cluster);

  const seen = new Set<string>();
  let count = 0;
  for (const [index, { name }] of scenarios.entries()) {
    await t.step(name, async () => {
      const [theirs, ours] = await Promise.all([record(real, index), record(standalone, index)]);
      count += theirs.length;
      assertEquals(ours.map(({ request }) => request), theirs.map(({ request }) => request));
      const wrong = theirs.flatMap(({ request, answer: theirs }, i) => {
        const expected = differences.filter(({ of }) => of(name, request)).reduce(
          (answer, { why, instead }) => {
            const next = inOrder(instead(answer, request));
            if (text(next) !== text(answer)) seen.add(why);
            return next;
          },
          inOrder(theirs),
        );
        const answer = ours[i]!.answer;
        if (text(inOrder(answer)) === text(expected)) return [];
        return [
          `${request}\n  kube-apiserver: ${text(theirs)}\n  expected:       ${
            text(expected)
          }\n  standalone:     ${text(answer)}`,
        ];
      });
      assertEquals(wrong.length, 0, `\n${wrong.join("\n\n")}`);
    });
  }
  await t.step("every difference that is documented is there", () => {
    assertEquals(differences.map(({ why }) => why).filter((why) => !seen.has(why)), []);
  });
  assert(count > 3000, `${count} requests`);
  await Deno.remove(dataDir, { recursive: true });
});
