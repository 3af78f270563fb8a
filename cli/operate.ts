/**
 * The operator, put together: watches, tables, xDS server, effects.
 *
 * @module
 */
import type { ApiObject, Kind } from "../crds/kind.ts";
import { kindOf } from "../crds/mod.ts";
import type { Proxy } from "../controllers/ir/mod.ts";
import { Loop } from "../controllers/loop.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { watchEventLoop } from "../controllers/runtime/event_loop.ts";
import { Graph, type Source, type Table } from "../controllers/runtime/graph.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { Scope } from "../controllers/runtime/scope.ts";
import { finalizerController } from "../controllers/finalizer.ts";
import { statusController } from "../controllers/status.ts";
import {
  type Addresses,
  type Config,
  createSources,
  deriveIr,
  kinds,
  metadataOnly,
  type Sources,
  stamp,
  timeStep,
  type Translation,
  type World,
} from "../controllers/translate/mod.ts";
import { groups } from "../controllers/translate/world.ts";
import { Discovery } from "../kube/discovery.ts";
import { EventRecorder } from "../kube/events.ts";
import type { Kube } from "../kube/types.ts";
import type { WatchHealth } from "../kube/watch.ts";
import { deriveXds, type XdsOptions } from "../xds/build/mod.ts";
import { XdsCache } from "../xds/cache.ts";
import type { XdsServer } from "../xds/grpc/server.ts";
import { tell, tellAbandoned } from "./tell.ts";
import { Ledger } from "../xds/ledger/mod.ts";
import { abortable } from "./abortable.ts";
import { watchDrift } from "./drift.ts";
import { type Effect, effectOf } from "./effect.ts";
import { Introduction } from "./introduction.ts";
import { isKnownToLack, pendingIn } from "./pending.ts";
import type { XdsParts } from "./serve_xds.ts";
import { startWatches, type Watched } from "./watches.ts";

/** Where and how the proxies of Gateways run, as far as the operator has to know. */
export interface Platform {
  readonly proxies: Table<readonly Proxy[]>;
  readonly addresses: Table<Addresses>;
  readonly shortages?: Table<string>;
  /** The proxies that are about to end, by their ids. */
  readonly draining?: Table<true>;
  /** What is to be watched for it, beside the kinds that translation reads. */
  readonly watched?: readonly Watched[];
  /** What it does about what has come of translation. */
  readonly effects?: (translation: Translation) => readonly Effect[];
}

export interface OperateOptions<P extends Platform> {
  /** For reading, and for writing while this replica leads; see {@linkcode Operator.lead}. */
  readonly kube: Kube;
  /** For writing, if that takes another client. */
  readonly writer?: Kube;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Made before translation, of which its tables are inputs. */
  readonly platform: (graph: Graph, sources: Sources) => P;
  /** Starts the xDS server. */
  readonly serveXds: (parts: XdsParts, platform: P) => Promise<XdsServer>;
  /** Who tells of what happens to objects, as Events; nobody does if absent. */
  readonly reporter?: { readonly controller: string; readonly instance: string };
  /** How resources are built for the proxies. */
  readonly xds?: XdsOptions;
  /** Watches nothing but these namespaces; all by default. */
  readonly namespaces?: readonly string[];
  /** The GatewayClasses to take as ours where they may not be read. */
  readonly classes?: readonly string[];
  /** Owns the background work. */
  readonly scope: Scope;
  /** Told after each settle, for effects that follow tables of their own. */
  readonly settled?: (operator: Operator<P>) => void;
}

/** An operator that runs. */
export interface Operator<P extends Platform = Platform> {
  readonly graph: Graph;
  readonly world: World;
  readonly platform: P;
  readonly translation: Translation;
  readonly ledger: Ledger;
  readonly xds: XdsServer;
  readonly loop: Loop;
  readonly metrics: Metrics;
  /** How each watch is doing, by the plural of its kind. */
  readonly watches: ReadonlyMap<string, WatchHealth>;
  /**
   * Writes what is due, until `signal` is aborted: for the one replica that leads. Begins with everything that is due by then,
   * once the first complete configuration is there.
   */
  lead(signal: AbortSignal): Promise<void>;
}

/** How many statuses are written at once: enough that neither we nor the API server wait for each other, who decides on several together. */
const statusWorkers = 32;
/** How many finalizers are added or let go at once. */
const finalizerWorkers = 4;

