/**
 * The proxies that Gateways are expected to have: the pods that are ready.
 *
 * @module
 */
import type { Gateway, Pod } from "../../crds/mod.ts";
import type { Proxy } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import { childName, labelValue } from "./child_names.ts";
import { labels } from "./names.ts";
import type { ClusterWorld } from "./world.ts";

/** A pod of some Gateway's proxies. Row key: the proxy's id, `namespace/pod`. */
export interface ProxyPod {
  /** Of the pods of one Gateway; see {@linkcode groupOf}. */
  readonly group: string;
  readonly uid: string;
  readonly ready: boolean;
  /** Its deletion has begun: it is to be drained, and nothing is expected of it any more. */
  readonly terminating: boolean;
  /** Why there is no node for it. */
  readonly unschedulable?: string;
}

/** Names the pods of a Gateway. It is made of labels, which may have a hash in place of a long name. */
export function groupOf(namespace: string, gateway: string, className: string): string {
  return `${namespace}/${childName(gateway, className)}/${labelValue(gateway)}`;
}

export interface Proxies {
  /** Row key: Gateway; none while no pod is ready. */
  readonly proxies: Table<readonly Proxy[]>;
  /** Every pod, with those that are not ready or are about to end. */
  readonly pods: Table<ProxyPod>;
  /** Why Gateways have no proxy, if there is no node for their pods. */
  readonly shortages: Table<string>;
  /** The pods that are about to end. */
  readonly draining: Table<true>;
}

/** Derives which proxies are expected. To be called before `deriveIr`, whose world they are part of. */
export function deriveProxies(
  graph: Graph,
  { objects }: { readonly objects: { readonly Gateway: Table<Gateway> } },
  cluster: Pick<ClusterWorld, "Pod">,
): Proxies {
  const pods = graph.derive("pods of proxies", cluster.Pod, modelPod);
  const byGroup = graph.index("pods by gateway", pods, ({ group }) => [group]);
  // The status of a Gateway changes often, and its class hardly ever.
  const groups = graph.derive(
    "groups of pods",
    objects.Gateway,
    ({ metadata, spec }) => groupOf(metadata.namespace ?? "", metadata.name, spec.gatewayClassName),
  );
  const proxies = graph.derive("proxies", groups, (group, read): readonly Proxy[] | undefined => {
    const expected = [...read(byGroup, group) ?? []].filter(([, { ready, terminating }]) =>
      ready && !terminating
    );
    return expected.length > 0 ? expected.map(([id]) => ({ id })) : undefined;
  });
  const shortages = graph.derive("shortages", groups, (group, read) => {
    const here = [...read(byGroup, group)?.values() ?? []].filter(({ terminating }) => !terminating);
    return here.some(({ ready }) => ready)
      ? undefined
      : here.find(({ unschedulable }) => unschedulable !== undefined)?.unschedulable;
  });
  const draining = graph.derive("draining proxies", pods, ({ terminating }) => terminating || undefined);
  return { proxies, pods, draining, shortages };
}

function modelPod({ metadata, spec, status }: Pod): ProxyPod | undefined {
  const gateway = metadata.labels?.[labels.gatewayName];
  if (gateway === undefined) return undefined;
  const { conditions = [] } = status ?? {};
  const unscheduled = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  return {
    // Whoever may make pods may label them, but only ours run as our ServiceAccount.
    group: `${metadata.namespace}/${spec.serviceAccountName}/${gateway}`,
    uid: metadata.uid ?? "",
    ready: conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    terminating: metadata.deletionTimestamp !== undefined,
    ...unscheduled?.reason === "Unschedulable" && {
      unschedulable: `No node can take pod "${metadata.name}": ${unscheduled.message || "it says not why"}`,
    },
  };
}
