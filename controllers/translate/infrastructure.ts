/**
 * What has to exist around the proxies of a Gateway.
 *
 * @module
 */
import type { Fleet } from "./fleet.ts";
import type { GatewayModel } from "./gateways.ts";
import type { GatewayState } from "./gateway_state.ts";

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
  readonly ports: readonly { readonly port: number; readonly transport: "tcp" | "udp" }[];
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
  const ports = [...new Map(wanted.map(({ portKey, listener }) => [portKey, listener.port]))]
    .map(([key, port]) => ({ port, transport: key.endsWith("/udp") ? "udp" as const : "tcp" as const }))
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
