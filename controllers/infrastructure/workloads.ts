/**
 * What serves a Gateway, and how one workload takes the place of another: with as many pods, and once they are there.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { ownerOf } from "./child_names.ts";
import type { Plan } from "./plan.ts";

type Numbers = { readonly [field: string]: number };

interface Workload extends ApiObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: Numbers;
}

/** The Gateway that a workload is of. */
export function gatewaysOf({ metadata }: ApiObject): readonly string[] {
  const owner = ownerOf(metadata);
  return owner ? [owner.gateway] : [];
}

/**
 * How many pods the Deployment of a Gateway starts with where an autoscaler chooses their number: as many as there are of what
 * it takes the place of, within the autoscaler's limits. `undefined` where nobody chooses.
 *
 * @param all the Gateway's workloads
 */
export function firstPods(plan: Plan, all: Iterable<ApiObject>): number | undefined {
  const { fleet: { workload }, uid, child } = plan;
  if (workload.kind !== "Deployment" || !workload.autoscaling) return undefined;
  const { minReplicas, maxReplicas } = workload.autoscaling;
  const others = [...all].filter(({ kind, metadata }) =>
    ownerOf(metadata)?.uid === uid && !(kind === workload.kind && metadata.name === child)
  );
  return Math.min(maxReplicas, Math.max(minReplicas, ...others.map(podsOf)));
}

function podsOf({ kind, spec, status }: Workload): number {
  return kind === "DaemonSet" ? status?.desiredNumberScheduled ?? 0 : spec?.replicas ?? 1;
}

/** Whether all pods of what serves a Gateway are there, as its controller sees it. */
export function isAvailable(workload: ApiObject | undefined, { fleet }: Plan): boolean {
  const { kind, metadata, status, spec } = (workload ?? {}) as Partial<Workload>;
  if (status === undefined || (status.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return false;
  // One that no node takes serves nobody.
  if (kind === "DaemonSet") {
    return (status.numberAvailable ?? 0) >= Math.max(status.desiredNumberScheduled ?? 0, 1);
  }
  const least = fleet.workload.kind === "Deployment" ? fleet.workload.autoscaling?.minReplicas ?? 0 : 0;
  return (status.availableReplicas ?? 0) >= Math.max(spec?.replicas ?? 1, least);
}
