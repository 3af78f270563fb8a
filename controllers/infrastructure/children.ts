/**
 * The objects of a Gateway, as they should be: pure functions of its plan.
 *
 * @module
 */
import type { Service } from "../../crds/mod.ts";
import { canonical } from "./addresses.ts";
import { type Child, metadataOf, type Plan } from "./plan.ts";
import { type PodParts, podTemplate } from "./pod_template.ts";

/** What proxies come to the xDS server with: an account of their own, whose token is mounted only where it is meant. */
export function serviceAccount(plan: Plan, controllerName: string): Child {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: metadataOf(plan, controllerName),
    automountServiceAccountToken: false,
  };
}

/** The files that proxies are started with. */
export function configMap(
  plan: Plan,
  controllerName: string,
  data: { readonly [key: string]: string },
): Child {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: metadataOf(plan, controllerName), data };
}

/**
 * The Service that clients get in by; `undefined` while there is no port to have one for.
 *
 * @param observed what there is of it: the address of a Service in its cluster cannot be changed
 */
export function service(
  plan: Plan,
  controllerName: string,
  observed: Service["spec"] | undefined,
): Child | undefined {
  const { ports, requested: [address], fleet: { service } } = plan;
  if (ports.length === 0) return undefined;
  const { type, labels, annotations, ...settings } = service;
  const clusterIP = observed?.clusterIP ?? address;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(plan, controllerName, { labels, annotations }),
    spec: {
      type,
      selector: plan.selector,
      ...settings,
      ...address !== undefined && type === "LoadBalancer" && { loadBalancerIP: address },
      ...address !== undefined && type !== "LoadBalancer" && clusterIP !== undefined &&
        canonical(clusterIP) === canonical(address) && { clusterIP },
      ports: ports.map(({ port, transport, protocol }) => ({
        name: `${transport}-${port}`,
        port,
        protocol: transport.toUpperCase(),
        targetPort: port,
        ...(protocol === "HTTP" || protocol === "HTTPS") && { appProtocol: protocol.toLowerCase() },
      })),
    },
  };
}

/** The Deployment or the DaemonSet: whichever the fleet is to be. A roll never takes a pod away before another one serves. */
export function workload(plan: Plan, controllerName: string, parts: PodParts): Child {
  const { fleet: { workload }, selector } = plan;
  const template = podTemplate(plan, parts);
  const common = {
    metadata: metadataOf(plan, controllerName),
    spec: { selector: { matchLabels: selector }, revisionHistoryLimit: 3, template },
  };
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } };
  if (workload.kind === "DaemonSet") {
    const spec = { ...common.spec, updateStrategy: strategy };
    return { apiVersion: "apps/v1", kind: "DaemonSet", ...common, spec };
  }
  const { replicas } = workload;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    ...common,
    spec: { ...common.spec, ...replicas !== undefined && { replicas }, strategy },
  };
}

/** Chooses the number of proxies, where the fleet says so. */
export function autoscaler(plan: Plan, controllerName: string): Child | undefined {
  const { fleet: { workload }, child } = plan;
  if (workload.kind !== "Deployment" || !workload.autoscaling) return undefined;
  const { minReplicas, maxReplicas, cpuUtilization, memoryUtilization } = workload.autoscaling;
  const metric = (name: string, averageUtilization: number | undefined) =>
    averageUtilization === undefined
      ? []
      : [{ type: "Resource", resource: { name, target: { type: "Utilization", averageUtilization } } }];
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: metadataOf(plan, controllerName),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: child },
      minReplicas,
      maxReplicas,
      metrics: [...metric("cpu", cpuUtilization), ...metric("memory", memoryUtilization)],
    },
  };
}

/** How many proxies evictions leave. One that is not ready serves nobody, and is in nobody's way. */
export function disruptionBudget(plan: Plan, controllerName: string): Child | undefined {
  const { fleet: { workload }, selector } = plan;
  if (workload.kind !== "Deployment") return undefined;
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadataOf(plan, controllerName),
    spec: {
      ...workload.disruption,
      selector: { matchLabels: selector },
      unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}
