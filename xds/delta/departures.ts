/**
 * Which clusters may be taken from a proxy: those that no route configuration of its names any more.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { ProxyResources } from "../cache.ts";
import { isNeeded, type XdsResource } from "../types.ts";
import type { Held, Subscriptions } from "./subscription.ts";

export class Departures {
  readonly #resources: ProxyResources;
  readonly #subscriptions: Subscriptions;
  readonly #sent: (nonce: string) => readonly XdsResource[] | undefined;
  readonly #patience: number;
  /** Clusters that are still named, with the time at which they go nevertheless. */
  readonly #waiting = new Map<string, number>();
  #inherited = false;

  /** `sent` gives what a response in flight carries. Waits are no longer than `patience` milliseconds. */
  constructor(
    resources: ProxyResources,
    subscriptions: Subscriptions,
    sent: (nonce: string) => readonly XdsResource[] | undefined,
    patience: number,
  ) {
    this.#resources = resources;
    this.#subscriptions = subscriptions;
    this.#sent = sent;
    this.#patience = patience;
  }

  /** Notes that the proxy has come with clusters of an earlier stream. */
  inherit(): void {
    this.#inherited = true;
  }

  /** Notes that a cluster was added, replaced or removed. */
  note(cluster: string): void {
    if (this.#resources.has(this.#subscriptions.cluster.id(cluster))) this.#waiting.delete(cluster);
  }

  /** The clusters to be removed now, `limit` at most. */
  due(now: number, limit: number): readonly string[] {
    const { cluster: clusters, routes } = this.#subscriptions, due: string[] = [];
    let held: readonly (readonly [name: string, Held])[] | undefined;
    for (const name of clusters.dirty) {
      const id = clusters.id(name);
      if (this.#resources.has(id) || !clusters.held(name)) continue;
      held ??= [...routes.allHeld()];
      if (this.#isNamed(id, held)) {
        const until = this.#waiting.get(name);
        if (until === undefined) this.#waiting.set(name, now + this.#patience);
        if (until === undefined || now < until) continue;
      }
      this.#waiting.delete(name);
      due.push(name);
      if (due.length >= limit) break;
    }
    return due;
  }

  /** The times at which waits end. */
  ends(): Iterable<number> {
    return this.#waiting.values();
  }

  /** Whether a route configuration that the proxy has (`held`), or is being sent, names a cluster. */
  #isNamed(cluster: ResourceId, held: readonly (readonly [name: string, Held])[]): boolean {
    const { routes } = this.#subscriptions;
    if (!routes.started && this.#inherited) return true; // What routes it has it has not said yet.
    for (const [name, { version, needs }] of held) {
      // What another server sent is not known; it may name anything until it is replaced.
      const names = needs
        ? isNeeded(cluster, needs)
        : this.#resources.get(routes.id(name))?.version !== version;
      if (names) return true;
    }
    for (const { nonce } of routes.inFlight.values()) {
      if (this.#sent(nonce)?.some(({ needs }) => isNeeded(cluster, needs))) return true;
    }
    return false;
  }
}
