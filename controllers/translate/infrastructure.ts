/**
 * What has to exist around the proxies of a Gateway.
 *
 * @module
 */
import type { Fleet } from "./fleet.ts";
import type { GatewayModel } from "./gateways.ts";
import type { GatewayState } from "./gateway_state.ts";
import type { Listener } from "./listeners.ts";

/** A port that clients connect to. */
export interface InfrastructurePort {
  readonly port: number;
  readonly transport: "tcp" | "udp";
  /** What is spoken there, where the listeners that share it agree. */
  readonly protocol?: string;
}

/** What has to exist so that a Gateway can be served. Row key: the Gateway. */
export interface Infrastructure {
  readonly uid: string;
  readonly generation: number;
  readonly className: string;
  /** Its deletion has begun: nothing is to be created or repaired, only taken down. */
  readonly terminating: boolean;
  /** Why nothing is to be created: the Gateway as a whole is not accepted. */
  readonly refused?: string;
  /**
   * The ports of the listeners, those of ListenerSets included, as the specs have them, sorted; those too that turned out not to be available, since
   * that may change.
   */
  readonly ports: readonly InfrastructurePort[];
  /** IP addresses that the spec asks for. */
  readonly requested: readonly string[];
  readonly labels: { readonly [name: string]: string };
  readonly annotations: { readonly [name: string]: string };
  /** How its proxies are run. */
  readonly fleet: Fleet;
}

export function infrastructureOf(model: GatewayModel, state: GatewayState | undefined): Infrastructure {
  const { uid, generation, className, terminating, requested, infrastructure, fleet } = model;
  const refused = model.refused ?? model.unmanaged;
  const all = [...state?.owners.values() ?? []].flatMap(({ listeners }) => listeners);
  const wanted = all.filter(({ listener }) => listener.refused === undefined);
  const byPort = Map.groupBy(wanted, ({ portKey }) => portKey);
  const ports = [...byPort].map(([key, listeners]) => portOf(key, listeners.map(({ listener }) => listener)))
    .sort((a, b) => a.port - b.port || (a.transport < b.transport ? -1 : 1));
  return {
    uid,
    generation,
    className,
    terminating,
    ...refused && { refused: refused.message },
    ports,
    requested,
    ...infrastructure,
    fleet,
  };
}

function portOf(key: string, listeners: readonly Listener[]): InfrastructurePort {
  const [{ port, protocol } = { port: 0, protocol: "" }] = listeners;
  return {
    port,
    transport: key.endsWith("/udp") ? "udp" : "tcp",
    ...listeners.every((other) => other.protocol === protocol) && { protocol },
  };
}
