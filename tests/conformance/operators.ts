/**
 * The ways in which Gatehouse runs on a cluster of the conformance suite.
 *
 * @module
 */
import { type Cluster, isTrue } from "../cluster/support/cluster.ts";
import { gatehouse, root, Running } from "../support/command.ts";

/**
 * Installs Gatehouse as the README says: its manifests, as they are but for the number of replicas, if one is given.
 * Resolves once it serves its GatewayClass.
 */
export async function installOperator(cluster: Cluster, replicas?: number): Promise<void> {
  await cluster.kubectl("apply", "--server-side", "--kustomize", `${root}deploy/kustomize/base`);
  if (replicas !== undefined) {
    await cluster.kubectl(
      "--namespace=gatehouse-system",
      "scale",
      "deployment/gatehouse",
      `--replicas=${replicas}`,
    );
  }
  await cluster.until({ what: "the operator to be available", seconds: 60 }, async () => {
    const operator = await cluster.get("/apis/apps/v1/namespaces/gatehouse-system/deployments/gatehouse");
    return isTrue(operator, "Available") && operator.status.readyReplicas === operator.spec.replicas;
  });
  await classIsAccepted(cluster);
}

/** The addresses that Gateways get from {@linkcode startLocal}. */
const pool = "172.18.1.0/24";

/** Runs `gatehouse local` on the cluster's node: the operator and its proxies as processes, without a pod. */
export async function startLocal(cluster: Cluster): Promise<AsyncDisposable> {
  await cluster.exec(["ip", "address", "add", pool, "dev", "lo"]);
  const command = cluster.command([
    ...gatehouse("local", `--data=${cluster.folder}/local`, `--addresses=${pool}`, "--log-format=json"),
  ]);
  const local = new Running(command, { KUBECONFIG: `${cluster.folder}/admin.kubeconfig` });
  await cluster.apply([{
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: "gatehouse" },
    spec: { controllerName: "gatehouse.dev/gateway-controller" },
  }]);
  await classIsAccepted(cluster);
  return local;
}

async function classIsAccepted(cluster: Cluster): Promise<void> {
  await cluster.until({ what: "the GatewayClass to be accepted" }, async () =>
    isTrue(
      await cluster.get("/apis/gateway.networking.k8s.io/v1/gatewayclasses/gatehouse"),
      "Accepted",
    ));
}
