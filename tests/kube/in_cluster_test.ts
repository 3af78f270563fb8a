import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { ConfigError } from "../../kube/errors.ts";
import { inCluster, isInCluster } from "../../kube/in_cluster.ts";
import { FakeClock } from "../support/fake_clock.ts";

const directory = "/var/run/secrets/kubernetes.io/serviceaccount";

function pod(env: Record<string, string>, contents: Record<string, string>) {
  const files = new Map(Object.entries(contents).map(([name, text]) => [`${directory}/${name}`, text]));
  const readFile = (path: string) =>
    files.has(path)
      ? Promise.resolve(files.get(path)!)
      : Promise.reject(new Deno.errors.NotFound("no such file"));
  return { files, surroundings: { env, readFile } };
}

const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
const mounted = { token: "one\n", "ca.crt": "CA", namespace: "gatehouse-system" };

Deno.test("the token is read again every minute and after a rejection, the authority as well", async () => {
  const { files, surroundings } = pod(env, mounted);
  const clock = new FakeClock();
  const cluster = await inCluster({ surroundings, clock });
  assertEquals(cluster.server.href, "https://10.0.0.1/");
  assertEquals(cluster.namespace, "gatehouse-system");
  const first = await cluster.credentials();
  assertEquals(first, { tls: { caCerts: ["CA"] }, authorization: "Bearer one" });

  await clock.advance(60_000);
  assertStrictEquals(await cluster.credentials(), first, "read again, and the same");
  files.set(`${directory}/token`, "two");
  await clock.advance(60_000);
  const second = await cluster.credentials();
  assertEquals(second.authorization, "Bearer two");
  assertStrictEquals(second.tls, first.tls);

  files.set(`${directory}/token`, "three");
  files.set(`${directory}/ca.crt`, "CA2");
  cluster.reject(first);
  assertStrictEquals(await cluster.credentials(), second, "old news");
  cluster.reject(second);
  assertEquals(await cluster.credentials(), { tls: { caCerts: ["CA2"] }, authorization: "Bearer three" });
});

Deno.test("an address of IPv6", async () => {
  const { surroundings } = pod({ ...env, KUBERNETES_SERVICE_HOST: "fd00::1" }, mounted);
  const cluster = await inCluster({ surroundings, clock: new FakeClock() });
  assertEquals(cluster.server.href, "https://[fd00::1]/");
});

Deno.test("outside of a pod, and in one without a token", async () => {
  assertEquals(isInCluster(env), true);
  assertEquals(isInCluster({}), false);
  const clock = new FakeClock();
  await assertRejects(
    () => inCluster({ surroundings: pod({}, mounted).surroundings, clock }),
    ConfigError,
    "outside of a pod, name a kubeconfig",
  );
  await assertRejects(
    () => inCluster({ surroundings: pod(env, { "ca.crt": "CA" }).surroundings, clock }),
    ConfigError,
    `Cannot read the token "${directory}/token" of the cluster around us: no such file`,
  );
});
