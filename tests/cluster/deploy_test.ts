/**
 * The life of an installation by Helm: installed, upgraded, rolled back and uninstalled, while a Gateway serves.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { root } from "../support/command.ts";
import { type Cluster, install, type Json, startCluster } from "./support/cluster.ts";
import { chart, Helm } from "./support/helm.ts";
import { available, classIsAccepted, denials, replicasOf, system } from "./support/installation.ts";
import { sendTraffic } from "./support/traffic.ts";
import { backend, gatewayIn, gatewayPath, programmed, proxiesIn, routeTo, statusOf } from "./support/web.ts";

const namespace = "shop";
const release = ["gatehouse", chart, `--namespace=${system}`, "--wait", "--timeout=2m"];

/** What a replica's `/metrics` says. */
async function metricsOf(cluster: Cluster, pod: Json): Promise<string> {
  const { code, out } = await cluster.exec(["curl", "--silent", `http://${pod.status.podIP}:8081/metrics`]);
  assertEquals(code, 0);
  return out;
}

/** The Envoys, as `NAME RESTARTS`. */
async function envoys(cluster: Cluster): Promise<readonly string[]> {
  return (await proxiesIn(cluster, namespace)).map(({ metadata, status }) =>
    `${metadata.name} ${status.containerStatuses?.[0]?.restartCount}`
  ).sort();
}

/** The address of the Gateway, once it answers there. */
async function answering(cluster: Cluster): Promise<string> {
  const address = await programmed(cluster, namespace);
  await cluster.until({ what: "an answer" }, async () => await statusOf(cluster, address) === 200);
  return address;
}

