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

/** What there is of a Gateway, without times and versions. */
export interface Final {
  readonly statuses: { readonly [object: string]: Json };
  readonly children: { readonly [object: string]: Json };
  /** What each proxy serves, by type and name; all of them have the same. */
  readonly served: readonly { readonly [resource: string]: Json }[];
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
export async function rest(cluster: Cluster): Promise<void> {
  let { end } = await cluster.audit(), since = performance.now();
  await cluster.until({ what: "the operator to have nothing to write", seconds }, async () => {
    const { events, end: next } = await cluster.audit(end);
    end = next;
    if (writesIn(events).length > 0) since = performance.now();
    return performance.now() - since > quiet;
  });
}

/** Looks at a Gateway and at routes, given by their paths. */
export async function look(cluster: Cluster, namespace: string, paths: readonly string[]): Promise<Final> {
  const objects = await Promise.all([gatewayPath(namespace), ...paths].map((path) => cluster.get(path)));
  const statuses = objects.map(({ kind, metadata: { name }, status }) =>
    [`${kind}/${name}`, without(status, ["lastTransitionTime"])] as const
  );
  const children = Object.entries(await childrenIn(cluster, namespace)).map(([name, object]) => {
    const { status: _, metadata: { labels, annotations, ownerReferences }, ...fields } = object;
    return [name, { ...fields, labels, annotations, ownerReferences }] as const;
  });
  const pods = (await proxiesIn(cluster, namespace)).filter((pod) => !pod.metadata.deletionTimestamp);
  return {
    statuses: Object.fromEntries(statuses),
    children: Object.fromEntries(children),
    served: await Promise.all(pods.map((pod) => servedBy(cluster, pod))),
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
 * Compares what there is with what comes of the same objects when all replicas start anew, without statuses to go by, and each
 * proxy is asked anew. After that nothing may be left to write.
 */
export async function judge(cluster: Cluster, namespace: string, paths: readonly string[]): Promise<void> {
  await rest(cluster);
  const before = await look(cluster, namespace, paths);
  assert(Object.keys(before.served[0] ?? {}).length > 2, "proxies serve something");
  for (const served of before.served) assertEquals(served, before.served[0], "all proxies serve the same");
  const { length } = await replicasOf(cluster);
  const scale = (replicas: number) =>
    cluster.kubectl("scale", `--namespace=${system}`, "deployment/gatehouse", `--replicas=${replicas}`);
  await scale(0);
  await cluster.until(
    { what: "the operator to go", seconds },
    async () => (await cluster.get(`/api/v1/namespaces/${system}/pods`)).items.length === 0,
  );
  for (const path of [gatewayPath(namespace), ...paths]) {
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
  for (const pod of await proxiesIn(cluster, namespace)) await cluster.signal(envoyOf(pod), "KILL");
  await scale(length);
  await available(cluster);
  let after: Final | undefined;
  await cluster.until({ what: "the same to come of it", seconds: 60 }, async () => {
    after = await look(cluster, namespace, paths);
    return equal(after, before);
  }).catch((error) => {
    assertEquals(after, before, String(error));
    throw error;
  });
  await rest(cluster);
  assertEquals(await look(cluster, namespace, paths), before);
}
