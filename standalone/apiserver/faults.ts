/**
 * Faults on demand: what networks, caches and busy API servers do to clients, as switches.
 *
 * @module
 */
import type { Notice } from "./watch.ts";

/** One kind of fault, for some requests. */
export interface Fault {
  readonly kind:
    /** A watch is told 410 Gone. */
    | "expire"
    /** A watch misses an event. */
    | "drop"
    /** A watch gets an event twice. */
    | "duplicate"
    /** A watch waits for `milliseconds` and then gets only the last of each object's events. */
    | "merge"
    /** A watch breaks off in the middle of a line. */
    | "cut"
    /** A get or list answers with a state `revisions` back. */
    | "stale"
    /** An update, patch or delete is answered with 409 Conflict. */
    | "conflict"
    /** Any request is answered with 429 and a Retry-After of `seconds`. */
    | "throttle"
    /** Any request waits for `milliseconds` first. */
    | "latency";
  /** Such as `services` or `gateways.gateway.networking.k8s.io`; all of them without. */
  readonly resource?: string;
  /** How often it strikes, from 0 to 1; always without. */
  readonly rate?: number;
  /** After how many strikes it is over; never without. */
  readonly times?: number;
  /** For latency (default 100) and merge (default 50). */
  readonly milliseconds?: number;
  /** For throttle; default 1. */
  readonly seconds?: number;
  /** For stale; default 1. */
  readonly revisions?: number;
}

/** What watches ask. */
export interface WatchFaults {
  expires(resource: string): boolean;
  cuts(resource: string): boolean;
  /** How long to wait for more events to be merged, in milliseconds. */
  mergeDelay(resource: string): number;
  /** What a watch gets instead of `notices`. */
  tell(resource: string, notices: readonly Notice[]): readonly Notice[];
  /** Calls `listener` whenever a fault is switched on. */
  onSwitch(listener: () => void): Disposable;
}

interface Active {
  readonly fault: Fault;
  left: number;
}

/** Faults that are switched on. */
export class Faults implements WatchFaults {
  readonly #active = new Set<Active>();
  readonly #struck = new Map<Fault["kind"], number>();
  readonly #listeners = new Set<() => void>();
  readonly #random: () => number;

  /** @param options `random` gives numbers from 0 to below 1, for faults that strike at a rate */
  constructor(faults: readonly Fault[] = [], options: { readonly random?: () => number } = {}) {
    this.#random = options.random ?? Math.random;
    for (const fault of faults) this.add(fault);
  }

  /** Switches a fault on, until the result is disposed of. */
  add(fault: Fault): Disposable {
    const active = { fault, left: fault.times ?? Infinity };
    this.#active.add(active);
    for (const listener of [...this.#listeners]) listener();
    return { [Symbol.dispose]: () => this.#active.delete(active) };
  }

  /** Switches all faults off. */
  clear(): void {
    this.#active.clear();
  }

  /** How often each kind of fault has struck. */
  get struck(): ReadonlyMap<Fault["kind"], number> {
    return this.#struck;
  }

  expires(resource: string): boolean {
    return this.#strike("expire", resource) !== undefined;
  }

  cuts(resource: string): boolean {
    return this.#strike("cut", resource) !== undefined;
  }

  conflicts(resource: string): boolean {
    return this.#strike("conflict", resource) !== undefined;
  }

  /** Seconds after which to try again. */
  throttles(resource: string): number | undefined {
    const fault = this.#strike("throttle", resource);
    return fault && (fault.seconds ?? 1);
  }

  /** Milliseconds to wait. */
  latency(resource: string): number {
    const fault = this.#strike("latency", resource);
    return fault ? fault.milliseconds ?? 100 : 0;
  }

  /** How many revisions to go back. */
  staleness(resource: string): number {
    const fault = this.#strike("stale", resource);
    return fault ? fault.revisions ?? 1 : 0;
  }

  mergeDelay(resource: string): number {
    for (const { fault } of this.#active) {
      if (fault.kind === "merge" && applies(fault, resource)) return fault.milliseconds ?? 50;
    }
    return 0;
  }

  tell(resource: string, notices: readonly Notice[]): readonly Notice[] {
    if (this.#active.size === 0 || notices.length === 0) return notices;
    const merged = this.mergeDelay(resource) > 0 && this.#strike("merge", resource)
      ? merge(notices)
      : notices;
    return merged.flatMap((notice) => {
      if (this.#strike("drop", resource)) return [];
      return this.#strike("duplicate", resource) ? [notice, notice] : [notice];
    });
  }

  onSwitch(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  #strike(kind: Fault["kind"], resource: string): Fault | undefined {
    for (const active of this.#active) {
      const { fault } = active;
      if (fault.kind !== kind || !applies(fault, resource)) continue;
      if (fault.rate !== undefined && this.#random() >= fault.rate) continue;
      if (--active.left <= 0) this.#active.delete(active);
      this.#struck.set(kind, (this.#struck.get(kind) ?? 0) + 1);
      return fault;
    }
    return undefined;
  }
}

function applies(fault: Fault, resource: string): boolean {
  return fault.resource === undefined || fault.resource === resource;
}

/** The last notice of each object, with the type that leads from the state before to the state after. */
function merge(notices: readonly Notice[]): readonly Notice[] {
  const merged = new Map<string, { readonly known: boolean; readonly last: Notice }>();
  for (const notice of notices) {
    const earlier = merged.get(notice.row.key);
    merged.delete(notice.row.key); // so that the order is that of the last ones
    merged.set(notice.row.key, { known: earlier?.known ?? notice.type !== "ADDED", last: notice });
  }
  return [...merged.values()].flatMap(({ known, last }) => {
    if (last.type === "DELETED") return known ? [last] : [];
    return [{ ...last, type: known ? "MODIFIED" : "ADDED" } as const];
  });
}
