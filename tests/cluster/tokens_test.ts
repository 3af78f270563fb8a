/**
 * Who gets what from the xDS servers of a cluster: the proxies of a Gateway what is their Gateway's, by the tokens of their pods, and
 * nobody else anything; while the API server is away, too.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { createPrivateKey, sign } from "node:crypto";
import { tokenAudience } from "../../controllers/infrastructure/names.ts";
import { root, succeed } from "../support/command.ts";
import { base64, issuerOf } from "../support/jwt.ts";
import type { Questions } from "./support/ask_xds.ts";
import { type Cluster, type Json, startCluster } from "./support/cluster.ts";
import { installGatehouse, replicasOf, system } from "./support/installation.ts";
import { gatewayIn, programmed, proxiesIn } from "./support/web.ts";

/** Asks a replica of the operator. */
async function ask(
  cluster: Cluster,
  replica: Json,
  authority: string,
  attempts: Questions["attempts"],
): Promise<{ readonly [what: string]: string }> {
  const questions: Questions = {
    host: replica.status.podIP,
    port: 18000,
    serverName: `gatehouse.${system}.svc`,
    authority,
    attempts,
  };
  const command = [Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-config", "--allow-all"];
  const { code, out, err } = await cluster.exec([...command, `${cluster.folder}/ask_xds.js`], {
    input: JSON.stringify(questions),
  });
  assertEquals(code, 0, err);
  return JSON.parse(out);
}

/** A token of a pod, or of its ServiceAccount alone, as the API server makes them. */
async function tokenOf(
  { metadata, spec }: Json,
  cluster: Cluster,
  ...flags: readonly string[]
): Promise<string> {
  const account = `--namespace=${metadata.namespace}`;
  return (await cluster.kubectl("create", "token", account, spec.serviceAccountName, ...flags)).trim();
}

const bound = ({ metadata: { name, uid } }: Json): readonly string[] => [
  `--audience=${tokenAudience}`,
  "--bound-object-kind=Pod",
  `--bound-object-name=${name}`,
  `--bound-object-uid=${uid}`,
];

/** The same token with other claims, signed by the API server's own key. */
async function resigned(cluster: Cluster, token: string, claims: object): Promise<string> {
  const [head, body] = token.split(".") as [string, string];
  const before = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(body, { alphabet: "base64url" })));
  const content = `${head}.${base64(JSON.stringify({ ...before, ...claims }))}`;
  const key = createPrivateKey(await Deno.readTextFile(`${cluster.folder}/pki/service-account.key`));
  return `${content}.${base64(new Uint8Array(sign("sha256", new TextEncoder().encode(content), key)))}`;
}

Deno.test("proxies of a cluster are known by the tokens of their pods", async (t) => {
  await using cluster = await startCluster();
  // One file, since packages are not to be had inside.
  const [program, output] = [`${root}tests/cluster/support/ask_xds.ts`, `${cluster.folder}/ask_xds.js`];
  await succeed([Deno.execPath(), "bundle", "--quiet", "--output", output, program], { cwd: root });
  await installGatehouse(cluster);
  await cluster.apply([...gatewayIn("one"), ...gatewayIn("two")]);
  await programmed(cluster, "one");
  await programmed(cluster, "two");
  const [[one], [two]] = await Promise.all([proxiesIn(cluster, "one"), proxiesIn(cluster, "two")]);
  const [first, second] = await replicasOf(cluster);
  const config = await cluster.get("/api/v1/namespaces/one/configmaps/web-gatehouse");
  const authority: string = config.data["ca.crt"];
  const own = { node: `one/${one.metadata.name}`, gateway: "one/web" };
  const foreign = { node: `two/${two.metadata.name}`, gateway: "two/web" };
  const good = await tokenOf(one, cluster, ...bound(one));
  const expired = await resigned(cluster, good, { exp: Math.floor(Date.now() / 1000) - 60 });
  const served = "served one/web/80";

  await t.step("each gets what is its Gateway's, from every replica", async () => {
    const attempts = [
      { what: "one", ...own, token: good },
      { what: "two", ...foreign, token: await tokenOf(two, cluster, ...bound(two)) },
    ];
    for (const replica of [first, second]) {
      assertEquals(await ask(cluster, replica, authority, attempts), {
        one: served,
        two: "served two/web/80",
      });
    }
  });

  await t.step("whoever shows another token gets nothing", async () => {
    const [head, body, signature] = good.split(".") as [string, string, string];
    const stranger = await issuerOf("RS256", "stranger");
    const claims = JSON.parse(
      new TextDecoder().decode(Uint8Array.fromBase64(body, { alphabet: "base64url" })),
    );
    const changed = { ...claims["kubernetes.io"], namespace: "two" };
    const attempts: Questions["attempts"] = [
      { what: "missing", ...own },
      { what: "another pod", node: foreign.node, gateway: own.gateway, token: good },
      { what: "another Gateway", node: own.node, gateway: foreign.gateway, token: good },
      { what: "foreign audience", ...own, token: await tokenOf(one, cluster) },
      { what: "no pod", ...own, token: await tokenOf(one, cluster, `--audience=${tokenAudience}`) },
      { what: "expired", ...own, token: expired },
      { what: "signed by somebody else", ...own, token: await stranger.sign(claims) },
      {
        what: "forged claims",
        ...foreign,
        token: `${head}.${base64(JSON.stringify({ ...claims, "kubernetes.io": changed }))}.${signature}`,
      },
      { what: "rubbish", ...own, token: "rubbish" },
    ];
    const answers = await ask(cluster, first, authority, attempts);
    assertEquals(Object.keys(answers).length, attempts.length);
    // UNAUTHENTICATED, but for a proxy that is known and asks for what is not its own: PERMISSION_DENIED.
    for (const [what, answer] of Object.entries(answers)) {
      assertMatch(answer, what.startsWith("another") ? /^7: / : /^16: /, what);
    }
  });

  await t.step("without the API server good ones go on being believed, and expired ones not", async () => {
    const fresh = await tokenOf(one, cluster, ...bound(one));
    await cluster.apiServer.refuse();
    try {
      for (const replica of [first, second]) {
        const { good, bad } = await ask(cluster, replica, authority, [
          { what: "good", ...own, token: fresh },
          { what: "bad", ...own, token: expired },
        ]);
        assertEquals(good, served);
        assertMatch(bad!, /^16: .*expired/);
      }
    } finally {
      await cluster.apiServer.restore();
    }
  });
});
