/**
 * The releases of the Gateway API that Gatehouse says it works with: it starts without any, takes up what comes, and lives through
 * updates from each to the next.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
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

const namespaceOf = (release: string): string => `from-${release.replaceAll(".", "-")}`;

Deno.test("Gateway API, release after release", async (t) => {
  await using cluster = await startCluster({ gatewayApi: false });
  await using helm = await Helm.open(cluster);
  await install(cluster, { gatewayApi: false });
  await cluster.apply(backend);

  await t.step("without it an operator is ready", async () => {
    const release = ["gatehouse", chart, `--namespace=${system}`, "--create-namespace"];
    await helm.run(["install", ...release, "--wait", "--timeout=2m"], { "gatewayClass.create": false });
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
    const logs = await Promise.all(
      pods.map(({ metadata }) =>
        cluster.logs({ namespace: system, pod: metadata.name, container: "operator" })
      ),
    );
    const lines: readonly Json[] = logs.flatMap((log) =>
      log.trim().split("\n").map((line) => JSON.parse(line))
    );
    assertEquals(lines.filter(({ level }) => level === "error"), []);
    assertEquals(denials((await cluster.audit()).events), []);
  });
});
