/**
 * An API server and who we are to it.
 *
 * @module
 */
import type { Tls } from "./http_clients.ts";

/** What goes with one request. */
export interface Credentials {
  readonly tls: Tls;
  /** The value of the Authorization header, if that is how we say who we are. */
  readonly authorization?: string;
}

/** Where an API server is and how to get in. Made by `kubeconfig.ts` and `in_cluster.ts`. */
export interface Cluster {
  /** For people: where this comes from, such as `context "kind" of /home/me/.kube/config`. */
  readonly name: string;
  /** May have a path, as behind a proxy. */
  readonly server: URL;
  /** The namespace to work in by default. */
  readonly namespace: string;
  /**
   * What to send now. Cheap: reads files and runs plugins only when that is due.
   *
   * @throws {ConfigError} if there are none to be had.
   */
  credentials(signal?: AbortSignal): Promise<Credentials>;
  /** The server did not accept these: the next call is to look for others. */
  reject(credentials: Credentials): void;
  /** Frees what the cluster needs of its own; the client calls it when it is closed. */
  close?(): Promise<void>;
}

/** A server that asks for nothing, such as `kubectl proxy`. */
export function openCluster(server: string | URL, options: { readonly namespace?: string } = {}): Cluster {
  const credentials: Credentials = { tls: {} };
  return {
    name: String(server),
    server: new URL(server),
    namespace: options.namespace ?? "default",
    credentials: () => Promise.resolve(credentials),
    reject: () => {},
  };
}
