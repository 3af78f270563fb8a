/**
 * Gatehouse on a test cluster, installed as the documentation says: the manifests as they are, with the rights that they give.
 *
 * @module
 */
import { root } from "../../support/command.ts";
import { type AuditEvent, type Cluster, isTrue, type Json } from "./cluster.ts";
import { objectsIn } from "./helm.ts";

/** Where the manifests put it. */
export const system = "gatehouse-system";

/** What the operator is called in the audit log. */
export const operatorUser = `system:serviceaccount:${system}:gatehouse`;

export interface InstallationOptions {
  readonly replicas?: number;
  /** Further arguments of the operator; the last of a name counts. */
  readonly args?: readonly string[];
}

/** Installs Gatehouse; resolves once all replicas are ready and the GatewayClass is served. */
export async function installGatehouse(
  cluster: Cluster,
  { replicas, args = [] }: InstallationOptions = {},
): Promise<void> {
  const objects = objectsIn(await cluster.kubectl("kustomize", `${root}deploy/kustomize/base`));
  const { spec } = objects.find(({ kind }) => kind === "Deployment");
  if (replicas !== undefined) spec.replicas = replicas;
  spec.template.spec.containers[0].args.push(...args);
  await cluster.apply(objects);
  await available(cluster);
  await classIsAccepted(cluster);
}

/** Resolves once as many replicas as there should be are ready. */
export async function available(cluster: Cluster): Promise<void> {
  await cluster.until({ what: "the operator to be available", seconds: 90 }, async () => {
    const operator = await cluster.get(`/apis/apps/v1/namespaces/${system}/deployments/gatehouse`);
    return isTrue(operator, "Available") && operator.status.readyReplicas === operator.spec.replicas &&
      operator.status.updatedReplicas === operator.spec.replicas;
  });
}

/** Resolves once the GatewayClass `gatehouse` is. */
export async function classIsAccepted(cluster: Cluster): Promise<void> {
  await cluster.until(
    { what: "the GatewayClass to be accepted" },
    async () =>
      isTrue(await cluster.get("/apis/gateway.networking.k8s.io/v1/gatewayclasses/gatehouse"), "Accepted"),
  );
}

/** The pods of the operator that run. */
export async function replicasOf(cluster: Cluster): Promise<readonly Json[]> {
  const { items } = await cluster.get(`/api/v1/namespaces/${system}/pods`);
  return items.filter((pod: Json) => pod.metadata.deletionTimestamp === undefined);
}

/** What the API server has denied to the operator, as `VERB PATH`. */
export function denials(events: readonly AuditEvent[]): readonly string[] {
  const denied = events.filter(({ user, responseStatus }) =>
    user.username === operatorUser && responseStatus?.code === 403
  );
  return [...new Set(denied.map(({ verb, requestURI }) => `${verb} ${requestURI}`))];
}
