/**
 * Everything around a ledger, made up: contributions that become resources, and proxies that take or refuse them.
 *
 * @module
 */
import type {
  Contribution,
  Piece,
  Proxy,
  Rejection,
  ResourceId,
  Verdict,
} from "../../../controllers/ir/mod.ts";
import { equal } from "../../../controllers/runtime/equal.ts";
import { Graph } from "../../../controllers/runtime/graph.ts";
import { Ledger } from "../../../xds/ledger/mod.ts";
import { noMetrics } from "../../../xds/metrics.ts";
import { type ProxyEvent, resourceKey, splitResourceKey, type XdsResource } from "../../../xds/types.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { resource } from "./fake_envoy.ts";

export const gateway = "default/gw";

/** A piece. Proxies refuse a content that begins with `bad`. */
export function piece(id: string, content: string, ...resources: readonly ResourceId[]): Piece {
  return { id, content, resources: resources.length > 0 ? resources : ["routes:r"] };
}

export class LedgerWorld {
  readonly clock = new FakeClock();
  readonly graph = new Graph({ freeze: true });
  readonly contributions = this.graph.source<Contribution>("contributions");
  readonly proxies = this.graph.source<readonly Proxy[]>("proxies");
  readonly verdicts = this.graph.source<Verdict>("verdicts");
  readonly rejections = this.graph.source<Rejection>("rejections");
  /** A resource's version lists what it carries: `["a","b"]`. */
  readonly resources = this.#derive();
  readonly ledger: Ledger;
  wakes = 0;
  settles = 0;
  /** What happens between two steps of a settle or of its hand-over, when no proxy has been sent what changed. */
  between: () => void = () => {};
  #handing = false;
  /** The versions that proxies may have been sent. */
  readonly #sent = new Map<ResourceId, string>();
  /** How old versions were when they were acknowledged, as far as that counts, in milliseconds. */
  readonly ages: number[] = [];

  constructor({ leading = true }: { readonly leading?: boolean } = {}) {
    this.ledger = new Ledger({
      contributions: this.contributions,
      resources: this.resources,
      proxies: this.proxies,
      verdicts: this.verdicts,
      rejections: this.rejections,
      settling: () => this.graph.settling,
      clock: this.clock,
      wake: () => this.wakes++,
      metrics: { ...noMetrics, acked: (_id, milliseconds) => void this.ages.push(milliseconds) },
      leading,
    });
  }

  #derive() {
    const byResource = this.graph.index(
      "by resource",
      this.contributions,
      ({ gateway, pieces }) => [
        ...new Set(pieces.flatMap(({ resources }) => resources.map((id) => resourceKey(gateway, id)))),
      ],
    );
    return this.graph.derive("resources", byResource, (group, read, key): XdsResource => {
      const { gateway, id } = splitResourceKey(key);
      const carried = [...group.values()].flatMap(({ pieces }) =>
        // As in the real thing, a listener names its routes but cannot spoil them.
        pieces.filter(({ resources }) =>
          resources.includes(id) &&
          (id.startsWith("listener:") || !resources.some((other) => other.startsWith("listener:")))
        ).map((piece) => {
          const rejection = read(this.rejections, `${gateway}|${piece.id}`);
          return rejection && equal(rejection.content, piece.content) ? "" : piece.content as string;
        })
      );
      return { ...resource(id, JSON.stringify(carried)), gateway };
    });
  }

  settle(): void {
    do {
      this.#handing = true;
      while (!this.graph.settle(() => true)) this.between();
      for (const _ of this.ledger.settled()) this.between();
      this.#handing = false;
      this.#sent.clear();
      for (const [, { id, version }] of this.resources.entries()) this.#sent.set(id, version);
      this.settles++;
    } while (this.graph.pending);
  }

  expect(...ids: readonly string[]): void {
    this.proxies.set(gateway, ids.map((id) => ({ id })));
  }

  /** Sets what an object contributes; without pieces, one by its name. */
  contribute(origin: string, generation: number, ...pieces: readonly Piece[]): void {
    this.contributions.set(`${gateway}|${origin}`, { gateway, origin, generation, pieces });
  }

  /** The Gateway goes away: all of its contributions do, and one says so. */
  takeDown(origin: string, generation: number): void {
    for (const [key] of [...this.contributions.entries()]) this.contributions.delete(key);
    this.contributions.set(`${gateway}|${origin}`, {
      gateway,
      origin,
      generation,
      pieces: [],
      removal: true,
    });
  }

  withdraw(origin: string): void {
    this.contributions.delete(`${gateway}|${origin}`);
  }

  /** `STATE GENERATION MESSAGE` of an object. */
  verdict(origin: string): string | undefined {
    const verdict = this.verdicts.get(`${gateway}|${origin}`);
    return verdict && `${verdict.state} ${verdict.generation} ${verdict.message}`.trim();
  }

  /** The pieces that are kept from the proxies, with the reason. */
  kept(): { readonly [piece: string]: string | undefined } {
    return Object.fromEntries(
      [...this.rejections.entries()].map((
        [key, { message }],
      ) => [splitResourceKey(key).id as string, message])
        .sort(),
    );
  }

  /** The version of a resource that a proxy can be sent now. */
  version(id: ResourceId): string | undefined {
    return this.#handing ? this.#sent.get(id) : this.resources.get(resourceKey(gateway, id))?.version;
  }

  observe(event: ProxyEvent): void {
    this.ledger.observe(event);
    if (this.graph.pending && !this.#handing) this.settle();
  }
}

