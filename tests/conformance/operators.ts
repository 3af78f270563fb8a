/**
 * Gatehouse on the node of a test cluster, without pods.
 *
 * @module
 */
import type { Cluster } from "../cluster/support/cluster.ts";
import { classIsAccepted } from "../cluster/support/installation.ts";
import { gatehouse, Running } from "../support/command.ts";

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
