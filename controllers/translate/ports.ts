/**
 * The ports of a Gateway, each with the listeners that share it.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener, TlsChain } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import type { Listening } from "./listening.ts";
import type { GatewayState, ListenerState } from "./gateway_state.ts";
import type { Telemetry } from "./telemetry.ts";

/** One port, whatever listeners share it. Row key: {@linkcode ListenerState.portKey}. */
export interface Port {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly bound: number;
  readonly protocol: string;
}

/** One port of a Gateway; `undefined` if none of its listeners is served. */
export function portOf(portKey: Key, state: GatewayState, { ports }: Listening): Port | undefined {
  const first = ports.get(portKey);
  if (first === undefined) return undefined;
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
  };
}

export function irListener(portKey: Key, port: Port, { accessLog, tracing }: Telemetry): IrListener {
  return {
    gateway: port.gateway,
    name: portKey,
    addresses: port.bind,
    port: port.bound,
    protocol: isEncrypted(port) ? "https" : "http",
    routes: portKey,
    ...accessLog && { accessLog },
    ...tracing && { tracing },
  };
}

/** What a served listener adds to its port, if TLS ends there. */
export function chainOf({ listener, portKey, tls }: ListenerState): TlsChain | undefined {
  return tls && {
    listener: portKey,
    hostname: listener.hostname,
    certificates: tls.certificates,
    ...tls.clients && { clients: tls.clients },
  };
}

export function isEncrypted({ protocol }: Pick<Port, "protocol">): boolean {
  return protocol === "HTTPS";
}
