/**
 * The watches of an operator: one of each kind, or one for each namespace that it is confined to.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Kind } from "../crds/kind.ts";
import { customResourceDefinition } from "../crds/mod.ts";
import type { Loop } from "../controllers/loop.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Source } from "../controllers/runtime/graph.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import type { Scope } from "../controllers/runtime/scope.ts";
import type { Discovery } from "../kube/discovery.ts";
import type { Kube } from "../kube/types.ts";
import { watch, type WatchHealth } from "../kube/watch.ts";

/** A kind that is watched, and the table that it fills. */
export interface Watched {
  readonly kind: Kind;
  readonly source: Source<ApiObject>;
  /** Only these. */
  readonly labelSelector?: string;
  /** Only this one, wherever the operator is confined to. */
  readonly object?: { readonly namespace: string; readonly name: string };
  /** Only what their metadata says. Nobody waits for it: where it may not be read, all goes on without. */
  readonly metadataOnly?: boolean;
}

/** What an operator looks at that is not to see the whole cluster. */
export interface Confinement {
  readonly namespaces: readonly string[];
  /** Where GatewayClasses may not be read, these are taken to be there, and of that controller. */
  readonly classes: readonly string[];
  readonly controllerName: string;
}

/** How long until it is asked again for what nobody expects to be allowed, in milliseconds. */
const rarely = 600_000;

export interface WatchesOptions {
  readonly kube: Kube;
  readonly discovery: Discovery;
  /** Resolves once it is known which kinds are served. */
  readonly discovered: (signal: AbortSignal) => Promise<void>;
  /** Watches nothing but some namespaces, and what has none as far as that is allowed. */
  readonly confined?: Confinement;
  readonly loop: Loop;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "watchState" | "watchEvents">;
  /** Owns the watches. */
  readonly scope: Scope;
}

/** Starts the watches. The loop awaits the first list of each. The result is how each is doing, by the plural of its kind. */
export function startWatches(
  watched: readonly Watched[],
  options: WatchesOptions,
): ReadonlyMap<string, WatchHealth> {
  const { loop, log, confined: confinement } = options, namespaces = confinement?.namespaces;
  const health = new Map<string, WatchHealth>();
  for (const one of watched) {
    const { kind, source, metadataOnly = false } = one, { plural } = kind;
    const confined = one.object !== undefined || namespaces !== undefined && kind.namespaced;
    // What may be denied to an operator that is confined to some namespaces.
    const beyond = confined ? undefined : confinement;
    const places = one.object ? [one.object.namespace] : confined ? namespaces! : [undefined];
    const name = (namespace: string | undefined) =>
      one.object
        ? `${plural}/${one.object.name}`
        : namespace === undefined
        ? plural
        : `${plural} in ${namespace}`;
    for (const namespace of places) loop.await(name(namespace));
    for (const namespace of places) {
      const tell = (state: WatchHealth) => {
        health.set(name(namespace), state);
        const all = places.map((place) => health.get(name(place))?.state ?? "watching");
        const label = one.object ? name(namespace) : kind.kind;
        const assuming = state.state === "denied" ? beyond : undefined;
        // Nothing is wrong with that, either.
        const told = assuming ? "absent" : all.find((state) => state !== "watching") ?? "watching";
        options.metrics.watchState(label, told);
        if (metadataOnly && state.state !== "watching") loop.arrived(name(namespace));
        if (!assuming) return;
        log.info("Going on with what is assumed, as this operator is confined to some namespaces", {
          kind: kind.kind,
        });
        source.replace(assumed(kind, assuming).map((object) => [object.metadata.name, object]));
        loop.arrived(plural);
      };
      options.scope.spawn(`watch of ${name(namespace)}`, async (signal) => {
        await options.discovered(signal);
        const denied = beyond && rarely;
        await follow(one, { ...options, name: name(namespace), namespace, denied, tell, signal });
      });
    }
  }
  return health;
}

/**
 * What an operator takes to be there that may not see what has no namespace: its namespaces, and the classes that it is told of.
 * Without a version, nothing is written to them.
 */
function assumed(kind: Kind, { namespaces, classes, controllerName }: Confinement): readonly ApiObject[] {
  const named = (name: string, more: object) => ({
    apiVersion: apiVersion(kind),
    kind: kind.kind,
    ...more,
    metadata: { name },
  });
  if (kind.kind === "Namespace") {
    return namespaces.map((name) => ({
      ...named(name, {}),
      metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
    }));
  }
  return kind.kind === "GatewayClass" ? classes.map((name) => named(name, { spec: { controllerName } })) : [];
}

interface FollowOptions extends WatchesOptions {
  readonly name: string;
  readonly denied: number | undefined;
  readonly namespace: string | undefined;
  readonly tell: (health: WatchHealth) => void;
  readonly signal: AbortSignal;
}

async function follow(
  { kind, source, object, labelSelector, metadataOnly }: Watched,
  options: FollowOptions,
): Promise<void> {
  const { kube, discovery, loop, clock, log, metrics, name, namespace, denied, tell, signal } = options;
  const events = watch(kube, kind, {
    clock,
    log,
    health: tell,
    version: () => discovery.versionOf(kind),
    installed: (signal) => discovery.changed(signal),
    doubted: () => discovery.poke(),
    namespace,
    labelSelector,
    fieldSelector: object && `metadata.name=${object.name}`,
    metadataOnly,
    denied,
    signal,
  });
  await loop.follow(
    name,
    counted(events, (type) => {
      metrics.watchEvents.inc({ kind: kind.kind, type });
      // With a definition kinds come and go.
      if (kind === customResourceDefinition) discovery.poke();
    }),
    namespace === undefined ? source : shareOf(source),
  );
}

/** The part of a table that one of several watches fills: a list of it leaves the rows of the others alone. */
function shareOf(source: Source<ApiObject>): Pick<Source<ApiObject>, "set" | "delete" | "replace"> {
  const own = new Set<string>();
  return {
    set(key, object) {
      own.add(key);
      source.set(key, object);
    },
    delete(key) {
      own.delete(key);
      source.delete(key);
    },
    replace(all) {
      const rows = new Map(all);
      for (const key of own) if (!rows.has(key)) this.delete(key);
      for (const [key, object] of rows) this.set(key, object);
    },
  };
}

async function* counted<E extends { readonly type: string }>(
  events: AsyncIterable<E>,
  count: (type: string) => void,
): AsyncGenerator<E> {
  for await (const event of events) {
    count(event.type);
    yield event;
  }
}
