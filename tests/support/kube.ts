/**
 * A client for tests that have an API server.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import { createKube } from "../../kube/client.ts";
import { openKubeconfig } from "../../kube/kubeconfig.ts";
import { systemSurroundings } from "../../kube/surroundings.ts";
import type { Kube } from "../../kube/types.ts";

/** Opens the cluster of a kubeconfig. To be disposed of. */
export async function kubeOf(kubeconfig: string, component = "test", clock = systemClock): Promise<Kube> {
  const cluster = await openKubeconfig({ files: [kubeconfig], surroundings: systemSurroundings({}), clock });
  return createKube(cluster, { clock, version: "0.0.0", component });
}
