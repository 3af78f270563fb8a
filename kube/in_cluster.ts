/**
 * The API server of the cluster that we run in, by the token of our pod.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import type { Cluster } from "./cluster.ts";
import { ConfigError } from "./errors.ts";
import { Materials } from "./materials.ts";
import type { Surroundings } from "./surroundings.ts";

/** Where the kubelet puts a pod's token, certificate authority and namespace. */
const directory = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface InClusterOptions {
  readonly surroundings: Pick<Surroundings, "env" | "readFile">;
  readonly clock: Clock;
  readonly log?: Log;
}

/** Whether this looks like a pod. */
export function isInCluster(env: Surroundings["env"]): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT);
}

/**
 * The cluster around us. The token is read again every minute and after a 401; connections are made anew when the certificate
 * authority changes.
 *
 * @throws {ConfigError} outside of a cluster, or in a pod without a service account token.
 */
export async function inCluster(options: InClusterOptions): Promise<Cluster> {
  const { surroundings: { env, readFile }, clock, log = silentLog } = options;
  if (!isInCluster(env)) {
    throw new ConfigError(
      "Cannot find the cluster around us: KUBERNETES_SERVICE_HOST is not set; outside of a pod, name a kubeconfig",
    );
  }
  const host = env.KUBERNETES_SERVICE_HOST!;
  const server = new URL(`https://${host.includes(":") ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT}`);
  const name = "the cluster around us";
  const materials = new Materials(
    { ca: { file: `${directory}/ca.crt` }, token: { file: `${directory}/token` } },
    { clock, log, readFile, name },
  );
  // Fails here rather than at the first request if the token is not mounted.
  await materials.credentials();
  return {
    name,
    server,
    namespace: (await readFile(`${directory}/namespace`)).trim(),
    credentials: () => materials.credentials(),
    reject: (credentials) => materials.reject(credentials),
  };
}