/** Starts everything; resolves once the xDS server listens and the watches are under way. */
export async function operate<P extends Platform>(options: OperateOptions<P>): Promise<Operator<P>> {
  const { kube, config, clock, log, metrics, scope } = options;
  const graph = new Graph({
    clock,
    onFailure: ({ table, key, error }) => log.error("Cannot derive a row", { table, row: key, error }),
  });
  const sources = createSources(graph), platform = options.platform(graph, sources);
  const { proxies, addresses, draining, shortages } = platform;
  const world: World = { ...sources, proxies, addresses, ...shortages && { shortages } };
  const translation = deriveIr(graph, world, config);
  const resources = deriveXds(graph, translation.ir, options.xds);
  metrics.watchTables(graph);

  const cache = new XdsCache(() => loop.current()), xdsMetrics = metrics.xds;
  const ledger = new Ledger({
    contributions: translation.ir.contributions,
    resources,
    proxies: world.proxies,
    verdicts: world.verdicts,
    rejections: world.rejections,
    clock,
    settling: () => graph.settling,
    wake: () => loop.changed(),
    metrics: xdsMetrics,
    leading: false,
  });
  scope.signal.addEventListener("abort", () => ledger[Symbol.dispose](), { once: true });

  const drift = watchDrift({
    metrics,
    verdicts: world.verdicts,
    proxies: world.proxies,
    report: (gateway) => ledger.report(gateway),
    leading: () => ledger.leading,
    clock,
  });

  const watched: readonly Watched[] = [
    ...kinds.map((name) => ({
      kind: kindNamed(name),
      source: world.objects[name] as unknown as Source<ApiObject>,
      metadataOnly: metadataOnly.has(name),
    })),
    ...platform.watched ?? [],
  ];
  const discovery = new Discovery(kube, watched.map(({ kind }) => kind), { clock, log });
  const writer = options.writer ?? kube;
  const recorder = options.reporter && new EventRecorder(writer, { ...options.reporter, clock, log });
  const writing = {
    kube: writer,
    kindOf: (name: string) => kindNamed(name),
    versionOf: (kind: Kind) => discovery.versionOf(kind),
    clock,
    log,
  };
  const status = statusController({
    ...writing,
    due: translation.due,
    stamp,
    counted: (kind, result) => metrics.statusWrites.inc({ kind, result }),
    ...recorder && { told: (regarding, transitions) => tell(recorder, regarding, transitions) },
  });
  if (recorder) metrics.beforeScrape(() => metrics.droppedEvents.set(recorder.dropped));
  const finalizers = finalizerController({
    ...writing,
    due: translation.finalizers,
    ...recorder && { abandoned: (due) => tellAbandoned(recorder, due, kindNamed(due.kind)) },
  });
  const observed = { world, translation };
  const introduction = new Introduction({
    clock,
    pending: () => !pendingIn(observed, (gateway) => isKnownToLack(observed, gateway)).next().done,
  });
  const effects: readonly Effect[] = [
    effectOf(status, {
      concurrency: statusWorkers,
      after: (signal) => introduction.over(signal),
      clock,
      log,
      metrics,
    }),
    effectOf(finalizers, { concurrency: finalizerWorkers, clock, log, metrics }),
    ...platform.effects?.(translation) ?? [],
  ];

  const loop: Loop = new Loop({
    graph,
    clock,
    log,
    *settled(settlement) {
      metrics.settled(settlement);
      if (!settlement.changed) return void (yield* ledger.resume());
      yield* ledger.settled();
      // In one go: a proxy is sent all of it or nothing.
      cache.update(resources);
      if (draining?.changed.size) cache.drain(new Set([...draining.entries()].map(([proxy]) => proxy)));
      yield;
      drift();
      for (const effect of effects) {
        effect.settled();
        yield;
      }
      introduction.settled();
      options.settled?.(operator);
    },
  });
  scope.signal.addEventListener("abort", () => loop[Symbol.dispose](), { once: true });

  const xds = await options.serveXds({
    cache,
    onEvent: (event) => ledger.observe(event),
    metrics: xdsMetrics,
    clock,
    log,
    signal: scope.signal,
  }, platform);

  // Before the first answer, a kind that is not known yet would look like one that is not there.
  const discovered = Promise.withResolvers<void>();
  scope.spawn("discovery", async (signal) => {
    await discovery.start(signal);
    discovered.resolve();
    await discovery.run(signal);
  });
  const watches = startWatches(watched, {
    kube,
    discovery,
    discovered: (signal) => abortable(discovered.promise, signal),
    ...options.namespaces && {
      confined: {
        namespaces: options.namespaces,
        classes: options.classes ?? [],
        controllerName: config.controllerName,
      },
    },
    loop,
    clock,
    log,
    metrics,
    scope,
  });
  scope.spawn("time", async (signal) => {
    while (true) {
      world.time.set("now", clock.now().getTime());
      loop.changed();
      await clock.sleep(timeStep, { signal });
    }
  });
  scope.spawn("event loop", (signal) =>
    watchEventLoop({
      clock,
      signal,
      observe: (lag) => metrics.eventLoopLag.observe(lag / 1000),
    }));
  const operator: Operator<P> = {
    graph,
    world,
    platform,
    translation,
    ledger,
    xds,
    loop,
    metrics,
    watches,
    async lead(signal) {
      await abortable(loop.ready, signal);
      ledger.lead(true);
      try {
        // What is due follows from that.
        loop.changed();
        await abortable(loop.next, signal);
        await using term = new Scope(signal);
        for (const effect of effects) term.spawn(effect.name, (signal) => effect.run(signal));
        if (recorder) term.spawn("events", (signal) => recorder.run(signal));
        await term.join();
      } finally {
        ledger.lead(false);
      }
    },
  };
  return operator;
}

function kindNamed(name: string): Kind {
  const kind = kindOf(groups[name as keyof typeof groups], name);
  if (!kind) throw new Error(`Cannot find kind "${name}"`);
  return kind;
}
