/**
 * Judges what a cluster has come to: it is as after a fresh start on the same objects, and nobody writes any more.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { equal } from "../../../controllers/runtime/equal.ts";
import type { AuditEvent, Cluster, Json } from "./cluster.ts";
import { available, operatorUser, replicasOf, system } from "./installation.ts";
import { askAdmin, childrenIn, envoyOf, gatewayPath, proxiesIn } from "./web.ts";

/** How long nobody may write, in milliseconds, and how long it may take until that is so, in seconds. */
const quiet = 4_000, seconds = 120;
/** How long after a start nobody may write, in milliseconds: more than the first statuses wait for proxies. */
const still = 10_000;

/** What there is of Gateways, without times and versions. */
interface Final {
  readonly statuses: { readonly [object: string]: Json };
  readonly children: { readonly [object: string]: Json };
  /** What each proxy of each namespace serves, by type and name; those of one have the same. */
  readonly served: { readonly [namespace: string]: readonly { readonly [resource: string]: Json }[] };
}

/** The writes of the operator that were accepted, but for its Lease and the reviews of tokens. */
export function writesIn(events: readonly AuditEvent[]): readonly AuditEvent[] {
  const verbs = ["create", "update", "patch", "delete"], apart = ["leases", "tokenreviews"];
  return events.filter(({ user, verb, objectRef, responseStatus }) =>
    user.username === operatorUser && verbs.includes(verb) && !apart.includes(objectRef?.resource ?? "") &&
    (responseStatus?.code ?? 500) < 300
  );
}

/** The replica that has sent a request. */
export function senderOf({ userAgent = "" }: AuditEvent): string {
  return userAgent.match(/\(operator (\S+)\)/)?.[1] ?? "";
}

/** Waits until the operator has not written for a while. */
export async function rest(cluster: Cluster, milliseconds = quiet): Promise<void> {
  let { end } = await cluster.audit(), since = performance.now();
  await cluster.until({ what: "the operator to have nothing to write", seconds }, async () => {
    const { events, end: next } = await cluster.audit(end);
    end = next;
    if (writesIn(events).length > 0) since = performance.now();
    return performance.now() - since > milliseconds;
  });
}

/** Looks at the Gateways of namespaces and at routes, given by their paths. */
async function look(
  cluster: Cluster,
  namespaces: readonly string[],
  paths: readonly string[],
): Promise<Final> {
  const objects = await Promise.all(
    [...namespaces.map(gatewayPath), ...paths].map((path) => cluster.get(path)),
  );
  const statuses = objects.map(({ kind, metadata: { namespace, name }, status }) =>
    [`${kind}/${namespace}/${name}`, without(status, ["lastTransitionTime"])] as const
  );
  const made = (await Promise.all(
    namespaces.map(async (namespace) => Object.entries(await childrenIn(cluster, namespace))),
  )).flat();
  const children = made.map(([name, object]) => {
    const { status: _, metadata: { namespace, labels, annotations, ownerReferences }, ...fields } = object;
    return [`${namespace}/${name}`, { ...fields, labels, annotations, ownerReferences }] as const;
  });
  const served = namespaces.map(async (namespace) => {
    const pods = (await proxiesIn(cluster, namespace)).filter((pod) => !pod.metadata.deletionTimestamp);
    return [namespace, await Promise.all(pods.map((pod) => servedBy(cluster, pod)))] as const;
  });
  return {
    statuses: Object.fromEntries(statuses),
    children: Object.fromEntries(children),
    served: Object.fromEntries(await Promise.all(served)),
  };
}

