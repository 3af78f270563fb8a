/**
 * The delta ADS protocol of one stream, as a pure state machine: requests and changes go in, responses come out.
 *
 * Make before break: clusters, then their endpoints, then listeners, then routes, then removals, each of which
 * waits until whatever it rests on is acknowledged. Every wait is bounded, and only those wait who name what is
 * missing.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Changes, ProxyResources } from "../cache.ts";
import { type ResourceType, typeUrls, type XdsResource } from "../types.ts";
import type { DeltaDiscoveryRequest } from "../wire/envoy/discovery.ts";
import { blame, isCutOff } from "./nack.ts";
import { Departures } from "./departures.ts";
import { Readiness } from "./readiness.ts";
import { Subscription, type Subscriptions } from "./subscription.ts";

/** A `DeltaDiscoveryResponse` whose resources are serialized already. */
export interface DeltaResponse {
  readonly type: ResourceType;
  readonly nonce: string;
  readonly resources: readonly XdsResource[];
  /** Names. */
  readonly removed: readonly string[];
}

/** What the proxy says about one resource, or that it has told all of its listeners. */
export type Outcome =
  | { readonly type: "listed" }
  | { readonly type: "acked"; readonly id: ResourceId; readonly version?: string }
  | { readonly type: "nacked"; readonly id: ResourceId; readonly version: string; readonly message: string };

/** How long something waits for something else, in milliseconds. */
export interface Patience {
  /** Route configurations and listeners for a cluster that they name. */
  readonly dependency: number;
  /** The removal of a cluster for route configurations that still name it. */
  readonly removal: number;
  /** An acknowledgement, after which the response counts as lost. */
  readonly acknowledgement: number;
}

export const defaultPatience: Patience = { dependency: 5_000, removal: 30_000, acknowledgement: 30_000 };

/** How many resources go into one response at most. */
const batchSize = 500;

const types = Object.keys(typeUrls) as readonly ResourceType[];
const typeOfUrl = new Map<string, ResourceType>(types.map((type) => [typeUrls[type], type]));

interface Sent extends DeltaResponse {
  readonly at: number;
}

/** One stream of one proxy. Not asynchronous, and without a clock: `now` is in milliseconds. */
export class DeltaStream {
  readonly #resources: ProxyResources;
  readonly #patience: Patience;
  readonly #subscriptions: Subscriptions;
  /** Responses without an answer, oldest first. */
  readonly #sent = new Map<string, Sent>();
  readonly #readiness: Readiness;
  readonly #departures: Departures;
  #nonces = 0;
  #now = 0;

