/**
 * Which replica of an operator writes, when the one that does stops, is killed, or sleeps past its lease.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type AuditEvent, type Cluster, isTrue, startCluster } from "./support/cluster.ts";
import { available, installGatehouse, operatorUser, system } from "./support/installation.ts";

const lease = `/apis/coordination.k8s.io/v1/namespaces/${system}/leases/gatehouse`;

/** The pod that holds the Lease. */
async function leader(cluster: Cluster): Promise<string> {
  const found = await cluster.get(lease);
  return (found?.spec?.holderIdentity ?? "").split("_")[0];
}

/** Makes a GatewayClass. Resolves once its status is written, with how long that took in milliseconds. */
async function served(cluster: Cluster, name: string): Promise<number> {
  const start = performance.now(), apiVersion = "gateway.networking.k8s.io/v1";
  const spec = { controllerName: "gatehouse.dev/gateway-controller" };
  await cluster.apply([{ apiVersion, kind: "GatewayClass", metadata: { name }, spec }]);
  await cluster.until(
    { what: `GatewayClass ${name} to be accepted`, seconds: 40 },
    async () => isTrue(await cluster.get(`/apis/${apiVersion}/gatewayclasses/${name}`), "Accepted"),
  );
  return performance.now() - start;
}

/** The writes of the operator that were accepted, but for those to the Lease: when, and by which replica. */
function writes(events: readonly AuditEvent[]): readonly { readonly at: string; readonly pod: string }[] {
  const writing = ["create", "update", "patch", "delete"];
  return events.filter(({ user, verb, objectRef, responseStatus, stage }) =>
    user.username === operatorUser && stage === "ResponseComplete" && writing.includes(verb) &&
    !["leases", "tokenreviews"].includes(objectRef?.resource ?? "") && (responseStatus?.code ?? 500) < 300
  ).map(({ stageTimestamp, userAgent }) => ({
    at: stageTimestamp,
    pod: userAgent?.match(/\(operator (\S+)\)/)?.[1] ?? "",
  }));
}

Deno.test("one replica writes, another when that one stops, is killed or sleeps, and never two", async () => {
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas: 2 });
  await served(cluster, "first");

  const stopped = await leader(cluster);
  await cluster.kubectl(`--namespace=${system}`, "delete", "pod", stopped, "--wait=false");
  const afterStop = await served(cluster, "after-stop");
  assert(await leader(cluster) !== stopped);
  assert(afterStop < 10_000, `nobody waited for the Lease to expire: ${afterStop} ms`);
  await available(cluster);

  const killed = await leader(cluster);
  await cluster.signal({ namespace: system, pod: killed, container: "operator" }, "KILL");
  const afterKill = await served(cluster, "after-kill");
  assert(afterKill < 25_000, `it took ${afterKill} ms`);
  assert(await leader(cluster) !== "");
  await available(cluster);

  const asleep = await leader(cluster), { end } = await cluster.audit();
  await cluster.signal({ namespace: system, pod: asleep, container: "operator" }, "STOP");
  const afterSleep = await served(cluster, "after-sleep"), next = await leader(cluster);
  assert(next !== asleep && afterSleep < 25_000, `it took ${afterSleep} ms`);
  await cluster.signal({ namespace: system, pod: asleep, container: "operator" }, "CONT");
  await served(cluster, "awake");
  const all = writes((await cluster.audit(end)).events), first = all.find(({ pod }) => pod === next);
  assert(first, "the next leader has written");
  assertEquals(all.filter(({ pod, at }) => pod !== next && at > first.at), [], "and nobody else after that");
});
