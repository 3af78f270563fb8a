/**
 * Decides which Gateway has which addresses. Pure.
 *
 * @module
 */
import { isIP } from "node:net";
import type { GatewayKey } from "../../controllers/ir/mod.ts";
import { canonical, type Pool } from "./pool.ts";

export type Transport = "tcp" | "udp";

/** A port that a Gateway listens on, as its listeners name it. */
export interface WantedPort {
  readonly port: number;
  readonly transport: Transport;
}

/** What a Gateway asks for. */
export interface AddressWant {
  readonly gateway: GatewayKey;
  /** Its creation timestamp in RFC 3339: the older of two Gateways goes first. */
  readonly created: string;
  /** `spec.addresses`: the type is `IPAddress` if absent; no value means any address of that type. */
  readonly requested: readonly { readonly type?: string; readonly value?: string }[];
  readonly ports: readonly WantedPort[];
}

/** A requested address that cannot be used, and why. */
export interface Unusable {
  readonly value: string;
  readonly message: string;
}

/** At least one address, unless the pool has none that is available. */
export interface Assignment {
  readonly addresses: readonly string[];
  readonly unusable: readonly Unusable[];
}

/** Orders Gateways by age, then by name. */
export function byAge(a: AddressWant, b: AddressWant): number {
  return compare(a.created, b.created) || compare(a.gateway, b.gateway);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Assigns addresses so that a Gateway keeps the one it had:
 *
 * 1. requested addresses that are in the pool, even if another Gateway has them too (their ports may differ);
 * 2. else the address that it had, unless it is gone from the pool;
 * 3. else the first that nobody has, those last that a deleted Gateway had and might come back for;
 * 4. else, all being taken, the one that the fewest share.
 *
 * A Gateway whose requested addresses are all unusable gets one as if it had not asked, so that it has a place to be;
 * that it did not get what it asked for is told by `unusable`.
 *
 * @param previous the address that each Gateway was assigned, deleted ones included.
 * @param unavailable addresses of the pool that are not the machine's own.
 */
export function assign(
  wants: readonly AddressWant[],
  previous: ReadonlyMap<GatewayKey, string>,
  pool: Pool,
  unavailable: ReadonlySet<string> = new Set(),
): ReadonlyMap<GatewayKey, Assignment> {
  const usable = new Set(pool.filter((address) => !unavailable.has(address)));
  const users = new Map<string, number>();
  const take = (address: string) => void users.set(address, (users.get(address) ?? 0) + 1);
  const assignments = new Map<GatewayKey, Assignment>();
  const give = (gateway: GatewayKey, addresses: readonly string[], unusable: readonly Unusable[]) => {
    addresses.forEach(take);
    assignments.set(gateway, { addresses, unusable });
  };

  const sorted = wants.toSorted(byAge);
  const requests = new Map(sorted.map((want) => [want.gateway, examine(want, usable, unavailable)]));
  const free: AddressWant[] = [];
  for (const want of sorted) {
    const { addresses, unusable } = requests.get(want.gateway)!;
    if (addresses.length > 0) give(want.gateway, addresses, unusable);
    else free.push(want);
  }
  const homeless: AddressWant[] = [];
  const kept = new Set<string>();
  for (const want of free) {
    const before = previous.get(want.gateway);
    // Of two that shared an address while there were too few, the older one keeps it.
    if (before !== undefined && usable.has(before) && !kept.has(before)) {
      kept.add(before);
      give(want.gateway, [before], requests.get(want.gateway)!.unusable);
    } else homeless.push(want);
  }
  const present = new Set(wants.map(({ gateway }) => gateway));
  const remembered = new Set(
    [...previous].filter(([gateway]) => !present.has(gateway)).map(([, value]) => value),
  );
  for (const want of homeless) {
    const { unusable } = requests.get(want.gateway)!;
    const address = choose(want, usable, users, remembered, previous);
    give(want.gateway, address === undefined ? [] : [address], unusable);
  }
  return assignments;
}

function choose(
  want: AddressWant,
  usable: ReadonlySet<string>,
  users: ReadonlyMap<string, number>,
  remembered: ReadonlySet<string>,
  previous: ReadonlyMap<GatewayKey, string>,
): string | undefined {
  let best: string | undefined, cost = Infinity;
  for (const address of usable) {
    const shared = users.get(address) ?? 0;
    const mine = previous.get(want.gateway) === address;
    // Whole numbers for those who share it, fractions for preferences among equals.
    const price = shared + (mine ? 0 : remembered.has(address) ? 0.5 : 0.25);
    if (price < cost) [best, cost] = [address, price];
    if (price <= 0.25) break;
  }
  return best;
}

function examine(
  { requested }: AddressWant,
  usable: ReadonlySet<string>,
  unavailable: ReadonlySet<string>,
): { readonly addresses: readonly string[]; readonly unusable: readonly Unusable[] } {
  const addresses = new Set<string>();
  const unusable: Unusable[] = [];
  for (const { type = "IPAddress", value = "" } of requested) {
    // No value asks for any address of the type, which is what comes without asking.
    if (value === "" && type === "IPAddress") continue;
    const address = canonical(value);
    if (type === "IPAddress" && usable.has(address)) addresses.add(address);
    else unusable.push({ value: value || type, message: reason(type, value, unavailable.has(address)) });
  }
  return { addresses: [...addresses], unusable };
}

function reason(type: string, value: string, unavailable: boolean): string {
  if (type !== "IPAddress") return `addresses of type ${type} are not supported here, only IPAddress`;
  if (isIP(value) === 0) return "not an IP address";
  return unavailable
    ? "it is not an address of this machine"
    : "it is not among the addresses that this gateway may use (--addresses)";
}
