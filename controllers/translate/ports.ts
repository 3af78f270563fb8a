/**
 * The ports of a Gateway, each with the listeners that share it.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import { covering } from "./hostnames.ts";
import type { Listening } from "./listening.ts";
import type { GatewayState } from "./gateway_state.ts";

/** One port with the listeners that share it. Row key: {@linkcode ListenerState.portKey}. */
export interface Port {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly bound: number;
  readonly protocol: string;
  /** Their ids by hostname, those of silent ones included. */
  readonly listeners: ReadonlyMap<string, string>;
}

/** The listener whose requests a hostname's are: the most specific one that covers it. */
export function ownerOf(
  port: Port,
  hostname: string,
): { readonly id: Key; readonly hostname: string } | undefined {
  for (const candidate of covering(hostname)) {
    const id = port.listeners.get(candidate);
    if (id !== undefined) return { id, hostname: candidate };
  }
  return undefined;
}

/** One port of a Gateway; `undefined` if none of its listeners is served. */
export function portOf(portKey: Key, state: GatewayState, { ports }: Listening): Port | undefined {
  const { served = [], silent = [] } = ports.get(portKey) ?? {};
  const [first] = served;
  if (first === undefined) return undefined;
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
    listeners: new Map([...served, ...silent].map(({ listener }) => [listener.hostname, listener.id])),
  };
}

export function irListener(portKey: Key, port: Port, { ports }: Listening): IrListener {
  const own = ports.get(portKey)?.served ?? [];
  const chains = own.flatMap(({ listener, tls }) =>
    tls
      ? [{
        hostname: listener.hostname,
        certificates: tls.certificates,
        ...tls.clients && { clients: tls.clients },
      }]
      : []
  );
  return {
    gateway: port.gateway,
    name: portKey,
    addresses: port.bind,
    port: port.bound,
    ...isEncrypted(port) ? { protocol: "https", chains } : { protocol: "http" },
    routes: portKey,
  };
}

export function isEncrypted({ protocol }: Port): boolean {
  return protocol === "HTTPS";
}
