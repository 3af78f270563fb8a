/**
 * Backends that come and go as Pods do, each at an address of its own, and the objects that say where they are.
 *
 * @module
 */
import type { Draft } from "../../kube/types.ts";

/** A server that says who it is in the header `x-backend`. Paths that end in `slow` take a while, so that changes meet them. */
export interface Backend extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
  /** How many requests it has answered. */
  readonly served: number;
  /** Ends as a well-behaved Pod does: what is under way is finished, what is new is refused. */
  stop(): Promise<void>;
}

/** Every backend listens on the same port, as Pods of one Service do. */
export const backendPort = 18080;

/** In milliseconds. */
const slowness = 30;

export function serveBackend(name: string, address: string): Backend {
  let served = 0, stopped: Promise<void> | undefined;
  const stopping = new AbortController();
  const server = Deno.serve({
    hostname: address,
    port: backendPort,
    onListen: () => {},
    signal: stopping.signal,
  }, async ({ url }) => {
    served++;
    if (url.endsWith("slow")) await new Promise((resolve) => setTimeout(resolve, slowness));
    return new Response(`${name}\n`, { headers: { "x-backend": name } });
  });
  return {
    address,
    port: backendPort,
    get served() {
      return served;
    },
    stop: () => stopped ??= server.shutdown(),
    async [Symbol.asyncDispose]() {
      if (!stopped) stopping.abort(); // Proxies may keep connections open; nobody waits for them.
      await server.finished;
    },
  };
}

export function serviceNamed(name: string): Draft {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { ports: [{ name: "http", port: 80 }] },
  };
}

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
}

export function ready(address: string): SliceEndpoint {
  return { addresses: [address], conditions: { ready: true, serving: true, terminating: false } };
}

export function unready(address: string): SliceEndpoint {
  return { addresses: [address], conditions: { ready: false, serving: false, terminating: false } };
}

/** It is about to end, and answers as long as that takes. */
export function leaving(address: string): SliceEndpoint {
  return { addresses: [address], conditions: { ready: false, serving: true, terminating: true } };
}

/** The EndpointSlice `SERVICE-1`. */
export function sliceOf(service: string, endpoints: readonly SliceEndpoint[]): Draft {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service}-1`,
      namespace: "default",
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: backendPort }],
    endpoints,
  };
}
