/**
 * The part of the operator that makes infrastructure, against an API server: watches, tables, the one effect.
 *
 * @module
 */
import type { ApiObject, Kind } from "../../../crds/kind.ts";
import {
  configMap,
  type EnvoyFleetSpec,
  gateway,
  gatewayClass,
  namespace,
  service,
} from "../../../crds/mod.ts";
import { enqueue, enqueueAll, worker } from "../../../controllers/controller.ts";
import { infrastructureController } from "../../../controllers/infra.ts";
import { clusterKinds, type ProxyInput, type ProxyStart } from "../../../controllers/infrastructure/mod.ts";
import { Loop } from "../../../controllers/loop.ts";
import { systemClock as clock } from "../../../controllers/runtime/clock.ts";
import type { Source } from "../../../controllers/runtime/graph.ts";
import { silentLog } from "../../../controllers/runtime/log.ts";
import { Queue } from "../../../controllers/runtime/queue.ts";
import { Scope } from "../../../controllers/runtime/scope.ts";
import type { Refusal } from "../../../controllers/translate/mod.ts";
import type { Kube } from "../../../kube/types.ts";
import { watch } from "../../../kube/watch.ts";
import { infrastructure, type Rig } from "../../infrastructure/support.ts";

/** An Envoy that has its configuration with it, and says that it is ready. */
function startForReal({ configuration, readiness }: ProxyInput): ProxyStart {
  const type = "type.googleapis.com/envoy.extensions.filters";
  const configurationOf = {
    static_resources: {
      listeners: [{
        address: { socket_address: { address: "0.0.0.0", port_value: readiness } },
        filter_chains: [{
          filters: [{
            name: "envoy.filters.network.http_connection_manager",
            typed_config: {
              "@type": `${type}.network.http_connection_manager.v3.HttpConnectionManager`,
              stat_prefix: "ready",
              route_config: {
                virtual_hosts: [{
                  name: "ready",
                  domains: ["*"],
                  routes: [{ match: { path: "/ready" }, direct_response: { status: 200 } }],
                }],
              },
              http_filters: [{
                name: "envoy.filters.http.router",
                typed_config: { "@type": `${type}.http.router.v3.Router` },
              }],
            },
          }],
        }],
      }],
    },
  };
  return {
    files: { "envoy.json": JSON.stringify(configurationOf) },
    args: ["--config-path", `${configuration}/envoy.json`, "--disable-hot-restart", "--concurrency", "1"],
  };
}

/** How long anything may take, in milliseconds, but for what says otherwise. */
const deadline = 20_000;

export interface Told {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly details: { readonly [name: string]: unknown };
}

export class InfrastructureOperator implements AsyncDisposable {
  readonly scope = new Scope();
  /** What was logged, apart from details for debugging. */
  readonly told: Told[] = [];
  readonly refusals: Source<Refusal>;
  readonly #queue: Queue;
  readonly #loop: Loop;
  readonly #changed = new Set<() => void>();
  readonly #wake = () => this.#changed.forEach((look) => look());
  #running = 0;

  private constructor(readonly rig: Rig, kube: Kube, place: string) {
    const { graph, world, cluster, due } = rig;
    this.refusals = world.refusals;
    const tell = (level: Told["level"]) => (message: string, details = {}) => {
      this.told.push({ level, message, details });
    };
    const log = { ...silentLog, info: tell("info"), warn: tell("warn"), error: tell("error") };
    const controller = infrastructureController({
      due,
      kube,
      log,
      refused: (row, refusal) => {
        if (refusal) world.refusals.set(row, refusal);
        else world.refusals.delete(row);
        this.#loop.changed();
      },
    });
    this.#queue = new Queue({ name: "infrastructure", clock, log });
    this.#loop = new Loop({
      graph,
      clock,
      log,
      settled: () => {
        enqueue(controller, this.#queue);
        this.#wake();
        return [];
      },
    });
    const sources = cluster as unknown as { readonly [name: string]: Source<ApiObject> };
    const watched: readonly (readonly [Kind, Source<ApiObject>, string?])[] = [
      ...[gatewayClass, gateway, namespace, service, configMap].map((kind) =>
        [
          kind as Kind,
          (world.objects as unknown as { readonly [name: string]: Source<ApiObject> })[kind.kind]!,
        ] as const
      ),
      ...clusterKinds.map(({ kind, name, labelSelector }) => [kind, sources[name]!, labelSelector] as const),
    ];
    for (const [kind] of watched) this.#loop.await(kind.plural);
    for (const [kind, source, labelSelector] of watched) {
      this.scope.spawn(kind.plural, async (signal) => {
        const within = kind.namespaced ? place : undefined;
        const events = watch(kube, kind, { clock, labelSelector, namespace: within, signal });
        await this.#loop.follow(kind.plural, events, source);
      });
    }
    const work = worker(controller, log);
    this.scope.spawn("queue", (signal) =>
      this.#queue.run(async (row, signal) => {
        this.#running++;
        try {
          return await work(row, signal);
        } finally {
          this.#running--;
          this.#wake();
        }
      }, { concurrency: 8, signal }));
    this.again = () => enqueueAll(controller, this.#queue);
  }

  /** Queues all that is due, as a replica does that begins to lead. */
  readonly again: () => void;

  /** Starts it for one namespace. Its rows begin empty. */
  static start(
    kube: Kube,
    place: string,
    make = startForReal,
  ): InfrastructureOperator {
    return new InfrastructureOperator(infrastructure([], make), kube, place);
  }

  /** Runs the proxies of all Gateways in another way. */
  fleet(spec: EnvoyFleetSpec): void {
    this.rig.fleet.set("spec", spec);
    this.#loop.changed();
  }

  /** Waits until something holds of the tables. */
  async until(what: string, holds: (rig: Rig) => boolean, patience = deadline): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const due = () =>
      JSON.stringify([...this.rig.due.entries()].map(([row, { action, ...more }]) => [row, action, more]));
    const timer = setTimeout(
      () =>
        reject(
          new Error(`${what}: not within ${patience} ms; due: ${due()}; log: ${JSON.stringify(this.told)}`),
        ),
      patience,
    );
    const look = () => holds(this.rig) && resolve();
    this.#changed.add(look);
    try {
      look();
      await promise;
    } finally {
      clearTimeout(timer);
      this.#changed.delete(look);
    }
  }

  /** Waits until every object is as it should be. */
  async rest(what = "everything is as it should be"): Promise<void> {
    await this.until(
      what,
      ({ plans, due, graph }) => plans.size > 0 && due.size === 0 && !graph.pending && this.#running === 0,
    );
  }

  /** What was applied or created since the last time, as `Kind/namespace/name: first difference`. */
  applied(): readonly string[] {
    const lines = this.told.splice(0).filter(({ level }) => level === "info").map(({ message, details }) =>
      `${details.object}: ${details.differs ?? (message.startsWith("Made") ? "missing" : "unwanted")}`
    );
    return lines.sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop[Symbol.dispose]();
    this.#queue[Symbol.dispose]();
    await this.scope[Symbol.asyncDispose]();
  }
}
