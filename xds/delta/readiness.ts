/**
 * Which clusters a proxy cannot use yet, and who has to wait for them.
 *
 * @module
 */
import type { ProxyResources } from "../cache.ts";
import { isNeeded, type Needs, type XdsResource } from "../types.ts";
import type { Subscriptions } from "./subscription.ts";

export class Readiness {
  readonly #resources: ProxyResources;
  readonly #subscriptions: Subscriptions;
  readonly #patience: number;
  /** Clusters that the proxy is to have and cannot use, with the time at which waiting for them ends. */
  readonly #unready = new Map<string, number | undefined>();
  /** Clusters that the proxy can use, although there are none any more: it has not been told to remove them yet. */
  readonly #leaving = new Set<string>();

  /** Waits are no longer than `patience` milliseconds. */
  constructor(resources: ProxyResources, subscriptions: Subscriptions, patience: number) {
    this.#resources = resources;
    this.#subscriptions = subscriptions;
    this.#patience = patience;
  }

  /**
   * Notes that a cluster was added, replaced or removed, and whether it `existed` before; one that the proxy refused before is
   * waited for anew.
   */
  note(cluster: string, existed: boolean): void {
    const ready = existed ? !this.#unready.has(cluster) : this.#leaving.has(cluster);
    if (!this.#resources.has(`cluster:${cluster}`)) {
      this.#unready.delete(cluster);
      if (ready) this.#leaving.add(cluster);
    } else {
      this.#leaving.delete(cluster);
      if (!ready) this.#unready.set(cluster, undefined);
    }
    this.check(cluster);
  }

  /** Notes that the proxy is told to remove a cluster. */
  removed(cluster: string): void {
    this.#leaving.delete(cluster);
  }

  /** Strikes out a cluster if it has become ready: acknowledged, with endpoints that were asked for and acknowledged. */
  check(cluster: string): void {
    const { cluster: clusters, endpoints } = this.#subscriptions;
    const wanted = this.#unready.has(cluster) && this.#resources.has(clusters.id(cluster));
    if (!wanted || !clusters.held(cluster)) return;
    const ready = !this.#resources.has(endpoints.id(cluster)) ||
      endpoints.names(cluster) && endpoints.held(cluster) !== undefined && !endpoints.owed.has(cluster) &&
        !endpoints.inFlight.has(cluster);
    if (ready) this.#unready.delete(cluster);
  }

  /** Whether a resource has to wait for clusters that it names, directly or by its routes. */
  blocks({ type, needs }: XdsResource, now: number): boolean {
    if (this.#unready.size === 0) return false;
    if (type === "routes") return this.#missed(needs, now);
    if (type !== "listener") return false;
    // A listener comes to life with its routes, which the proxy asks for only then.
    return needs.some((ids) =>
      ids.values().some((id) => {
        const routes = this.#resources.get(id);
        return routes !== undefined && !this.#subscriptions.routes.held(routes.name) &&
          this.#missed(routes.needs, now);
      })
    );
  }

  /** The times at which waits end. */
  *ends(): Generator<number, void> {
    for (const until of this.#unready.values()) if (until !== undefined) yield until;
  }

  #missed(needs: Needs, now: number): boolean {
    let missed = false;
    for (const [name, until] of this.#unready) {
      if (!isNeeded(`cluster:${name}`, needs)) continue;
      // The time runs from when the cluster is first missed, and does not begin anew for others that name it.
      if (until === undefined) this.#unready.set(name, now + this.#patience);
      if (until === undefined || now < until) missed = true;
    }
    return missed;
  }
}