/** A proxy that takes what it is given when told to. */
export class SimProxy {
  readonly acked = new Map<ResourceId, string>();
  readonly refused = new Map<ResourceId, string>();
  readonly #world: LedgerWorld;
  connected = false;
  /** It answers for nothing before it has said what it has. */
  #arriving = false;
  /** How often it has answered. */
  answers = 0;
  software = "envoy 1.40.0";
  /** What it has nothing against, although it is bad. */
  tolerates: string | undefined;
  /** Whose content its complaints quote. */
  quotes: "culprit" | "nobody" | "anybody" = "culprit";

  constructor(world: LedgerWorld, readonly id: string) {
    this.#world = world;
  }

  connect(): this {
    this.connected = true;
    this.#arriving = true;
    this.refused.clear();
    this.#say({ type: "connected", software: this.software });
    // What it has counts as acknowledged, as by `initial_resource_versions`.
    for (const [id, version] of [...this.acked]) {
      if (this.connected) this.#say({ type: "acked", id, version });
    }
    if (this.connected) this.#say({ type: "listed" });
    this.#arriving = false;
    return this;
  }

  disconnect(): void {
    this.connected = false;
    this.#say({ type: "disconnected" });
  }

  /** Begins anew, with nothing. */
  restart(): void {
    if (this.connected) this.disconnect();
    this.acked.clear();
    this.connect();
  }

  /** Takes the current version of a resource, if there is anything new about it. Returns whether there was. */
  take(id: ResourceId): boolean {
    const version = this.#current(id);
    if (
      !this.connected || this.#arriving || version === this.acked.get(id) ||
      version !== undefined && version === this.refused.get(id)
    ) {
      return false;
    }
    this.answer(id, version);
    return true;
  }

  /** Answers for a version of a resource, be it still the current one or not. */
  answer(id: ResourceId, version: string | undefined): void {
    this.answers++;
    if (version === undefined) {
      this.acked.delete(id);
      this.#say({ type: "acked", id });
      return;
    }
    const contents = JSON.parse(version) as string[];
    const bad = contents.find((content) => content.startsWith("bad") && content !== this.tolerates);
    if (bad !== undefined) {
      this.refused.set(id, version);
      const quoted = {
        culprit: bad,
        nobody: "way",
        anybody: contents.find((content) => content !== ""),
      }[this.quotes];
      this.#say({ type: "nacked", id, version, message: `no ${quoted}` });
    } else {
      this.acked.set(id, version);
      this.refused.delete(id);
      this.#say({ type: "acked", id, version });
    }
  }

  /** Takes everything until there is nothing new. */
  takeAll(): void {
    for (let again = true; again;) {
      const ids = new Set([
        ...this.acked.keys(),
        ...[...this.#world.resources.entries()].map(([, { id }]) => id),
      ]);
      again = [...ids].sort().map((id) => this.take(id)).includes(true);
    }
  }

  #current(id: ResourceId): string | undefined {
    return this.#world.version(id);
  }

  #say(event: DistributiveOmit<ProxyEvent, "proxy" | "gateway">): void {
    this.#world.observe({ ...event, proxy: this.id, gateway } as ProxyEvent);
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
