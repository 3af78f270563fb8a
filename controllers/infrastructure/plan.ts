/**
 * What is to be had around the proxies of one Gateway, in the terms of which all of its objects are made.
 *
 * @module
 */
import type { ApiObject, ObjectMeta } from "../../crds/kind.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Infrastructure } from "../translate/mod.ts";
import { namespaceOf } from "../translate/keys.ts";
import { childName, ownerReference, ownLabels, selectorLabels } from "./child_names.ts";
import { annotations, proxyPorts } from "./names.ts";

/** The kinds of objects that a Gateway may have. */
export type ChildKind =
  | "ServiceAccount"
  | "ConfigMap"
  | "Service"
  | "Deployment"
  | "DaemonSet"
  | "HorizontalPodAutoscaler"
  | "PodDisruptionBudget";

/** An object to be made, with none but the fields that are ours. */
export type Child = ApiObject & { readonly [field: string]: unknown };

/** What a Gateway that may have objects is to have. Row key: the Gateway. */
export interface Plan extends Infrastructure {
  readonly gateway: GatewayKey;
  readonly namespace: string;
  readonly gatewayName: string;
  /** The name of each object. */
  readonly child: string;
  readonly selector: Texts;
  /** Ports of its proxies that are not for clients. */
  readonly own: { readonly readiness: number; readonly metrics: number };
  /** Which kinds of objects it has. Those of other kinds are to go. */
  readonly kinds: ReadonlySet<ChildKind>;
}

type Texts = { readonly [name: string]: string };

export function planOf(gateway: GatewayKey, infrastructure: Infrastructure): Plan {
  const { className, ports, fleet: { workload } } = infrastructure;
  const namespace = namespaceOf(gateway), gatewayName = gateway.slice(namespace.length + 1);
  const taken = new Set(ports.filter(({ transport }) => transport === "tcp").map(({ port }) => port));
  const readiness = free(proxyPorts.readiness, taken);
  const metrics = free(Math.max(proxyPorts.metrics, readiness + 1), taken);
  const kinds: readonly ChildKind[] = [
    "ServiceAccount",
    "ConfigMap",
    "Service",
    workload.kind,
    // Evictions leave the pods of DaemonSets alone, and a budget cannot count them.
    ...workload.kind === "Deployment" ? ["PodDisruptionBudget" as const] : [],
    ...workload.kind === "Deployment" && workload.autoscaling ? ["HorizontalPodAutoscaler" as const] : [],
  ];
  return {
    ...infrastructure,
    gateway,
    namespace,
    gatewayName,
    child: childName(gatewayName, className),
    selector: selectorLabels(gatewayName, className),
    own: { readiness, metrics },
    kinds: new Set(kinds),
  };
}

function free(port: number, taken: ReadonlySet<number>): number {
  return taken.has(port) ? free(port + 1, taken) : port;
}

/** Annotations that mean something to whoever writes them; ours would be at odds with them for good. */
const reserved =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration|deployment\.kubernetes\.io\/.*|deprecated\.daemonset\.template\.generation)$/;

/** The labels of an object of the Gateway. What its spec says goes before what its EnvoyFleet says, and ours before both. */
export function labelsOf({ gatewayName, className, labels }: Plan, more: Texts = {}): Texts {
  return { ...more, ...labels, ...ownLabels(gatewayName, className) };
}

export function annotationsOf({ annotations }: Plan, more: Texts = {}): Texts {
  const all = Object.entries({ ...more, ...annotations });
  return Object.fromEntries(all.filter(([name]) => !reserved.test(name)));
}

/** The metadata of an object of the Gateway. */
export function metadataOf(
  plan: Plan,
  controllerName: string,
  more: { readonly labels?: Texts; readonly annotations?: Texts } = {},
): ObjectMeta {
  return {
    name: plan.child,
    namespace: plan.namespace,
    labels: labelsOf(plan, more.labels),
    annotations: { ...annotationsOf(plan, more.annotations), [annotations.controller]: controllerName },
    ownerReferences: [ownerReference(plan.gatewayName, plan.uid)],
  };
}
