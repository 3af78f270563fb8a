/**
 * A replica that is killed right after every single write of a Gateway's life, on a real control plane: whatever it has done, the
 * next one comes to the same end as one that lives through all of it, and then has nothing to write.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { equal } from "../../controllers/runtime/equal.ts";
import { withoutIdentity } from "../support/without_identity.ts";
import { type AuditEvent, type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { system } from "./support/installation.ts";
import { rest, senderOf, servedBy, writesIn } from "./support/judge.ts";
import { mortal, MortalReplicas, remove, steady } from "./support/mortal_replicas.ts";
import { type ClusterTraffic, sendTraffic } from "./support/traffic.ts";
import {
  backend,
  childrenIn,
  gatewayIn,
  gatewayPath,
  proxiesIn,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

const gatewayApi = "gateway.networking.k8s.io/v1", place = "shop", seconds = 90;
const controllerName = "gatehouse.dev/gateway-controller";
const classPath = (name: string) => `/apis/${gatewayApi}/gatewayclasses/${name}`;
const setPath = `/apis/${gatewayApi}/namespaces/${place}/listenersets/more`;
const fleetPath = `/apis/gatehouse.dev/v1alpha1/namespaces/${place}/envoyfleets/web`;
const authorityPath = `/api/v1/namespaces/${system}/secrets/gatehouse-xds-authority`;
const child = (kind: string) => `${kind}/web-gatehouse`;

const open = { namespaces: { from: "All" } };
const gatewayClass = (name: string) => ({
  apiVersion: gatewayApi,
  kind: "GatewayClass",
  metadata: { name },
  spec: { controllerName },
});
/** A Gateway for which every kind of object is made, with a ListenerSet and a route on both. */
const objects: readonly Json[] = (() => {
  const [namespace, fleet, gateway] = gatewayIn(place, { drain: 5 }), route = routeTo(place, "web");
  fleet.spec.workload = { autoscaling: { maxReplicas: 2 } };
  gateway.spec.allowedListeners = { namespaces: { from: "Same" } };
  route.spec.parentRefs.push({ kind: "ListenerSet", namespace: place, name: "more" });
  const listenerSet = {
    apiVersion: gatewayApi,
    kind: "ListenerSet",
    metadata: { namespace: place, name: "more" },
    spec: {
      parentRef: { name: "web" },
      listeners: [{ name: "more", protocol: "HTTP", port: 8080, allowedRoutes: open }],
    },
  };
  return [namespace, fleet, gateway, listenerSet, route];
})();

async function patch(cluster: Cluster, path: string, bodyJson: Json): Promise<void> {
  const contentType = "application/merge-patch+json";
  await cluster.kube.performRequest({ method: "PATCH", path, contentType, bodyJson, expectJson: true });
}

/** Whether the Gateway's proxies have all of it, and answer at its own listener and at further ports. */
async function serves(cluster: Cluster, ports: readonly number[]): Promise<boolean> {
  const gateway = await cluster.get(gatewayPath(place));
  const { observedGeneration } = gateway.status.conditions.find(({ type }: Json) => type === "Programmed");
  if (!isTrue(gateway, "Programmed") || observedGeneration !== gateway.metadata.generation) return false;
  if (!isTrue(await cluster.get(setPath), "Programmed")) return false;
  const [{ value: address }] = gateway.status.addresses;
  const statuses = await Promise.all(ports.map((port) => statusOf(cluster, `${address}:${port}`)));
  return statuses.every((status) => status === 200);
}

const changing = "it changes";

