/**
 * An Envoy reduced to how it takes configuration: delta ADS, warming, subscriptions that follow what was accepted.
 *
 * It notes whatever would have cost requests, so that a test of the server does not need to look at orders of messages.
 *
 * @module
 */
import type { ResourceId } from "../../../controllers/ir/mod.ts";
import { packResource } from "../../../xds/build/pack.ts";
import type { DeltaResponse } from "../../../xds/delta/stream.ts";
import { isNeeded, type ResourceType, typeUrls, type XdsResource } from "../../../xds/types.ts";
import type { DeltaDiscoveryRequest } from "../../../xds/wire/envoy/discovery.ts";

/** Makes a resource without content: its version stands for that. */
export function resource(
  id: ResourceId,
  version: string,
  needs: readonly ResourceId[] = [],
): XdsResource {
  const colon = id.indexOf(":");
  return {
    gateway: "default/gw",
    id,
    type: id.slice(0, colon) as ResourceType,
    name: id.slice(colon + 1),
    version,
    bytes: packResource(id.slice(0, colon) as ResourceType, id.slice(colon + 1), version, []),
    needs: [new Set(needs)],
  };
}

export function request(
  type: ResourceType,
  others: Omit<DeltaDiscoveryRequest, "type_url" | "node"> = {},
): DeltaDiscoveryRequest {
  return { type_url: typeUrls[type], node: { id: "proxy", cluster: "default/gw" }, ...others };
}

/** Acknowledges a response. */
export function ack({ type, nonce }: DeltaResponse): DeltaDiscoveryRequest {
  return request(type, { response_nonce: nonce });
}

/** Refuses a response. */
export function nack({ type, nonce }: DeltaResponse, message: string): DeltaDiscoveryRequest {
  return request(type, { response_nonce: nonce, error_detail: { code: 13, message } });
}

type Versions = ReadonlyMap<string, string>;

export class FakeEnvoy {
  /** Requests on their way to the server. */
  readonly outbox: DeltaDiscoveryRequest[] = [];
  /** What would have cost requests. */
  readonly harm: string[] = [];
  readonly #held = new Map<ResourceType, Map<string, XdsResource>>();
  /** What it will say to the next stream that it has: nothing of a response that it has refused in part. */
  readonly #remembered = new Map<ResourceType, Map<string, string>>();
  readonly #names = new Map<ResourceType, Set<string>>();
  /** The versions in which clusters serve: a new one only once it has heard of its endpoints. */
  readonly active = new Map<string, string>();
  readonly #warming = new Map<string, string>();
  readonly #refuses: (resource: XdsResource) => boolean;

  constructor(refuses: (resource: XdsResource) => boolean = () => false) {
    this.#refuses = refuses;
  }

  held(type: ResourceType): ReadonlyMap<string, XdsResource> {
    return this.#of(type);
  }

  versions(type: ResourceType): Versions {
    return new Map([...this.#of(type)].map(([name, { version }]) => [name, version]));
  }

  /** Opens a stream: asks for everything, and says what it has. */
  connect(): void {
    this.outbox.length = 0;
    for (const type of ["cluster", "endpoints", "listener", "routes"] as const) {
      const names = [...this.#namesOf(type)];
      const wildcard = type === "cluster" || type === "listener";
      if (!wildcard && names.length === 0) continue;
      this.outbox.push(request(type, {
        ...(wildcard ? {} : { resource_names_subscribe: names }),
        initial_resource_versions: Object.fromEntries(
          [...this.#rememberedOf(type)].filter(([name]) => this.#of(type).has(name)),
        ),
      }));
    }
  }

  /** Takes in a response and answers it. */
  receive(response: DeltaResponse): void {
    const { type, resources, removed } = response;
    const refused: XdsResource[] = [];
    const subscribe = new Map<ResourceType, string[]>(), unsubscribe = new Map<ResourceType, string[]>();
    const note = (to: Map<ResourceType, string[]>, of: ResourceType, name: string) =>
      to.set(of, [...to.get(of) ?? [], name]);
    for (const one of resources) {
      if (this.#refuses(one)) {
        refused.push(one);
        continue;
      }
      const { name } = one;
      if (type === "cluster") {
        this.#warming.set(name, one.version);
        if (!this.#namesOf("endpoints").has(name)) {
          this.#namesOf("endpoints").add(name);
          note(subscribe, "endpoints", name);
        }
      } else if (type === "endpoints") {
        if (!this.#namesOf("endpoints").has(name)) continue; // Nobody asked for it.
        const warmed = this.#warming.get(name);
        if (warmed !== undefined) this.active.set(name, warmed);
        this.#warming.delete(name);
      } else if (type === "listener") {
        for (const id of one.needs.flatMap((ids) => [...ids])) {
          const routes = id.slice("routes:".length);
          if (this.#namesOf("routes").has(routes)) continue;
          this.#namesOf("routes").add(routes);
          note(subscribe, "routes", routes);
        }
      } else if (type === "routes") {
        if (!this.#namesOf("routes").has(name)) continue;
        for (const id of one.needs.flatMap((ids) => [...ids])) {
          const cluster = id.slice("cluster:".length);
          if (!this.active.has(cluster)) {
            this.harm.push(`routes ${name} name ${cluster}, which is not there`);
          }
        }
      }
      this.#of(type).set(name, one);
    }
    for (const name of removed) {
      this.#of(type).delete(name);
      if (type === "cluster") {
        this.#warming.delete(name);
        this.active.delete(name);
        this.#of("endpoints").delete(name);
        if (this.#namesOf("endpoints").delete(name)) note(unsubscribe, "endpoints", name);
        for (const [routes, { needs }] of this.#of("routes")) {
          if (isNeeded(`cluster:${name}`, needs)) this.harm.push(`routes ${routes} have lost ${name}`);
        }
      }
      if (type === "listener") {
        this.#of("routes").delete(name);
        if (this.#namesOf("routes").delete(name)) note(unsubscribe, "routes", name);
      }
    }
    const remembered = this.#rememberedOf(type);
    if (refused.length === 0) { for (const { name, version } of resources) remembered.set(name, version); }
    for (const name of removed) remembered.delete(name);
    this.outbox.push(
      refused.length > 0
        ? nack(
          response,
          `Error adding/updating ${type}(s) ${refused.map(({ name }) => `${name}: bad`).join(", ")}`,
        )
        : ack(response),
    );
    for (const [of, names] of subscribe) {
      this.outbox.push(request(of, { resource_names_subscribe: names }));
    }
    for (const [of, names] of unsubscribe) {
      this.outbox.push(request(of, { resource_names_unsubscribe: names }));
    }
  }

  #of(type: ResourceType): Map<string, XdsResource> {
    let held = this.#held.get(type);
    if (!held) this.#held.set(type, held = new Map());
    return held;
  }

  #rememberedOf(type: ResourceType): Map<string, string> {
    let versions = this.#remembered.get(type);
    if (!versions) this.#remembered.set(type, versions = new Map());
    return versions;
  }

  #namesOf(type: ResourceType): Set<string> {
    let names = this.#names.get(type);
    if (!names) this.#names.set(type, names = new Set());
    return names;
  }
}
