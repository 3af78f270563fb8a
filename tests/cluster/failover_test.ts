/**
 * Leaders that stop, are killed or sleep in the midst of work, under traffic: another goes on within the time that is promised,
 * no two write, proxies notice nothing, and in the end all is as if one had done it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type AuditEvent, type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { available, installGatehouse, replicasOf, system } from "./support/installation.ts";
import { judge, senderOf, writesIn } from "./support/judge.ts";
import { sendTraffic } from "./support/traffic.ts";
import {
  backend,
  childrenIn,
  gatewayIn,
  gatewayPath,
  programmed,
  proxiesIn,
  rename,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${system}/leases/gatehouse`;
const place = "shop", spare = "spare", idle = "idle", seconds = 90;
/** A route that changes once. */
const calm = "calm";
/** Routes that change all the time, so that there is always something to write. */
const restless = Array.from({ length: 12 }, (_, i) => `restless-${i}`);

async function holder(cluster: Cluster): Promise<string> {
  return (await cluster.get(leasePath)).spec.holderIdentity ?? "";
}

const podOf = (identity: string) => identity.split("_")[0]!;
const operatorIn = (pod: string) => ({ namespace: system, pod, container: "operator" });

/** Waits until a replica other than `old` has the Lease; gives its identity. */
async function successor(cluster: Cluster, old: string): Promise<string> {
  return await cluster.until({ what: "another leader", seconds: 60 }, async () => {
    const now = await holder(cluster);
    return now !== "" && now !== old && now;
  });
}

/** When a leader was elected, by its own clock, in milliseconds. */
async function elected(cluster: Cluster, identity: string): Promise<number> {
  const { spec } = await cluster.get(leasePath);
  assertEquals(spec.holderIdentity, identity);
  return Date.parse(spec.acquireTime);
}

/** Whether all proxies that are ready answer for a host, each of them asked itself. */
async function allAnswer(cluster: Cluster, host: string): Promise<boolean> {
  const { spec } = await cluster.get(`/api/v1/namespaces/${place}/services/web-gatehouse`);
  const { targetPort } = spec.ports.find(({ port }: Json) => port === 80);
  const ready = (await proxiesIn(cluster, place)).filter((pod) =>
    pod.metadata.deletionTimestamp === undefined && isTrue(pod, "Ready")
  );
  const statuses = await Promise.all(
    ready.map(({ status }) => statusOf(cluster, `${status.podIP}:${targetPort}`, host)),
  );
  return statuses.length > 0 && statuses.every((status) => status === 200);
}

/** The first accepted write of a pod after a time. */
async function firstWrite(
  cluster: Cluster,
  from: number,
  pod: string,
  after: number,
): Promise<AuditEvent> {
  return await cluster.until(
    { what: `a write of ${pod}`, seconds: 60 },
    async () =>
      writesIn((await cluster.audit(from)).events).find((event) =>
        senderOf(event) === pod && Date.parse(event.requestReceivedTimestamp) > after
      ),
  );
}

const received = ({ requestReceivedTimestamp }: AuditEvent) => Date.parse(requestReceivedTimestamp);