/** The parts of a Gateway's life, each with what others do at its beginning, and what has come of it at its end. */
const parts: readonly {
  readonly name: string;
  begin(cluster: Cluster): Promise<void>;
  ended(cluster: Cluster): Promise<boolean>;
}[] = [
  {
    name: "its class comes",
    begin: (cluster) => cluster.apply([gatewayClass("gatehouse")]),
    ended: async (cluster) => isTrue(await cluster.get(classPath("gatehouse")), "Accepted"),
  },
  {
    name: "it is made",
    begin: (cluster) => cluster.apply(objects),
    ended: async (cluster) =>
      Object.keys(await childrenIn(cluster, place)).length === 6 && await serves(cluster, [80, 8080]),
  },
  {
    name: changing,
    async begin(cluster) {
      const { listeners: [listener] } = (await cluster.get(gatewayPath(place))).spec;
      await patch(cluster, gatewayPath(place), {
        spec: {
          infrastructure: { labels: { team: "edge" } },
          listeners: [listener, { ...listener, name: "other", port: 8081 }],
        },
      });
      await patch(cluster, fleetPath, { spec: { workload: { autoscaling: { maxReplicas: 3 } } } });
      // One of its objects is lost meanwhile: one without which its proxies can still be told to drain.
      await remove(cluster, `/apis/policy/v1/namespaces/${place}/poddisruptionbudgets/web-gatehouse`);
    },
    async ended(cluster) {
      const children = await childrenIn(cluster, place);
      const { metadata: { generation }, status } = children[child("Deployment")];
      return Object.keys(children).length === 6 &&
        Object.values(children).every(({ metadata }) => metadata.labels.team === "edge") &&
        children[child("HorizontalPodAutoscaler")].spec.maxReplicas === 3 &&
        status.observedGeneration === generation && status.updatedReplicas === 1 &&
        (await proxiesIn(cluster, place)).length === 1 && await serves(cluster, [80, 8080, 8081]);
    },
  },
  {
    name: "it goes",
    async begin(cluster) {
      await remove(cluster, gatewayPath(place));
      await remove(cluster, classPath("gatehouse"));
    },
    ended: async (cluster) =>
      await cluster.get(gatewayPath(place)) === undefined &&
      await cluster.get(classPath("gatehouse")) === undefined &&
      Object.keys(await childrenIn(cluster, place)).length === 0 &&
      (await proxiesIn(cluster, place)).length === 0 &&
      (await cluster.get(routePath("web"))).status.parents.length === 0 &&
      // Once the Gateway is gone, nobody could tell it any more.
      !isTrue(await cluster.get(setPath), "Accepted"),
  },
];

/** Clients of the Gateway, once some have had answers. */
async function trafficOf(cluster: Cluster): Promise<ClusterTraffic> {
  const [{ value: address }] = (await cluster.get(gatewayPath(place))).status.addresses;
  const traffic = sendTraffic(cluster, address, "web.example.com", 20);
  await traffic.more();
  return traffic;
}

/** What there is, without what is another for each: names, times and versions given by the server. */
async function look(cluster: Cluster): Promise<unknown> {
  const paths = [classPath("gatehouse"), gatewayPath(place), fleetPath, setPath, routePath("web")];
  const pods = (await proxiesIn(cluster, place)).filter(({ metadata }) => !metadata.deletionTimestamp);
  return withoutIdentity({
    objects: await Promise.all(paths.map((path) => cluster.get(path))),
    children: Object.fromEntries(
      Object.entries(await childrenIn(cluster, place)).map((
        [name, { status: _, ...object }],
      ) => [name, object]),
    ),
    served: await Promise.all(pods.map(async (pod) =>
      // The authority is another one in each life.
      Object.entries(await servedBy(cluster, pod)).filter(([name]) => !name.startsWith("SecretsConfigDump"))
    )),
  });
}

/** Ends what is left after a life, so that the next one can be the same. */
async function clear(cluster: Cluster): Promise<void> {
  const namespace = `/api/v1/namespaces/${place}`;
  for (const path of [routePath("web"), namespace, authorityPath]) await remove(cluster, path);
  await cluster.until(
    { what: "the namespace to go", seconds },
    async () => await cluster.get(namespace) === undefined,
  );
}

/** The writes of the operator, but for what it tells people. */
function ofOperator(events: readonly AuditEvent[]): readonly AuditEvent[] {
  return writesIn(events).filter(({ objectRef }) => objectRef?.resource !== "events");
}

function nameOf({ verb, objectRef }: AuditEvent): string {
  const { resource = "", subresource = "", namespace = "", name = "" } = objectRef ?? {};
  return [verb, resource, subresource, namespace, name].join(" ");
}

