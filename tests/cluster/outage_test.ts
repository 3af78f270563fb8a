/**
 * The API server is away for a minute, then killed; Envoys are restarted, stopped and moved to another replica: traffic goes on,
 * new Envoys get what was known last, nothing crashes, and in the end all is as after a fresh start.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { available, installGatehouse, replicasOf, system } from "./support/installation.ts";
import { judge } from "./support/judge.ts";
import { sendTraffic } from "./support/traffic.ts";
import {
  backend,
  envoyOf,
  gatewayIn,
  programmed,
  proxiesIn,
  rename,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

/** The Gateway that has traffic all the time, and the one whose proxies suffer. */
const place = "shop", spare = "spare", seconds = 90;
const outage = 60_000;

/** What a replica answers on its port for probes and metrics; undefined if it does not. */
async function ask(cluster: Cluster, replica: Json, path: string): Promise<string | undefined> {
  const url = `http://${replica.status.podIP}:8081${path}`;
  const { code, out } = await cluster.exec(["curl", "--silent", "--fail", "--max-time", "5", url]);
  return code === 0 ? out : undefined;
}

/** The sum of a metric over its labels. */
async function metric(cluster: Cluster, replica: Json, name: string): Promise<number> {
  const text = await ask(cluster, replica, "/metrics") ?? "";
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** As `kubectl` on the node, which reaches the API server although it is cut off from pods and this machine. */
async function onNode(cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cluster.exec([cluster.programs.kubectl, ...args]);
  assertEquals(code, 0, err);
  return out;
}

/** Waits until the other Gateway answers for a host. */
async function answers(cluster: Cluster, address: string, host: string, expected = 200): Promise<void> {
  await cluster.until(
    { what: `an answer ${expected} for ${host}`, seconds },
    async () => await statusOf(cluster, address, host) === expected,
  );
}

Deno.test("an API server that is away, and Envoys that come and go", async (t) => {
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas: 2 });
  await cluster.apply([
    ...backend,
    ...gatewayIn(place, { proxies: 2, drain: 5 }),
    ...gatewayIn(spare),
    routeTo(place, "web", "web.example.com"),
    routeTo(spare, "spare", "one.example.com"),
  ]);
  const address = await programmed(cluster, place), other = await programmed(cluster, spare);
  await answers(cluster, address, "web.example.com");
  await answers(cluster, other, "one.example.com");
  const replicas = await replicasOf(cluster);
  const envoy = async () => {
    const pods = await proxiesIn(cluster, spare);
    return pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  const bearing = async (what: string) => {
    for (const replica of replicas) {
      assert(
        await ask(cluster, replica, "/readyz") !== undefined,
        `${replica.metadata.name} is ready, ${what}`,
      );
    }
  };
  await using traffic = sendTraffic(cluster, address, "web.example.com", 20);
  await traffic.more();

  await t.step("a minute without the API server", async () => {
    const container = envoyOf(await envoy()), began = performance.now();
    await cluster.apiServer.cut();
    await traffic.more();
    await bearing("at the beginning");
    // The container comes back with what was known last, and so does a whole pod that neither replica has heard of.
    await cluster.signal(container, "KILL");
    await cluster.until(
      { what: "its end", seconds },
      async () => await statusOf(cluster, other, "one.example.com") === 0,
    );
    await answers(cluster, other, "one.example.com");
    await onNode(cluster, "delete", "pod", `--namespace=${spare}`, container.pod, "--grace-period=1");
    await onNode(cluster, "wait", `--namespace=${spare}`, "--for=delete", `pod/${container.pod}`);
    await answers(cluster, other, "one.example.com");
    await traffic.more();
    await new Promise((resolve) => setTimeout(resolve, outage - (performance.now() - began)));
    await bearing("after a minute");
    await cluster.apiServer.restore();
  });

  await t.step("once it is back, changes are soon served again", async () => {
    const back = performance.now();
    // The connections of this machine have been cut as well, and may take as long again to find out.
    const route = ["httproute/spare", "--namespace=default"];
    const spec = { hostnames: ["two.example.com"] };
    await onNode(cluster, "patch", ...route, "--type=merge", `--patch=${JSON.stringify({ spec })}`);
    await answers(cluster, other, "two.example.com");
    const took = performance.now() - back;
    // A try to reach it takes 10 seconds at most; TCP alone would find out after as long again as it was away.
    assert(took < 25_000, `served after ${took} ms`);
    await cluster.until({ what: "a status that says so", seconds }, async () => {
      const { status, metadata } = JSON.parse(await onNode(cluster, "get", ...route, "--output=json"));
      const [parent] = status.parents;
      return isTrue({ status: parent }, "Accepted") &&
        parent.conditions.every((c: Json) => c.observedGeneration === metadata.generation);
    });
  });

  await t.step("a kill -9 of the API server, and of an Envoy meanwhile", async () => {
    const container = envoyOf(await envoy());
    await cluster.apiServer.kill();
    await cluster.signal(container, "KILL");
    await cluster.until(
      { what: "its end", seconds },
      async () => await statusOf(cluster, other, "two.example.com") === 0,
    );
    await traffic.more();
    await bearing("without an API server");
    await cluster.apiServer.start();
    await answers(cluster, other, "two.example.com");
    await rename(cluster, "spare", "three.example.com");
    await answers(cluster, other, "three.example.com");
  });

  await t.step("an Envoy that is stopped and goes on has what has changed meanwhile", async () => {
    const container = envoyOf(await envoy());
    await cluster.signal(container, "STOP");
    await rename(cluster, "spare", "four.example.com");
    await cluster.until({ what: "the change to be seen", seconds }, async () => {
      const { status, metadata } = await cluster.get(routePath("spare"));
      return status.parents[0].conditions.every((c: Json) => c.observedGeneration === metadata.generation);
    });
    await cluster.signal(container, "CONT");
    await answers(cluster, other, "four.example.com");
    await answers(cluster, other, "three.example.com", 404);
  });

  await t.step("nothing has crashed", async () => {
    for (const { metadata: { name, uid }, status } of await replicasOf(cluster)) {
      assert(replicas.some(({ metadata }) => metadata.uid === uid), `${name} was there at the beginning`);
      assertEquals(status.containerStatuses[0].restartCount, 0, name);
    }
  });

  await t.step("Envoys that move to another replica are sent nothing", async () => {
    const streams = await Promise.all(
      replicas.map((replica) => metric(cluster, replica, "gatehouse_xds_streams")),
    );
    const total = streams.reduce((sum, count) => sum + count, 0);
    assertEquals(total, 3);
    const left = replicas[streams[0]! > 0 ? 0 : 1]!, stays = replicas[streams[0]! > 0 ? 1 : 0]!;
    const pushes = async () =>
      await Promise.all((await replicasOf(cluster)).map(async (replica) => ({
        replica: replica.metadata.name as string,
        pushes: await metric(cluster, replica, "gatehouse_xds_pushes_total"),
        streams: await metric(cluster, replica, "gatehouse_xds_streams"),
      })));
    const before = await metric(cluster, stays, "gatehouse_xds_pushes_total");
    await cluster.kubectl(`--namespace=${system}`, "delete", "pod", left.metadata.name, "--wait=false");
    await available(cluster);
    const after = await cluster.until({ what: "all Envoys to have moved", seconds }, async () => {
      const now = await pushes();
      return now.reduce((sum, { streams }) => sum + streams, 0) === total && now;
    });
    assertEquals(after.reduce((sum, { pushes }) => sum + pushes, 0) - before, 0);
  });

  await t.step("no request was lost", async () => {
    await traffic.more();
    const { answers, failures } = await traffic.stop();
    assertEquals(failures, []);
    assert(answers.http1 > 500 && answers.http2 > 500, "there was traffic");
  });

  await t.step("it is as after a fresh start, and nothing is left to write", async () => {
    await judge(cluster, [place, spare], ["web", "spare"].map(routePath));
  });
});
