/**
 * The ports of a Gateway, each with the listeners that share it.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import type { Listening } from "./listening.ts";
import type { GatewayState } from "./gateway_state.ts";
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
  const [first] = ports.get(portKey) ?? [];
  if (first === undefined) return undefined;
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
  };
}

export function irListener(
  portKey: Key,
  port: Port,
  { ports }: Listening,
  { accessLog, tracing }: Telemetry,
): IrListener {
  const own = ports.get(portKey) ?? [];
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
    ...accessLog && { accessLog },
    ...tracing && { tracing },
  };
}

export function isEncrypted({ protocol }: Port): boolean {
  return protocol === "HTTPS";
}