/** The objects that were made, each as often as it was. */
function madeIn(writes: readonly AuditEvent[]): readonly string[] {
  return writes.filter(({ responseStatus }) => responseStatus?.code === 201).map(nameOf).sort();
}

/** A new replica takes over and is seen to write something else; it has nothing to write of what there is. */
async function assertFixed(cluster: Cluster, replicas: MortalReplicas): Promise<void> {
  const { end } = await cluster.audit(), sign = "sign-of-life";
  await replicas.replace(steady);
  await cluster.until({ what: "a fresh replica to be content", seconds }, () => replicas.content());
  await cluster.apply([gatewayClass(sign)]);
  await cluster.until(
    { what: "a sign of life", seconds },
    async () => isTrue(await cluster.get(classPath(sign)), "Accepted") && await replicas.content(),
  );
  await remove(cluster, classPath(sign));
  const others = writesIn((await cluster.audit(end)).events).filter(({ objectRef }) =>
    !objectRef?.name?.startsWith(sign)
  );
  assertEquals(others.map(({ verb, requestURI }) => `${verb} ${requestURI}`), [], "nothing is left to write");
}

Deno.test("a kill after every single write changes nothing of what comes of a Gateway", async (t) => {
  await using cluster = await startCluster();
  await using replicas = await MortalReplicas.install(cluster);
  await cluster.apply(backend);
  await cluster.ready("default", "echo");

  const states: unknown[] = [], start = (await cluster.audit()).end;
  await t.step("undisturbed", async () => {
    await replicas.replace(steady);
    for (const { name, begin, ended } of parts) {
      await using traffic = name === changing ? await trafficOf(cluster) : undefined;
      await begin(cluster);
      await cluster.until(
        { what: name, seconds },
        async () => await ended(cluster) && await replicas.content(),
      );
      await rest(cluster);
      states.push(await look(cluster));
      if (traffic) assertEquals((await traffic.stop()).failures, [], "clients notice nothing");
    }
    assertEquals(replicas.deaths, []);
  });
  const undisturbed = ofOperator((await cluster.audit(start)).events);
  assert(undisturbed.length > 25, `a life has ${undisturbed.length} writes`);
  await replicas.end();
  await clear(cluster);

  const { end } = await cluster.audit();
  for (const [i, { name, begin, ended }] of parts.entries()) {
    await t.step(`killed while ${name}`, async () => {
      if (i === 0) await replicas.replace(mortal);
      await using traffic = name === changing ? await trafficOf(cluster) : undefined;
      await begin(cluster);
      await cluster.until(
        { what: name, seconds },
        async () => await ended(cluster) && await replicas.content(),
      );
      let state: unknown;
      await cluster.until(
        { what: "the same to come of it", seconds: 20 },
        async () => equal(state = await look(cluster), states[i]),
      ).catch((error) => {
        assertEquals(state, states[i], String(error));
        throw error;
      });
      if (traffic) assertEquals((await traffic.stop()).failures, [], "clients notice nothing");
      if (i < 2) return;
      await assertFixed(cluster, replicas);
      assertEquals(await look(cluster), states[i]);
      if (i === 2) await replicas.replace(mortal);
    });
  }

  const writes = ofOperator((await cluster.audit(end)).events);
  await t.step("each write was the last one of somebody, and nobody wrote anything after that", () => {
    const fatal = writes.filter((event) => senderOf(event).startsWith(mortal));
    assertEquals(fatal.length, replicas.deaths.length);
    assertEquals(new Set(fatal.map(senderOf)).size, fatal.length);
    assertEquals(new Set(undisturbed.map(nameOf)).difference(new Set(fatal.map(nameOf))), new Set());
    // Each death was paid for with progress.
    assert(fatal.length < 2 * undisturbed.length, `${fatal.length} writes instead of ${undisturbed.length}`);
  });
  await t.step("nothing was made twice", () => assertEquals(madeIn(writes), madeIn(undisturbed)));
});
