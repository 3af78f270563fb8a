/**
 * Decides which ports the Gateways' proxies bind.
 *
 * @module
 */
import type { GatewayKey } from "../../controllers/ir/mod.ts";
import { type AddressWant, byAge, type Transport, type WantedPort } from "./assign.ts";
import type { Probe, Probed } from "./probe.ts";

/** Where a port of a Gateway really is, in the shape that translation reads. */
export type PortState =
  | { readonly state: "bound"; readonly port: number }
  | { readonly state: "failed"; readonly message: string };

/** The states of a Gateway's ports, by number, with `/udp` appended for UDP. */
export type PortStates = ReadonlyMap<string, PortState>;

/** A port that may not be bound is bound this much higher. */
export const shift = 10_000;

export interface PortDecisions {
  readonly ports: ReadonlyMap<GatewayKey, PortStates>;
  /** Whether asking again later may find what failed now free. */
  readonly retry: boolean;
}

/**
 * Decides about every port of every Gateway. One that was decided to be bound stays so without another look, since the
 * Gateway's own proxy has it by now. The others go by age, and what a listener asks for goes before what another is
 * shifted to.
 *
 * @param addresses those that each Gateway has.
 * @param before the last decisions, of those Gateways whose addresses are the same as then.
 */
export async function decidePorts(
  wants: readonly AddressWant[],
  addresses: ReadonlyMap<GatewayKey, readonly string[]>,
  before: ReadonlyMap<GatewayKey, PortStates>,
  probe: Probe,
): Promise<PortDecisions> {
  const gateways = wants.toSorted(byAge).map((want): Claimant => ({
    gateway: want.gateway,
    // Listeners that differ by hostname share a port.
    ports: [...new Map(want.ports.map((port) => [portKey(port.port, port.transport), port])).values()],
    addresses: addresses.get(want.gateway) ?? [],
    before: before.get(want.gateway) ?? new Map(),
    states: new Map(),
  }));
  const owners = new Map<string, GatewayKey>();
  let retry = false;

  const bind = (claimant: Claimant, { port, transport }: WantedPort, at: number) => {
    claimant.states.set(portKey(port, transport), { state: "bound", port: at });
    for (const address of claimant.addresses) owners.set(place(address, at, transport), claimant.gateway);
  };
  /** Why a Gateway cannot have a port; `undefined` if it can, `denied` if for want of privileges alone. */
  const obstacle = async (claimant: Claimant, port: number, transport: Transport) => {
    if (claimant.addresses.length === 0) return "there is no address for it";
    let denied = false;
    for (const address of claimant.addresses) {
      const owner = owners.get(place(address, port, transport));
      if (owner === claimant.gateway) return "another of its listeners has that port";
      if (owner !== undefined) {
        return `Gateway "${owner}" has it; change the port, or allow more addresses with --addresses`;
      }
      if (holds(claimant, port, transport)) continue;
      let probed: Probed;
      try {
        probed = await probe(address, port, transport);
      } catch (error) {
        retry = true;
        return error instanceof Error ? error.message : String(error);
      }
      if (probed === "denied") denied = true;
      else if (probed !== "free") {
        retry = true;
        return probed === "used"
          ? "another program has it; end that program or change the port"
          : "it is not an address of this machine";
      }
    }
    return denied ? "denied" : undefined;
  };
  const fail = ({ states, addresses }: Claimant, { port, transport }: WantedPort, why: string) => {
    const where = addresses.length > 0 ? ` on ${addresses.join(", ")}` : "";
    const message = `Cannot bind ${transport === "udp" ? "UDP " : ""}port ${port}${where}: ${why}`;
    states.set(portKey(port, transport), { state: "failed", message });
  };

  for (const claimant of gateways) {
    const asked = new Set(claimant.ports.map(({ port, transport }) => portKey(port, transport)));
    for (const wanted of claimant.ports) {
      const state = claimant.before.get(portKey(wanted.port, wanted.transport));
      if (state?.state !== "bound") continue;
      if (state.port !== wanted.port && asked.has(portKey(state.port, wanted.transport))) continue;
      bind(claimant, wanted, state.port);
    }
  }
  const denied: { readonly claimant: Claimant; readonly wanted: WantedPort }[] = [];
  for (const claimant of gateways) {
    for (const wanted of claimant.ports) {
      if (claimant.states.has(portKey(wanted.port, wanted.transport))) continue;
      const why = await obstacle(claimant, wanted.port, wanted.transport);
      if (why === undefined) bind(claimant, wanted, wanted.port);
      else if (why === "denied") denied.push({ claimant, wanted });
      else fail(claimant, wanted, why);
    }
  }
  for (const { claimant, wanted } of denied) {
    const at = wanted.port + shift;
    const why = at > 65_535 ? "there is no such port" : await obstacle(claimant, at, wanted.transport);
    if (why === undefined) bind(claimant, wanted, at);
    else {
      const also = why === "denied" ? "may not be bound either" : `cannot be bound: ${why}`;
      fail(claimant, wanted, `it takes privileges, and port ${at} in its place ${also}`);
    }
  }
  return { ports: new Map(gateways.map(({ gateway, states }) => [gateway, states])), retry };
}

interface Claimant {
  readonly gateway: GatewayKey;
  readonly ports: readonly WantedPort[];
  readonly addresses: readonly string[];
  readonly before: PortStates;
  readonly states: Map<string, PortState>;
}

/** Whether a Gateway's own proxy has a port already, for whichever of its listeners. */
function holds({ before }: Claimant, port: number, transport: Transport): boolean {
  return [...before].some(([key, state]) =>
    state.state === "bound" && state.port === port && key.endsWith("/udp") === (transport === "udp")
  );
}

/** The key of a port in {@linkcode PortStates}. */
export function portKey(port: number, transport: Transport): string {
  return transport === "udp" ? `${port}/udp` : String(port);
}

function place(address: string, port: number, transport: Transport): string {
  return `${address} ${portKey(port, transport)}`;
}