/** The sum of a metric over its labels. */
function sumOf(metrics: string, name: string): number {
  const values = metrics.split("\n").filter((line) =>
    line.startsWith(`${name}{`) || line.startsWith(`${name} `)
  );
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

Deno.test("an installation by Helm", async (t) => {
  await using cluster = await startCluster({ gatewayApi: false });
  await using helm = await Helm.open(cluster);

  await t.step("without the Gateway API nothing is installed, and it says why", async () => {
    const { code, err } = await helm.try(["install", ...release, "--create-namespace"]);
    assert(code !== 0);
    assertStringIncludes(err, "the CRDs of the Gateway API are not installed. Install them first");
    assertEquals(await cluster.get(`/apis/apps/v1/namespaces/${system}/deployments/gatehouse`), undefined);
  });

  await install(cluster);
  // The strictest of Kubernetes' standards is kept, by the hooks as well.
  await cluster.apply([{
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: system, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  }]);
  await cluster.apply(backend);

  await t.step("install: a Gateway answers", async () => {
    await helm.run(["install", ...release]);
    await classIsAccepted(cluster);
    await cluster.apply([...gatewayIn(namespace), routeTo(namespace, "echo")]);
    await answering(cluster);
  });

  await t.step("it tells all metrics that alerts and the dashboard ask for", async () => {
    const texts = await Promise.all(
      ["alerts.yaml", "dashboard.json"].map((file) => Deno.readTextFile(`${root}deploy/monitoring/${file}`)),
    );
    const asked = new Set(
      texts.join("\n").match(/\b(gatehouse|controller_runtime|workqueue)_[a-z_]+\b/g)!
        .map((name) => name.replace(/_bucket$/, "")),
    );
    assert(asked.size > 20);
    for (const pod of await replicasOf(cluster)) {
      const metrics = await metricsOf(cluster, pod);
      const told = new Set([...metrics.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!));
      assertEquals([...asked].filter((name) => !told.has(name)), []);
    }
  });

  await t.step("upgrade: other replicas, the same Envoys, and not a byte sent to them", async () => {
    const address = await answering(cluster);
    const before = await envoys(cluster), replicas = await replicasOf(cluster);
    assert(before.length > 0);
    const pushes = (metrics: string) => sumOf(metrics, "gatehouse_xds_pushes_total");
    const first = await Promise.all(replicas.map((pod) => metricsOf(cluster, pod)));
    assert(first.some((metrics) => pushes(metrics) > 0), "at first they had nothing");
    await using traffic = sendTraffic(cluster, address, "echo.example.com");
    await traffic.more();
    await helm.run(["upgrade", ...release], { replicas: 3, "log.level": "debug" });
    await available(cluster);
    const others = await replicasOf(cluster);
    assertEquals(others.length, 3);
    const old = replicas.map(({ metadata }) => metadata.name);
    assertEquals(others.filter(({ metadata }) => old.includes(metadata.name)), []);
    const all = () => Promise.all(others.map((pod) => metricsOf(cluster, pod)));
    await cluster.until({ what: "the Envoys to be with the new replicas" }, async () => {
      const streams = (await all()).map((metrics) => sumOf(metrics, "gatehouse_xds_streams"));
      return streams.reduce((a, b) => a + b) === before.length;
    });
    await traffic.more();
    assertEquals((await all()).map(pushes), [0, 0, 0], "now they have it all");
    const { answers, connections, failures } = await traffic.stop();
    assertEquals(failures, []);
    assert(answers.http1 > 200 && answers.http2 > 200, "there was traffic");
    assertEquals(connections, { http1: 3, http2: 1 }, "nobody had to connect again");
    assertEquals(await envoys(cluster), before);
  });

  await t.step("rollback: as it was", async () => {
    const before = await envoys(cluster);
    await helm.run(["rollback", "gatehouse", "1", `--namespace=${system}`, "--wait", "--timeout=2m"]);
    await available(cluster);
    const { spec } = await cluster.get(`/apis/apps/v1/namespaces/${system}/deployments/gatehouse`);
    assertEquals(spec.replicas, 2);
    assert(spec.template.spec.containers[0].args.includes("--log-level=info"));
    assertEquals(await envoys(cluster), before);
    assertEquals(denials((await cluster.audit()).events), [], "no replica lacked a right");
  });

  await t.step("uninstall: Envoys go on, and nothing waits for an operator", async () => {
    const address = await answering(cluster), before = await envoys(cluster);
    await using traffic = sendTraffic(cluster, address, "echo.example.com");
    await traffic.more();
    await helm.run(["uninstall", "gatehouse", `--namespace=${system}`, "--wait", "--timeout=2m"]);
    await cluster.until(
      { what: "the operator to be gone", seconds: 60 },
      async () => (await cluster.get(`/api/v1/namespaces/${system}/pods`)).items.length === 0,
    );
    await traffic.more();
    assertEquals((await traffic.stop()).failures, []);
    assertEquals(await envoys(cluster), before);
    const { metadata } = await cluster.get(gatewayPath(namespace));
    assertEquals(metadata.finalizers, undefined);
    const gone = "/apis/gateway.networking.k8s.io/v1/gatewayclasses/gatehouse";
    await cluster.until({ what: "the class to be gone" }, async () => await cluster.get(gone) === undefined);
    const left = [
      ...["clusterroles", "clusterrolebindings"].map((plural) => `rbac.authorization.k8s.io/v1/${plural}`),
      ...["roles", "rolebindings"].map((plural) =>
        `rbac.authorization.k8s.io/v1/namespaces/${system}/${plural}`
      ),
      `batch/v1/namespaces/${system}/jobs`,
    ].map((path) => cluster.get(`/apis/${path}`));
    const names = (await Promise.all(left)).flatMap(({ items }) => items.map((o: Json) => o.metadata.name));
    assertEquals(names.filter((name) => name.includes("gatehouse")), []);
    assert(
      await cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/envoyfleets.gatehouse.dev"),
      "what people have written of our kind stays",
    );
  });

  await t.step("a Gateway that is deleted afterwards goes, and its Envoys with it", async () => {
    await cluster.kubectl("delete", `--namespace=${namespace}`, "--timeout=20s", "gateway", "web");
    await cluster.until(
      { what: "the Envoys to be gone", seconds: 60 },
      async () => (await envoys(cluster)).length === 0,
    );
  });

  await t.step("what was uninstalled can be installed again", async () => {
    await helm.run(["install", ...release]);
    await cluster.apply([...gatewayIn(namespace), routeTo(namespace, "echo")]);
    await answering(cluster);
  });
});