/** The resources that an Envoy has by xDS. */
export async function servedBy(cluster: Cluster, pod: Json): Promise<{ readonly [resource: string]: Json }> {
  const dump = await askAdmin(cluster, pod, "/config_dump?include_eds");
  const resources: { [name: string]: Json } = {};
  for (const { "@type": type, ...lists } of JSON.parse(dump ?? "{}").configs ?? []) {
    for (const [list, entries] of Object.entries(lists)) {
      if (!list.startsWith("dynamic_")) continue;
      for (const entry of entries as Json[]) {
        // What is being drained is served to those who have it, and tells of the past.
        const {
          last_updated: _,
          client_status: _status,
          version_info: _version,
          draining_state: _draining,
          ...now
        } = entry;
        if (Object.keys(now).every((field) => field === "name")) continue;
        const inner = now.active_state?.listener ?? now.cluster ?? now.route_config ?? now.endpoint_config ??
          now;
        const name = inner.name ?? inner.cluster_name ?? "";
        resources[`${type.slice(type.lastIndexOf(".") + 1)} ${name}`] = without(inner, ["last_updated"]);
      }
    }
  }
  return Object.fromEntries(Object.entries(resources).sort(([a], [b]) => a < b ? -1 : 1));
}

/** A value without fields of these names. */
function without(value: Json, names: readonly string[]): Json {
  if (Array.isArray(value)) return value.map((item) => without(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !names.includes(name))
      .map(([name, inner]) => [name, without(inner, names)]),
  );
}

/**
 * Compares what there is of the Gateways of namespaces and of routes with what comes of the same objects when all replicas start
 * anew, without statuses to go by, and each proxy is asked anew. After that nothing may be left to write, and nothing at all is
 * written by replicas that start once more.
 */
export async function judge(
  cluster: Cluster,
  namespaces: readonly string[],
  paths: readonly string[],
): Promise<void> {
  await rest(cluster);
  const before = await look(cluster, namespaces, paths), all = Object.values(before.served);
  assert(all.some(([first = {}]) => Object.keys(first).length > 2), "proxies serve something");
  for (const [first, ...others] of all) {
    for (const served of others) assertEquals(served, first, "all proxies of a Gateway serve the same");
  }
  const { length } = await replicasOf(cluster);
  await stopAll(cluster);
  for (const path of [...namespaces.map(gatewayPath), ...paths]) {
    const { status } = await cluster.get(path);
    // The least that the CRD takes.
    const empty = status.parents ? { parents: [] } : { conditions: [], listeners: [], addresses: [] };
    await cluster.kube.performRequest({
      method: "PATCH",
      path: `${path}/status`,
      contentType: "application/json-patch+json",
      bodyJson: [{ op: "replace", path: "/status", value: empty }],
      expectJson: true,
    });
  }
  for (const namespace of namespaces) {
    for (const pod of await proxiesIn(cluster, namespace)) await cluster.signal(envoyOf(pod), "KILL");
  }
  await startAll(cluster, length);
  let after: Final | undefined;
  await cluster.until({ what: "the same to come of it", seconds: 60 }, async () => {
    after = await look(cluster, namespaces, paths);
    return equal(after, before);
  }).catch((error) => {
    assertEquals(after, before, String(error));
    throw error;
  });
  await rest(cluster);
  assertEquals(await look(cluster, namespaces, paths), before);

  await stopAll(cluster);
  const { end } = await cluster.audit();
  await startAll(cluster, length);
  await rest(cluster, still);
  const { events } = await cluster.audit(end);
  assertEquals(writesIn(events).map(({ verb, requestURI }) => `${verb} ${requestURI}`), []);
}

async function stopAll(cluster: Cluster): Promise<void> {
  await scale(cluster, 0);
  await cluster.until(
    { what: "the operator to go", seconds },
    async () => (await cluster.get(`/api/v1/namespaces/${system}/pods`)).items.length === 0,
  );
}

/** Resolves once one of the replicas leads. */
async function startAll(cluster: Cluster, replicas: number): Promise<void> {
  await scale(cluster, replicas);
  await available(cluster);
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${system}/leases/gatehouse`;
  await cluster.until(
    { what: "one of them to lead", seconds },
    async () => (await cluster.get(lease)).spec.holderIdentity,
  );
}

async function scale(cluster: Cluster, replicas: number): Promise<void> {
  await cluster.kubectl("scale", `--namespace=${system}`, "deployment/gatehouse", `--replicas=${replicas}`);
}
