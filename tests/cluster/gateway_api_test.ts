/**
 * The releases of the Gateway API that Gatehouse says it works with: it starts without any, takes up what comes, and lives through
 * updates from each to the next.
 *
 * @module
 */
import { assertEquals, equal } from "@std/assert";
import { type Cluster, install, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { chart, Helm } from "./support/helm.ts";
import { denials, replicasOf, system } from "./support/installation.ts";
import { backend, gatewayIn, programmed, routeTo, statusOf } from "./support/web.ts";

/** The last of each minor release, but for 1.6, which the other tests have. */
const releases = ["v1.4.1", "v1.5.1", "v1.7.0"];

const gatewayClass: Json = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "GatewayClass",
  metadata: { name: "gatehouse" },
  spec: { controllerName: "gatehouse.dev/gateway-controller" },
};

/** Whether Gatehouse says that a release is installed, nothing else is, and all is well. */
async function isTakenUp(cluster: Cluster, release: string): Promise<boolean> {
  const found = await cluster.get("/apis/gateway.networking.k8s.io/v1/gatewayclasses/gatehouse");
  const supported = found.status?.conditions?.find(({ type }: Json) => type === "SupportedVersion");
  return isTrue(found, "Accepted") && supported?.status === "True" &&
    supported.message === `Gateway API is installed in version ${release}`;
}

/** What of Gateway API is watched. */
const kinds = [
  "backendtlspolicies",
  "gatewayclasses",
  "gateways",
  "grpcroutes",
  "httproutes",
  "listenersets",
  "referencegrants",
  "tcproutes",
  "tlsroutes",
  "udproutes",
];

/** Which of the kinds the release that is installed does not define. */
async function undefinedOnes(cluster: Cluster): Promise<readonly string[]> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const { items } = await cluster.get(path);
  const names = new Set(items.map(({ metadata }: Json) => metadata.name));
  return kinds.filter((kind) => !names.has(`${kind}.gateway.networking.k8s.io`));
}

/** What each replica has logged. */
async function linesOf(cluster: Cluster): Promise<readonly (readonly Json[])[]> {
  const logs = (await replicasOf(cluster)).map(({ metadata }) =>
    cluster.logs({ namespace: system, pod: metadata.name, container: "operator" })
  );
  return (await Promise.all(logs)).map((log) => log.trim().split("\n").map((line) => JSON.parse(line)));
}

/** Which of the kinds each replica last said are not there. */
async function missing(cluster: Cluster): Promise<readonly (readonly string[])[]> {
  return (await linesOf(cluster)).map((lines) => {
    const told = new Map<string, string>(lines.map(({ watch, message }) => [watch, message]));
    return kinds.filter((kind) => told.get(kind) === "Not installed");
  });
}

const namespaceOf = (release: string): string => `from-${release.replaceAll(".", "-")}`;

Deno.test("Gateway API, release after release", async (t) => {
  await using cluster = await startCluster({ gatewayApi: false });
  await using helm = await Helm.open(cluster);
  await install(cluster, { gatewayApi: false });
  await cluster.apply(backend);

  await t.step("without it an operator is ready", async () => {
    const release = ["gatehouse", chart, `--namespace=${system}`, "--create-namespace"];
    await helm.run(["install", ...release, "--wait", "--timeout=2m"], { "gatewayClass.create": false });
    assertEquals(await missing(cluster), [kinds, kinds], "each replica says what is missing");
  });

  const before: string[] = [];
  for (const release of releases) {
    await t.step(`${release}: it serves Gateways, those from before as well`, async () => {
      await install(cluster, { gatewayApi: { version: release, channel: "standard" } });
      await cluster.apply([gatewayClass]);
      await cluster.until(
        { what: "the release to be taken up", seconds: 60 },
        () => isTakenUp(cluster, release),
      );
      const lacking = await undefinedOnes(cluster);
      await cluster.until(
        { what: `each replica to miss nothing but ${lacking}` },
        async () => equal(await missing(cluster), [lacking, lacking]),
      );
      before.push(namespaceOf(release));
      await cluster.apply([
        ...gatewayIn(namespaceOf(release)),
        routeTo(namespaceOf(release), namespaceOf(release)),
      ]);
      for (const namespace of before) {
        const address = await programmed(cluster, namespace);
        await cluster.until(
          { what: `an answer of ${namespace}`, seconds: 60 },
          async () => await statusOf(cluster, address) === 200,
        );
      }
    });
  }

  await t.step("no replica has stopped, or lacked a right", async () => {
    const pods = await replicasOf(cluster);
    assertEquals(pods.map(({ status }) => status.containerStatuses[0].restartCount), [0, 0]);
    assertEquals((await linesOf(cluster)).flat().filter(({ level }) => level === "error"), []);
    assertEquals(denials((await cluster.audit()).events), []);
  });
});
