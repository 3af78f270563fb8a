/**
 * What is observed besides what translation reads, where proxies run in a cluster: the objects of Gateways.
 *
 * @module
 */
import {
  type ApiObject,
  type DaemonSet,
  daemonSet,
  type Deployment,
  deployment,
  type HorizontalPodAutoscaler,
  horizontalPodAutoscaler,
  type Kind,
  type Pod,
  pod,
  type PodDisruptionBudget,
  podDisruptionBudget,
  type ServiceAccount,
  serviceAccount,
} from "../../crds/mod.ts";
import type { Graph, Source } from "../runtime/graph.ts";
import { managedSelector } from "./names.ts";

interface ClusterTypes {
  readonly ServiceAccount: ServiceAccount;
  readonly Deployment: Deployment;
  readonly DaemonSet: DaemonSet;
  readonly HorizontalPodAutoscaler: HorizontalPodAutoscaler;
  readonly PodDisruptionBudget: PodDisruptionBudget;
  readonly Pod: Pod;
}

/** The objects that the operator made, and the pods that came of them. Row key: `namespace/name`. */
export type ClusterWorld = { readonly [K in keyof ClusterTypes]: Source<ClusterTypes[K]> };

/** Which kinds to watch for a {@linkcode ClusterWorld}, in the order of its tables. */
export const clusterKinds: readonly {
  readonly name: keyof ClusterTypes;
  readonly kind: Kind<ApiObject>;
  readonly labelSelector: string;
}[] = [
  serviceAccount,
  deployment,
  daemonSet,
  horizontalPodAutoscaler,
  podDisruptionBudget,
  pod,
].map((kind) => ({
  name: kind.kind as keyof ClusterTypes,
  kind: kind as Kind<ApiObject>,
  labelSelector: managedSelector,
}));

export function createClusterWorld(graph: Graph): ClusterWorld {
  return Object.fromEntries(
    clusterKinds.map(({ name }) => [name, graph.source(name)]),
  ) as unknown as ClusterWorld;
}
