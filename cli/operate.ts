/**
 * The operator, put together: watches, tables, xDS server, effects.
 *
 * @module
 */
import type { ApiObject, Kind } from "../crds/kind.ts";
import { kindOf } from "../crds/mod.ts";
import { type Controller, enqueue, worker } from "../controllers/controller.ts";
import { Loop } from "../controllers/loop.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { watchEventLoop } from "../controllers/runtime/event_loop.ts";
import { Graph, type Source } from "../controllers/runtime/graph.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { Queue } from "../controllers/runtime/queue.ts";
import type { Scope } from "../controllers/runtime/scope.ts";
import { statusController, type StatusPatch } from "../controllers/status.ts";
import {
  type Config,
  createWorld,
  deriveIr,
  kinds,
  stamp,
  type Translation,
  type World,
} from "../controllers/translate/mod.ts";
import type { Kube } from "../kube/types.ts";
import { Discovery } from "../kube/discovery.ts";
import { watch, type WatchHealth } from "../kube/watch.ts";
import { deriveXds, type XdsOptions } from "../xds/build/mod.ts";
import { XdsCache } from "../xds/cache.ts";
import type { XdsServer } from "../xds/grpc/server.ts";
import { Ledger } from "../xds/ledger/mod.ts";
import { watchDrift } from "./drift.ts";
import { pendingIn } from "./pending.ts";
import { serveXds, type XdsAddress } from "./serve_xds.ts";

export interface OperateOptions {
  readonly kube: Kube;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly xds: XdsAddress;
  /** How listeners are built. */
  readonly listeners?: XdsOptions;
  /** Owns the background work. */
  readonly scope: Scope;
  /** Told after each settle, for effects that follow tables of their own. */
  readonly settled?: (operator: Operator) => void;
}

/** An operator that runs. */
export interface Operator {
  readonly graph: Graph;
  readonly world: World;
  readonly translation: Translation;
  readonly ledger: Ledger;
  readonly xds: XdsServer;
  readonly loop: Loop;
  readonly metrics: Metrics;
  /** How the watch of each kind is doing. */
  readonly watches: ReadonlyMap<string, WatchHealth>;
}

/** How many statuses are written at once. */
const statusWorkers = 16;

/**
 * How long the first statuses wait for the proxies, in milliseconds. After a restart they say what they have had all along; until
 * then it would look as if they had nothing.
 */
const introduction = 5_000;

/** How often what expires is looked at, in milliseconds. */
const timeStep = 60_000;

/** Starts everything; resolves once the xDS server listens and the watches are under way. */
export async function operate(options: OperateOptions): Promise<Operator> {
  const { kube, config, clock, log, metrics, scope } = options;
  const graph = new Graph({
    clock,
    onFailure: ({ table, key, error }) => log.error("Cannot derive a row", { table, row: key, error }),
  });
  const world = createWorld(graph);
  const translation = deriveIr(graph, world, config);
  const resources = deriveXds(graph, translation.ir, options.listeners);
  metrics.watchTables(graph);

  const cache = new XdsCache(), xdsMetrics = metrics.xds;
  const ledger = new Ledger({
    contributions: translation.ir.contributions,
    resources,
    proxies: world.proxies,
    verdicts: world.verdicts,
    rejections: world.rejections,
    clock,
    wake: () => loop.changed(),
    metrics: xdsMetrics,
  });
  scope.signal.addEventListener("abort", () => ledger[Symbol.dispose](), { once: true });

  const drift = watchDrift({
    metrics,
    verdicts: world.verdicts,
    proxies: world.proxies,
    report: (gateway) => ledger.report(gateway),
    clock,
  });

  const discovery = new Discovery(kube, kinds.map(kindNamed), { clock, log });
  const status = statusController({
    due: translation.due,
    kube,
    kindOf: (name) => kindNamed(name),
    versionOf: (kind) => discovery.versionOf(kind),
    stamp,
    clock,
  });
  const introduced = Promise.withResolvers<void>();
  const controllers: readonly [Controller<StatusPatch>, Queue][] = [
    [status, startQueue(status, { concurrency: statusWorkers, after: introduced.promise }, options)],
  ];

  let waiting: Disposable | undefined, introducing = true;
  const endWaiting = () => {
    introducing = false;
    waiting?.[Symbol.dispose]();
    introduced.resolve();
  };
  const awaitProxies = () => {
    if (!introducing) return;
    waiting ??= clock.timer(introduction, endWaiting);
    if (pendingIn({ world, translation }).next().done) endWaiting();
  };
  scope.signal.addEventListener("abort", endWaiting, { once: true });

  const loop: Loop = new Loop({
    graph,
    clock,
    log,
    settled: (settlement) => {
      metrics.settled(settlement);
      if (!settlement.changed) return;
      cache.update(resources);
      ledger.settled();
      drift();
      for (const [controller, queue] of controllers) enqueue(controller, queue);
      awaitProxies();
      options.settled?.(operator);
    },
  });
  scope.signal.addEventListener("abort", () => loop[Symbol.dispose](), { once: true });

  const xds = await serveXds(options.xds, {
    cache,
    onEvent: (event) => ledger.observe(event),
    metrics: xdsMetrics,
    clock,
    log,
    signal: scope.signal,
  });
  const watches = new Map<string, WatchHealth>();
  const operator: Operator = { graph, world, translation, ledger, xds, loop, metrics, watches };

  // Before the first answer, a kind that is not known yet would look like one that is not there.
  const discovered = Promise.withResolvers<void>();
  scope.spawn("discovery", async (signal) => {
    await discovery.start(signal);
    discovered.resolve();
    await discovery.run(signal);
  });
  for (const name of kinds) loop.await(kindNamed(name).plural);
  for (const name of kinds) {
    const kind = kindNamed(name), source = world.objects[name] as unknown as Source<ApiObject>;
    scope.spawn(`watch of ${kind.plural}`, async (signal) => {
      const health = (health: WatchHealth) => {
        watches.set(kind.plural, health);
        metrics.watchState(name, health.state);
      };
      await abortable(discovered.promise, signal);
      const events = watch(kube, kind, {
        clock,
        log,
        health,
        version: () => discovery.versionOf(kind),
        installed: (signal) => discovery.changed(signal),
        signal,
      });
      await loop.follow(
        kind,
        counted(events, (type) => metrics.watchEvents.inc({ kind: name, type })),
        source,
      );
    });
  }
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
  return operator;
}

/** Rejects with the signal's reason if it is aborted first. */
async function abortable(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>(), stop = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
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

function startQueue<D>(
  controller: Controller<D>,
  { concurrency, after }: { readonly concurrency: number; readonly after: Promise<void> },
  { clock, log, metrics, scope }: OperateOptions,
): Queue {
  const { name } = controller, observer = metrics.queueObserver(name, concurrency);
  const queue = new Queue({ name, clock, log, observer });
  scope.spawn(name, async (signal) => {
    await abortable(after, signal);
    await queue.run(worker(controller, log), { concurrency, signal });
  });
  return queue;
}

const groups: { readonly [kind: string]: string } = {
  Namespace: "",
  Service: "",
  Secret: "",
  ConfigMap: "",
  EndpointSlice: "discovery.k8s.io",
};

function kindNamed(name: string): Kind {
  const kind = kindOf(groups[name] ?? "gateway.networking.k8s.io", name);
  if (!kind) throw new Error(`Cannot find kind "${name}"`);
  return kind;
}
