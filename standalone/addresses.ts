/**
 * Gives each Gateway of a standalone gateway an address of its own, and ports that can be bound.
 *
 * Addresses come from a pool and are written down, so that a Gateway has the same one after a restart. What clients
 * can really reach is what counts: a port that may not be bound is shifted, one that somebody else has is reported and
 * tried again.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { equal } from "../controllers/runtime/equal.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { type AddressWant, assign, type Assignment, type Unusable } from "./addresses/assign.ts";
import { loopbackPool, parsePool, type Pool, singlePool } from "./addresses/pool.ts";
import { decidePorts, type PortState, type PortStates } from "./addresses/ports.ts";
import { type Probe, probe as systemProbe } from "./addresses/probe.ts";

export type { AddressWant, Transport, WantedPort } from "./addresses/assign.ts";

/** What translation is told about a Gateway; see `Addresses` there. */
export interface GatewayAddresses {
  readonly assigned: readonly { readonly type: "IPAddress"; readonly value: string }[];
  readonly bind: readonly string[];
  /** Only ports that are shifted or cannot be bound. */
  readonly ports: { readonly [port: string]: PortState };
  readonly unusable: readonly Unusable[];
}

/** What of a Gateway matters here. */
interface GatewayLike {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly creationTimestamp?: string;
  };
  readonly spec: {
    readonly addresses?: AddressWant["requested"];
    readonly listeners?: readonly { readonly port: number; readonly protocol: string }[];
  };
}

/** What a Gateway asks for. `more` are listeners that other objects add to it. */
export function wantOf(
  { metadata, spec }: GatewayLike,
  more: NonNullable<GatewayLike["spec"]["listeners"]> = [],
): AddressWant {
  return {
    gateway: `${metadata.namespace}/${metadata.name}`,
    created: metadata.creationTimestamp ?? "",
    requested: spec.addresses ?? [],
    ports: [...spec.listeners ?? [], ...more].map(({ port, protocol }) => ({
      port,
      transport: protocol === "UDP" ? "udp" : "tcp",
    })),
  };
}

/**
 * The pool that `--addresses` names, or the best that the system allows: a loopback address for each Gateway, else one
 * for all.
 */
export async function choosePool(
  flag: string | undefined,
  probe: Probe = systemProbe,
): Promise<{ readonly pool: Pool } | { readonly problem: string }> {
  if (flag !== undefined) return await checkPool(flag, probe);
  const loopback = parsePool(loopbackPool);
  if ("pool" in loopback && await probe(loopback.pool[0]!, 0, "tcp") === "free") return loopback;
  return parsePool(singlePool);
}

/** How many addresses of a pool are tried before it is taken for one of another machine. */
const tried = 256;

async function checkPool(
  flag: string,
  probe: Probe,
): Promise<{ readonly pool: Pool } | { readonly problem: string }> {
  const parsed = parsePool(flag);
  if ("problem" in parsed) return parsed;
  for (const address of parsed.pool.slice(0, tried)) {
    if (await probe(address, 0, "tcp") !== "unavailable") return parsed;
  }
  return {
    problem: `Cannot use address pool "${flag}": this machine has none of its addresses; ` +
      `name addresses that it has, or leave --addresses out`,
  };
}

export interface AddressBookOptions {
  readonly pool: Pool;
  /** Where assignments are written down. */
  readonly file: string;
  readonly probe?: Probe;
  readonly clock: Clock;
  readonly log: Log;
  /** Told what changed for a Gateway; nothing once it is gone. */
  onChange(gateway: GatewayKey, addresses: GatewayAddresses | undefined): void;
}

/** How long to wait before failed ports are tried again, in milliseconds. */
const retryAfter = 3_000;

/** Decides again whenever what is wanted changes, and from time to time while a port cannot be bound. */
export class AddressBook implements AsyncDisposable {
  readonly #options: AddressBookOptions;
  readonly #probe: Probe;
  readonly #previous: Map<GatewayKey, string>;
  readonly #unavailable = new Set<string>();
  #wants: readonly AddressWant[] = [];
  #assignments: ReadonlyMap<GatewayKey, Assignment> = new Map();
  #ports: ReadonlyMap<GatewayKey, PortStates> = new Map();
  /** Gateways whose ports are to be looked at anew. */
  readonly #doubted = new Set<GatewayKey>();
  #told = new Map<GatewayKey, GatewayAddresses>();
  #stale = false;
  #closed = false;
  #deciding: Promise<void> = Promise.resolve();
  #busy = false;
  #timer: Disposable | undefined;

  private constructor(options: AddressBookOptions, previous: Map<GatewayKey, string>) {
    this.#options = options;
    this.#probe = options.probe ?? systemProbe;
    this.#previous = previous;
  }

  /**
   * Reads what was assigned before. No proxy of an earlier run may be left, or its ports would count as used by
   * somebody else.
   */
  static async open(options: AddressBookOptions): Promise<AddressBook> {
    return new AddressBook(options, await read(options.file, options.log));
  }