  /** `resources` is live; each change must be told by {@linkcode changed}. */
  constructor(resources: ProxyResources, patience: Patience = defaultPatience) {
    this.#resources = resources;
    this.#patience = patience;
    this.#subscriptions = Object.fromEntries(
      types.map((type) => [type, new Subscription(type, resources)]),
    ) as unknown as Subscriptions;
    this.#readiness = new Readiness(resources, this.#subscriptions, patience.dependency);
    this.#departures = new Departures(
      resources,
      this.#subscriptions,
      (nonce) => this.#sent.get(nonce)?.resources,
      patience.removal,
    );
    this.#note(new Map([...resources.keys()].map((id) => [id, undefined])));
  }

  /** Takes in a request. Unknown types are ignored. */
  receive(request: DeltaDiscoveryRequest): readonly Outcome[] {
    const type = typeOfUrl.get(request.type_url ?? "");
    if (!type) return [];
    const subscription = this.#subscriptions[type], outcomes: Outcome[] = [];
    if (request.response_nonce) this.#answered(request, outcomes);
    const subscribe = request.resource_names_subscribe ?? [];
    const first = !subscription.started;
    if (first) this.#start(subscription, request, outcomes);
    for (const name of subscribe) this.#subscribe(subscription, name, first);
    for (const name of request.resource_names_unsubscribe ?? []) {
      this.#unsubscribe(subscription, name, outcomes);
    }
    if (type === "cluster" || type === "endpoints") {
      for (const outcome of outcomes) {
        if (outcome.type !== "listed") this.#readiness.check(outcome.id.slice(type.length + 1));
      }
      for (const name of subscribe) this.#readiness.check(name);
    }
    if (first && type === "listener") outcomes.push({ type: "listed" });
    return outcomes;
  }

  /** Takes in that resources were added, replaced or removed. */
  changed(changes: Changes): void {
    this.#note(changes);
    for (const id of changes.keys()) {
      const { subscription, name } = this.#find(id);
      subscription.touch(name);
      if (subscription.type === "endpoints") this.#readiness.check(name);
    }
  }

  /** The next response to send, if there is any now. */
  next(now: number): DeltaResponse | undefined {
    this.#now = now;
    this.#expire(now);
    for (const type of types) {
      const response = this.#nextOf(this.#subscriptions[type], now);
      if (response) return response;
    }
    return this.#nextRemoval(now);
  }

  /** When {@linkcode next} may have something to send although nothing else happens. */
  get deadline(): number | undefined {
    const [oldest] = this.#sent.values();
    let deadline = oldest ? oldest.at + this.#patience.acknowledgement : Infinity;
    for (const wait of [this.#readiness, this.#departures]) {
      for (const end of wait.ends()) if (end > this.#now) deadline = Math.min(deadline, end);
    }
    return deadline === Infinity ? undefined : deadline;
  }

  #start(subscription: Subscription, request: DeltaDiscoveryRequest, outcomes: Outcome[]): void {
    subscription.started = true;
    const listed = request.resource_names_subscribe ?? [];
    const { hasAll } = subscription;
    subscription.wildcard = hasAll && listed.length === 0;
    const initial = Object.entries(request.initial_resource_versions ?? {});
    subscription.unanswered = hasAll && initial.length === 0;
    if (subscription.type === "cluster" && initial.length > 0) this.#departures.inherit();
    for (const [name, version] of initial) {
      const id = subscription.id(name), resource = this.#resources.get(id);
      const current = resource?.version === version;
      subscription.hold(name, { version, needs: current ? resource.needs : undefined });
      outcomes.push({ type: "acked", id, version });
      if (!current) subscription.touch(name);
    }
    if (subscription.wildcard) this.#touchAll(subscription);
  }

  #touchAll(subscription: Subscription): void {
    const prefix = `${subscription.type}:`;
    for (const id of this.#resources.keys()) {
      if (id.startsWith(prefix)) subscription.touch(id.slice(prefix.length));
    }
  }

  #subscribe(subscription: Subscription, name: string, first: boolean): void {
    if (name === "*") {
      subscription.wildcard = true;
      return this.#touchAll(subscription);
    }
    subscription.name(name, true);
    // What a proxy brings along on its first request it need not be sent. Later it may have let go of what it had.
    if (!first || !subscription.held(name)) subscription.owed.add(name);
    subscription.touch(name);
  }

  #unsubscribe(subscription: Subscription, name: string, outcomes: Outcome[]): void {
    if (name === "*") {
      subscription.wildcard = false;
    } else if (subscription.wildcard) {
      subscription.name(name, false);
    } else {
      if (subscription.held(name)) outcomes.push({ type: "acked", id: subscription.id(name) });
      subscription.forget(name);
    }
  }

  #answered(request: DeltaDiscoveryRequest, outcomes: Outcome[]): void {
    const nonce = request.response_nonce!, sent = this.#sent.get(nonce);
    if (!sent) return;
    this.#sent.delete(nonce);
    const subscription = this.#subscriptions[sent.type];
    const names = sent.resources.map(({ name }) => name);
    for (const name of [...names, ...sent.removed]) {
      if (subscription.inFlight.get(name)?.nonce === nonce) subscription.inFlight.delete(name);
      subscription.touch(name);
    }
    const message = request.error_detail?.message ?? "";
    const refused = request.error_detail ? blame(sent.type, names, message) : new Map<string, string>();
    for (const resource of sent.resources) {
      const { id, name, version, needs } = resource, complaint = refused?.get(name);
      if (complaint !== undefined) {
        subscription.refused.set(name, version);
        outcomes.push({ type: "nacked", id, version, message: complaint });
      } else if (!refused || refused.size > 0 && isCutOff(message)) {
        // Nobody knows whether it was taken: it is sent again by itself.
        subscription.alone.add(name);
        subscription.owed.add(name);
      } else {
        subscription.refused.delete(name);
        subscription.alone.delete(name);
        // Of a response that it refuses in part Envoy remembers nothing: to the next stream it would not say that it has this one.
        if (refused.size > 0) subscription.owed.add(name);
        // Endpoints may be acknowledged before the proxy asks for them.
        const kept = subscription.wants(name) || sent.type === "endpoints";
        if (kept) subscription.hold(name, { version, needs });
        outcomes.push({ type: "acked", id, version });
      }
    }
    if (!refused) return;
    for (const name of sent.removed) outcomes.push({ type: "acked", id: subscription.id(name) });
  }

  /** Sends what is owed or differs; removals of clusters come last, see {@linkcode #nextRemoval}. */
  #nextOf(subscription: Subscription, now: number): DeltaResponse | undefined {
    if (!subscription.started) return undefined;
    const { type } = subscription;
    const limit = type === "routes" || type === "secret" ? 1 : batchSize;
    const resources: XdsResource[] = [], removed: string[] = [];
    let waits = false;
    for (const name of subscription.dirty) {
      const resource = this.#resources.get(subscription.id(name));
      if (resource) {
        if (!this.#isDue(subscription, resource)) {
          subscription.dirty.delete(name);
        } else if (this.#precedesCluster(resource)) {
          waits = true;
        } else if (this.#readiness.blocks(resource, now)) {
          waits = true;
        } else if (!subscription.alone.has(name)) {
          resources.push(resource);
        } else if (resources.length === 0 && removed.length === 0) {
          return this.#send(subscription, [resource], [], now);
        }
      } else if (!subscription.held(name)) {
        // There is no such thing: saying so ends the proxy's wait for it.
        if (subscription.owed.has(name)) removed.push(name);
        else subscription.dirty.delete(name);
      } else if (type === "listener") {
        removed.push(name);
      } else if (type !== "cluster") {
        subscription.dirty.delete(name); // The proxy lets go of it by itself, together with what names it.
      }
      if (resources.length + removed.length >= limit) break;
    }
    if (resources.length > 0 || removed.length > 0 || subscription.unanswered && !waits) {
      return this.#send(subscription, resources, removed, now);
    }
    return undefined;
  }

  #isDue(subscription: Subscription, { name, version }: XdsResource): boolean {
    if (subscription.owed.has(name)) return true;
    return subscription.wants(name) && subscription.held(name)?.version !== version &&
      subscription.refused.get(name) !== version;
  }

  /** Whether these are endpoints of a cluster that is about to be replaced: the new one has to hear of them after it. */
  #precedesCluster({ type, name }: XdsResource): boolean {
    if (type !== "endpoints") return false;
    const { cluster: clusters } = this.#subscriptions;
    const target = this.#resources.get(clusters.id(name));
    return clusters.started && target !== undefined && clusters.given(name) !== target.version;
  }

  /** Removes clusters that no route configuration of the proxy names any more. */
  #nextRemoval(now: number): DeltaResponse | undefined {
    const removed = this.#departures.due(now, batchSize);
    return removed.length > 0 ? this.#send(this.#subscriptions.cluster, [], removed, now) : undefined;
  }

  #send(
    subscription: Subscription,
    resources: readonly XdsResource[],
    removed: readonly string[],
    now: number,
  ): DeltaResponse {
    const nonce = String(++this.#nonces);
    const response: DeltaResponse = { type: subscription.type, nonce, resources, removed };
    this.#sent.set(nonce, { ...response, at: now });
    subscription.unanswered = false;
    for (const name of removed) {
      subscription.hold(name, undefined); // Should it come back, it is new.
      if (subscription.type === "cluster") this.#readiness.removed(name);
    }
    for (const name of removed) subscription.inFlight.set(name, { nonce });
    for (const { name, version } of resources) subscription.inFlight.set(name, { nonce, version });
    for (const name of [...resources.map(({ name }) => name), ...removed]) {
      subscription.owed.delete(name);
      subscription.dirty.delete(name);
    }
    if (subscription.type === "cluster") {
      const { endpoints } = this.#subscriptions;
      // A cluster that was added or changed does not come to life before it hears of its endpoints, known or not.
      for (const { name } of resources) {
        if (this.#resources.has(endpoints.id(name))) endpoints.owed.add(name);
        endpoints.touch(name);
      }
    }
    return response;
  }

  #note(changes: Changes): void {
    // First of all of them, since whether a cluster is ready depends on its endpoints.
    for (const [id, before] of changes) {
      const { subscription, name } = this.#find(id);
      subscription.changed(name, before);
    }
    for (const [id, before] of changes) {
      const { subscription, name } = this.#find(id);
      if (subscription.type !== "cluster") continue;
      this.#readiness.note(name, before !== undefined);
      this.#departures.note(name);
    }
  }

  #find(id: ResourceId): { readonly subscription: Subscription; readonly name: string } {
    const colon = id.indexOf(":");
    return {
      subscription: this.#subscriptions[id.slice(0, colon) as ResourceType],
      name: id.slice(colon + 1),
    };
  }

  /** Takes responses for lost that were never answered, so that nothing waits for them for ever. */
  #expire(now: number): void {
    for (const [nonce, { type, resources, removed, at }] of this.#sent) {
      if (now < at + this.#patience.acknowledgement) return;
      this.#sent.delete(nonce);
      const subscription = this.#subscriptions[type];
      for (const name of [...resources.map(({ name }) => name), ...removed]) {
        if (subscription.inFlight.get(name)?.nonce !== nonce) continue;
        subscription.inFlight.delete(name);
        subscription.owed.add(name); // Perhaps it has taken it: it is sent whatever there is by now.
        subscription.touch(name);
      }
    }
  }
}
