/**
 * Finds the API server that a command is to talk to.
 *
 * @module
 */
import { systemClock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { createKube } from "../kube/client.ts";
import { ConfigError } from "../kube/errors.ts";
import { inCluster } from "../kube/in_cluster.ts";
import { openKubeconfig } from "../kube/kubeconfig.ts";
import type { Kube } from "../kube/types.ts";
import { type Io, UsageError } from "./io.ts";
import { version } from "./version.ts";

export interface ConnectOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The directory of a standalone gateway, whose kubeconfig is used if none is named. */
  readonly data?: string;
  /** The cluster around us is meant, unless a kubeconfig is named. */
  readonly inCluster?: boolean;
}

export interface Caller {
  /** Which part of Gatehouse is asking. */
  readonly component?: string;
  readonly log?: Log;
  /** As in {@linkcode KubeOptions.permit}. */
  readonly permit?: () => AbortSignal;
}

/** Opens a client. Throws a {@linkcode UsageError} if no kubeconfig can be used. */
export async function connect(io: Io, options: ConnectOptions, caller: Caller = {}): Promise<Kube> {
  const { component = "cli", log, permit } = caller, common = { clock: systemClock, ...log && { log } };
  try {
    const surroundings = { env: io.env, readFile: io.read, run: io.run };
    const around = options.inCluster && options.kubeconfig === undefined && !io.env.KUBECONFIG;
    const cluster = around ? await inCluster({ ...common, surroundings }) : await openKubeconfig({
      ...common,
      files: await kubeconfigs(options, io),
      context: options.context,
      surroundings,
    });
    return createKube(cluster, { ...common, version, component, ...permit && { permit } });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError(error.message, { cause: error.cause });
  }
}

/** The files to read; undefined for those that kubectl would read. */
async function kubeconfigs(
  { kubeconfig, data }: ConnectOptions,
  io: Io,
): Promise<readonly string[] | undefined> {
  if (kubeconfig !== undefined) return [kubeconfig];
  if (data === undefined || io.env.KUBECONFIG) return undefined;
  const own = `${data}/kubeconfig`;
  return await exists(own) ? [own] : undefined;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