  /** Says which Gateways there are from now on. */
  sync(wants: readonly AddressWant[]): void {
    if (this.#closed || equal(wants, this.#wants)) return;
    this.#wants = wants;
    this.#refresh();
  }

  /** Looks anew at the ports of a Gateway whose proxy does not run, so that anybody may have them; resolves once it has. */
  async recheck(gateway: GatewayKey): Promise<void> {
    if (this.#closed) return;
    this.#doubted.add(gateway);
    this.#refresh();
    await this.idle();
  }

  get(gateway: GatewayKey): GatewayAddresses | undefined {
    return this.#told.get(gateway);
  }

  /** Resolves once everything that was wanted so far is decided. */
  async idle(): Promise<void> {
    while (this.#busy) await this.#deciding;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
    await this.#deciding;
  }

  #refresh(): void {
    this.#stale = true;
    if (!this.#busy) this.#deciding = this.#decide();
  }

  async #decide(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#stale && !this.#closed) {
        this.#stale = false;
        this.#timer?.[Symbol.dispose]();
        const wants = this.#wants;
        await this.#assign(wants);
        const addresses = new Map(
          [...this.#assignments].map(([gateway, { addresses }]) => [gateway, addresses]),
        );
        const { ports, retry } = await decidePorts(wants, addresses, this.#ports, this.#probe);
        this.#ports = ports;
        if (this.#closed) return;
        this.#tell();
        if (retry && !this.#stale) {
          this.#timer = this.#options.clock.timer(retryAfter, () => this.#refresh());
        }
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Assigns addresses that are the machine's own, and forgets the ports of those that have changed or are in doubt. */
  async #assign(wants: readonly AddressWant[]): Promise<void> {
    const { pool } = this.#options;
    const known = new Set([...this.#assignments.values()].flatMap(({ addresses }) => addresses));
    let assignments = assign(wants, this.#previous, pool, this.#unavailable);
    for (let checked = false; !checked;) {
      checked = true;
      for (const address of new Set([...assignments.values()].flatMap(({ addresses }) => addresses))) {
        if (known.has(address)) continue;
        if (await this.#probe(address, 0, "tcp").catch(() => undefined) !== "unavailable") known.add(address);
        else {
          this.#unavailable.add(address);
          checked = false;
        }
      }
      if (!checked) assignments = assign(wants, this.#previous, pool, this.#unavailable);
    }
    const same = (gateway: GatewayKey) =>
      !this.#doubted.has(gateway) &&
      equal(this.#assignments.get(gateway)?.addresses, assignments.get(gateway)?.addresses);
    this.#ports = new Map([...this.#ports].filter(([gateway]) => same(gateway)));
    this.#doubted.clear();
    this.#assignments = assignments;
    await this.#remember(wants);
  }

  async #remember(wants: readonly AddressWant[]): Promise<void> {
    let changed = false;
    for (const { gateway } of wants) {
      const [address] = this.#assignments.get(gateway)?.addresses ?? [];
      if (address === undefined || this.#previous.get(gateway) === address) continue;
      this.#previous.set(gateway, address);
      changed = true;
    }
    if (!changed) return;
    // A deleted Gateway's address is forgotten once another has it.
    const inUse = new Set([...this.#assignments.values()].flatMap(({ addresses }) => addresses));
    for (const [gateway, address] of this.#previous) {
      if (!this.#assignments.has(gateway) && inUse.has(address)) this.#previous.delete(gateway);
    }
    const { file, log } = this.#options;
    try {
      await write(file, this.#previous);
    } catch (error) {
      log.warn("Cannot write down the addresses of Gateways, they may differ after a restart", {
        file,
        error,
      });
    }
  }

  #tell(): void {
    const { onChange } = this.#options;
    for (const gateway of this.#told.keys()) {
      if (this.#assignments.has(gateway)) continue;
      this.#told.delete(gateway);
      onChange(gateway, undefined);
    }
    for (const [gateway, { addresses, unusable }] of this.#assignments) {
      const states = [...this.#ports.get(gateway) ?? []];
      const now: GatewayAddresses = {
        assigned: addresses.map((value) => ({ type: "IPAddress", value })),
        bind: addresses,
        ports: Object.fromEntries(
          states.filter(([key, state]) => state.state === "failed" || parseInt(key) !== state.port),
        ),
        unusable,
      };
      if (equal(this.#told.get(gateway), now)) continue;
      this.#told.set(gateway, now);
      onChange(gateway, now);
    }
  }
}

async function read(file: string, log: Log): Promise<Map<GatewayKey, string>> {
  try {
    const entries = Object.entries(JSON.parse(await Deno.readTextFile(file)));
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch (error) {
    if (error instanceof SyntaxError) {
      log.warn("Cannot read the addresses of Gateways, they are assigned anew", { file, error });
    } else if (!(error instanceof Deno.errors.NotFound)) throw error;
    return new Map();
  }
}

async function write(file: string, addresses: ReadonlyMap<GatewayKey, string>): Promise<void> {
  const sorted = Object.fromEntries([...addresses].sort(([a], [b]) => a < b ? -1 : 1));
  await Deno.writeTextFile(`${file}.new`, `${JSON.stringify(sorted, null, 2)}\n`);
  await Deno.rename(`${file}.new`, file);
}