/** Changes routes until it is disposed of: their statuses have to be written again and again. */
function statusStorm(cluster: Cluster): AsyncDisposable {
  const state = { going: true };
  const blow = async () => {
    for (let turn = 0; state.going; turn++) {
      for (const name of restless) {
        if (!state.going) break;
        await rename(cluster, name, `${name}-${turn % 2}.example.com`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  const blowing = blow();
  return {
    async [Symbol.asyncDispose]() {
      state.going = false;
      await blowing;
    },
  };
}

Deno.test("leaders go in the midst of work, and nobody notices", async (t) => {
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas: 2 });
  await cluster.apply([
    ...backend,
    ...gatewayIn(place, { proxies: 2, drain: 5 }),
    ...gatewayIn(spare),
    // What it lacks it lacks for long: nobody may wait for it.
    ...gatewayIn(idle, { proxies: 0 }),
    routeTo(place, "web", "web.example.com"),
    routeTo(place, calm, "before.example.com"),
    routeTo(spare, "spare"),
    ...restless.map((name) => routeTo(place, name, `${name}.example.com`)),
  ]);
  const address = await programmed(cluster, place);
  await programmed(cluster, spare);
  await cluster.until({ what: "the one without proxies to be told of", seconds }, async () => {
    const { status } = await cluster.get(gatewayPath(idle));
    return status?.conditions?.some(({ type, status }: Json) => type === "Programmed" && status === "False");
  });
  assertEquals((await proxiesIn(cluster, place)).length, 2);
  await cluster.until({ what: "an answer", seconds }, async () => await statusOf(cluster, address) === 200);
  await using traffic = sendTraffic(cluster, address, "web.example.com", 20);
  await traffic.more();
  await using storm = statusStorm(cluster);

  await t.step("SIGTERM: another one writes within 3 seconds", async () => {
    const old = await holder(cluster), { end } = await cluster.audit();
    await cluster.kubectl(`--namespace=${system}`, "delete", "pod", podOf(old), "--wait=false");
    const next = await successor(cluster, old);
    const { events } = await cluster.audit(end);
    const told = received(
      events.find(({ verb, objectRef }) => verb === "delete" && objectRef?.name === podOf(old))!,
    );
    const lease = await elected(cluster, next),
      write = received(await firstWrite(cluster, end, podOf(next), told));
    assert(lease - told < 3_000, `elected after ${lease - told} ms`);
    assert(write - told < 3_000, `wrote after ${write - told} ms`);
    await available(cluster);
  });

  await t.step("SIGSTOP past the Lease: once another has written, it writes no more", async () => {
    const old = await holder(cluster), { end } = await cluster.audit(), stopped = Date.now();
    await cluster.signal(operatorIn(podOf(old)), "STOP");
    const next = await successor(cluster, old), lease = await elected(cluster, next);
    const first = await firstWrite(cluster, end, podOf(next), lease);
    await cluster.signal(operatorIn(podOf(old)), "CONT");
    assert(lease - stopped < 25_000, `elected after ${lease - stopped} ms`);
    // It is awake again when it has heard that it does not lead any more.
    await cluster.until(
      { what: "the old leader to notice", seconds },
      async () => (await cluster.logs(operatorIn(podOf(old)))).includes("No longer leading"),
    );
    await traffic.more();
    const late = writesIn((await cluster.audit(end)).events).filter((event) =>
      senderOf(event) !== podOf(next) && received(event) > received(first)
    );
    assertEquals(late.map(({ verb, requestURI }) => `${verb} ${requestURI}`), []);
  });

  await t.step(
    "kill -9 in the midst of statuses, an apply and a teardown: Envoys get changes, and another one leads within 25 s",
    async () => {
      const old = await holder(cluster), { end } = await cluster.audit();
      await cluster.kube.performRequest({
        method: "PATCH",
        path: gatewayPath(place),
        contentType: "application/merge-patch+json",
        bodyJson: { spec: { infrastructure: { labels: { team: "edge" } } } },
        expectJson: true,
      });
      await cluster.kube.performRequest({ method: "DELETE", path: gatewayPath(spare), expectJson: true });
      await cluster.signal(operatorIn(podOf(old)), "KILL");
      const killed = Date.now();
      await rename(cluster, calm, "after.example.com");
      await cluster.until(
        { what: "all Envoys to have what has changed since", seconds: 15 },
        () => allAnswer(cluster, "after.example.com"),
      );
      assertEquals(await holder(cluster), old, "meanwhile nobody leads");
      const next = await successor(cluster, old), lease = await elected(cluster, next);
      const write = received(await firstWrite(cluster, end, podOf(next), lease));
      assert(lease - killed < 25_000, `elected after ${lease - killed} ms`);
      assert(write - killed < 25_000, `wrote after ${write - killed} ms`);
      await cluster.until(
        { what: "the other Gateway and its objects to go", seconds },
        async () =>
          await cluster.get(gatewayPath(spare)) === undefined &&
          Object.keys(await childrenIn(cluster, spare)).length === 0,
      );
      await cluster.until(
        { what: "all objects to have the label", seconds },
        async () =>
          Object.values(await childrenIn(cluster, place)).every(({ metadata }) =>
            metadata.labels.team === "edge"
          ),
      );
      await available(cluster);
    },
  );

  await t.step("no request was lost", async () => {
    await storm[Symbol.asyncDispose]();
    await traffic.more();
    const { answers, failures } = await traffic.stop();
    assertEquals(failures, []);
    assert(answers.http1 > 500 && answers.http2 > 500, "there was traffic");
  });

  await t.step("no replica but those that were killed has started again", async () => {
    const restarts = (await replicasOf(cluster)).map(({ status }: Json) =>
      status.containerStatuses[0].restartCount
    );
    assert(restarts.reduce((sum, count) => sum + count, 0) <= 1, `${restarts}`);
  });

  await t.step("it is as after a fresh start, and nothing is left to write", async () => {
    await judge(cluster, [place, idle], ["web", "spare", calm, ...restless].map(routePath));
  });
});
