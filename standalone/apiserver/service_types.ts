/**
 * What becomes of a Service's fields when it changes its type.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import { isExternal, isHealthChecked, takesNodePorts } from "../../crds/core/service_faults.ts";
import type { Unstructured } from "./resources.ts";
import type { Cause } from "./status.ts";

interface Spec {
  readonly type: string;
  readonly ports?: readonly { readonly nodePort?: number }[];
  readonly [field: string]: unknown;
}

/** Whom a field is for. */
const users: { readonly [field: string]: (spec: Spec) => boolean } = {
  clusterIP: ({ type }) => type !== "ExternalName",
  clusterIPs: ({ type }) => type !== "ExternalName",
  ipFamilies: ({ type }) => type !== "ExternalName",
  ipFamilyPolicy: ({ type }) => type !== "ExternalName",
  healthCheckNodePort: isHealthChecked,
  allocateLoadBalancerNodePorts: ({ type }) => type === "LoadBalancer",
  loadBalancerClass: ({ type }) => type === "LoadBalancer",
  externalTrafficPolicy: isExternal,
  internalTrafficPolicy: ({ type }) => type !== "ExternalName",
};

/** What a load balancer that stays one may not change. */
export function balancerCauses(object: ApiObject, old: ApiObject): readonly Cause[] {
  const now = (object as Unstructured)["spec"] as Spec, before = (old as Unstructured)["spec"] as Spec;
  const stays = now.type === "LoadBalancer" && before.type === "LoadBalancer";
  if (!stays || now["loadBalancerClass"] === before["loadBalancerClass"]) return [];
  return [{
    reason: "FieldValueInvalid",
    field: "spec.loadBalancerClass",
    message: `Invalid value: ${JSON.stringify(now["loadBalancerClass"])}: may not change once set`,
  }];
}

/** A Service without what only its old type has a use for, as far as it is still the same. */
export function withoutLeftovers(object: ApiObject, old: ApiObject): ApiObject {
  const spec = (object as Unstructured)["spec"] as Spec | undefined;
  const before = (old as Unstructured)["spec"] as Spec;
  if (typeof spec !== "object" || spec === null) return object;
  const now: Spec = { ...spec, type: spec.type ?? "ClusterIP" };
  const leftover = ([field, value]: readonly [string, unknown]) => {
    const uses = users[field];
    return uses !== undefined && uses(before) && !uses(now) && equal(value, before[field]);
  };
  const kept = Object.fromEntries(Object.entries(spec).filter((entry) => !leftover(entry)));
  const ports = Array.isArray(spec.ports) ? spec.ports : [];
  const nodePorts = (of: Spec["ports"] = []) => of.map((port) => port?.nodePort);
  const gone = takesNodePorts(before.type) && !takesNodePorts(now.type) &&
    equal(nodePorts(ports), nodePorts(before.ports));
  if (gone && ports.length > 0) kept["ports"] = ports.map(({ nodePort: _, ...port }) => port);
  if (now["ipFamilyPolicy"] === "SingleStack") { // of two families and addresses, the first stay
    for (const field of ["ipFamilies", "clusterIPs"]) {
      const list = kept[field];
      if (Array.isArray(list) && equal(list, before[field])) kept[field] = list.slice(0, 1);
    }
  }
  return { ...object, spec: kept } as ApiObject;
}
