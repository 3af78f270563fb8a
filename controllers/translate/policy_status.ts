/**
 * What the status of a BackendTLSPolicy has to say, Gateway by Gateway (GEP-713, GEP-1897).
 *
 * @module
 */
import type { ParentReference } from "../../crds/mod.ts";
import type { GatewayKey, Verdict } from "../ir/mod.ts";
import type { Group, Key } from "../runtime/graph.ts";
import { type Policy, type PolicyTarget, rivalsFor } from "./backend_tls.ts";
import type { GatewayCluster } from "./clusters.ts";
import { condition, type DesiredCondition, enumerate, type Fault, join } from "./conditions.ts";
import { gatewayGroup } from "./listeners.ts";
import { pendingOf } from "./progress.ts";

/** A Gateway that uses a policy, and how the policy fares there. */
export interface DesiredAncestor {
  readonly ancestorRef: ParentReference;
  readonly conditions: readonly DesiredCondition[];
}

export interface PolicyFacts {
  /** The policies for a Service. */
  readonly policies: (service: Key) => Group<Policy> | undefined;
  /** The names of a Service's TCP ports, by number; `undefined` if there is no such Service. */
  readonly ports: (service: Key) => ReadonlyMap<number, string> | undefined;
  /** The clusters that Gateways are meant to have of a Service. */
  readonly clusters: (service: Key) => Group<GatewayCluster> | undefined;
  readonly verdict: (gateway: GatewayKey, service: Key) => Verdict | undefined;
  /** How many proxies a Gateway is expected to have; `undefined` if there is none yet. */
  readonly proxies: (gateway: GatewayKey) => number | undefined;
}

/** The Gateways whose routes lead to what a policy is for, sorted, with the conditions there. */
export function ancestorsOf(policy: Policy, facts: PolicyFacts): readonly DesiredAncestor[] {
  const used = new Map<GatewayKey, PolicyTarget[]>();
  for (const target of policy.targets) {
    const ports = facts.ports(target.service);
    for (const { gateway, cluster } of facts.clusters(target.service)?.values() ?? []) {
      // A section that does not exist is told to all who use the Service: nobody else would hear of it.
      const exists = target.section !== undefined && [...ports?.values() ?? []].includes(target.section);
      if (exists && ports?.get(cluster.port) !== target.section) continue;
      const targets = used.get(gateway) ?? [];
      if (!targets.includes(target)) used.set(gateway, [...targets, target]);
    }
  }
  return [...used].sort(([a], [b]) => a < b ? -1 : 1).map(([gateway, targets]) => ({
    ancestorRef: ancestorRef(gateway),
    conditions: conditionsOf(policy, gateway, targets, facts),
  }));
}

function ancestorRef(gateway: GatewayKey): ParentReference {
  const slash = gateway.indexOf("/");
  return {
    group: gatewayGroup,
    kind: "Gateway",
    namespace: gateway.slice(0, slash),
    name: gateway.slice(slash + 1),
  };
}

function conditionsOf(
  policy: Policy,
  gateway: GatewayKey,
  targets: readonly PolicyTarget[],
  facts: PolicyFacts,
): readonly DesiredCondition[] {
  const refused = missing(targets, facts) ?? conflict(policy, targets, facts) ?? policy.refused;
  return [
    condition("Accepted", refused, { reason: "Accepted", message: "TLS is spoken as the policy demands" }),
    condition("ResolvedRefs", policy.unresolved, {
      reason: "ResolvedRefs",
      message: "Every reference is resolved",
    }),
    condition("Programmed", refused ? notAccepted : progressOf(gateway, targets, facts), {
      reason: "Programmed",
      message: "Every proxy has the current configuration",
    }),
  ];
}

const notAccepted: Fault = { reason: "Invalid", message: "Not programmed, since it is not accepted" };

function missing(targets: readonly PolicyTarget[], { ports }: PolicyFacts): Fault | undefined {
  for (const { service, section } of targets) {
    const known = [...ports(service)?.values() ?? []];
    if (section === undefined || known.includes(section)) continue;
    const names = enumerate(known.map((name) => `"${name}"`));
    const message = `Cannot find port "${section}" of Service "${service}": ` +
      (names ? `its TCP ports are ${names}` : "it has none");
    return { reason: "TargetNotFound", message };
  }
  return undefined;
}

function conflict(
  policy: Policy,
  targets: readonly PolicyTarget[],
  { policies }: PolicyFacts,
): Fault | undefined {
  const lost = targets.flatMap((target) => {
    const [winner] = rivalsFor(target, policies(target.service));
    if (winner === undefined || winner.key === policy.key) return [];
    const what = target.section === undefined ? "" : ` port "${target.section}" of`;
    return [
      `Policy "${winner.key}" decides about${what} Service "${target.service}": ` +
      "the older one goes first, then the first by name",
    ];
  });
  return lost.length > 0 ? { reason: "Conflicted", message: join(lost) } : undefined;
}

function progressOf(
  gateway: GatewayKey,
  targets: readonly PolicyTarget[],
  { verdict, proxies }: PolicyFacts,
): Fault | undefined {
  for (const { service } of targets) {
    const found = verdict(gateway, service);
    // A cluster has no generation of its own to fall behind.
    const pending = pendingOf(found?.generation ?? 0, found, proxies(gateway));
    if (pending) return pending;
  }
  return undefined;
}
