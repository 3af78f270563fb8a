/**
 * The life of a Gateway on a cluster, and replicas of the operator that go through it: what can be done to them is lose the API
 * server in the middle of a request, for good.
 *
 * @module
 */
import { assert } from "@std/assert";
import { type ClusterOperator, startClusterOperator } from "../../../cli/cluster_operator.ts";
import { labels } from "../../../controllers/infrastructure/names.ts";
import { systemClock } from "../../../controllers/runtime/clock.ts";
import { silentLog } from "../../../controllers/runtime/log.ts";
import {
  allKinds,
  type ApiObject,
  gateway,
  gatewayClass,
  httpRoute,
  type Kind,
  kindFor,
  lease as leaseKind,
  service,
} from "../../../crds/mod.ts";
import { createKube } from "../../../kube/client.ts";
import { isStatus, KubeError } from "../../../kube/errors.ts";
import { Fence } from "../../../kube/fence.ts";
import { openKubeconfig } from "../../../kube/kubeconfig.ts";
import { systemSurroundings } from "../../../kube/surroundings.ts";
import type { Draft, Kube, PatchOperation } from "../../../kube/types.ts";
import { typedModel } from "../../../standalone/apiserver/model.ts";
import { type ApiServer, serveApi } from "../../../standalone/apiserver/serve.ts";
import { fastClock } from "../../support/fast_clock.ts";
import { kubeOf } from "../../support/kube.ts";
import { withoutIdentity } from "../../support/without_identity.ts";
import { withoutApply } from "./apply.ts";

/** How much faster than time the replicas' clocks run. */
const factor = 20;
/** How long anything may take, in milliseconds of real time. */
const patience = 60_000;
/** How long nothing may be written where there is nothing to do, in milliseconds of the replicas' clock. */
const quiet = 10_000;

const system = "gatehouse-system";
const lease = { namespace: system, name: "gatehouse" };
const web = { namespace: "default", name: "web" };
const child = { namespace: "default", name: "web-gatehouse" };
const className = { name: "gatehouse" };

/** What becomes of a write of a replica: a `lost` one is never sent, the answer to the `last` one not heard; nor is anything after. */
export type Fate = (write: string) => "sent" | "lost" | "last";

/** A replica. */
export interface Replica {
  readonly operator: ClusterOperator;
  /** Whether it has lost the API server for good. */
  readonly crashed: boolean;
  /** Whether it leads, knows everything and sees nothing to do. */
  content(): Promise<boolean>;
  end(): Promise<void>;
}

/** What the objects are like, without what is another for each of them: names, times and versions given by the server. */
export type State = { readonly [object: string]: unknown };

export class Life implements AsyncDisposable {
  /** What replicas have written, as `METHOD path`, but for the Lease and Events. */
  readonly writes: string[] = [];
  readonly #clock = fastClock(factor);
  readonly #stack = new AsyncDisposableStack();
  #lastWrite = 0;
  #started = 0;

  private constructor(readonly api: ApiServer, readonly kube: Kube) {}

  static async begin(): Promise<Life> {
    const dataDir = await Deno.makeTempDir();
    const api = await serveApi({
      dataDir,
      // Nobody runs pods here, but that makes no difference to the operator.
      model: { ...typedModel(), kinds: allKinds },
      clock: systemClock,
      log: silentLog,
    });
    const kube = await kubeOf(api.kubeconfig, "test", fastClock(factor));
    const life = new Life(api, kube);
    life.#stack.defer(() => Deno.remove(dataDir, { recursive: true }));
    life.#stack.use(api);
    life.#stack.use(kube);
    await life.make({ apiVersion: "v1", kind: "Namespace", metadata: { name: system } });
    return life;
  }

  /** Starts a replica; what it writes is as `fate` has it. */
  async replica(fate: Fate = () => "sent"): Promise<Replica> {
    const pod = `replica-${++this.#started}`, clock = this.#clock, fence = new Fence();
    const state = { crashed: false }, surroundings = systemSurroundings({});
    const dead = new AbortController();
    const crash = () => {
      state.crashed = true;
      dead.abort(new TypeError("network unreachable"));
    };
    const send: typeof fetch = async (input, init) => {
      if (state.crashed) throw dead.signal.reason;
      const { pathname } = new URL(`${input}`), method = init?.method ?? "GET";
      const signal = AbortSignal.any([dead.signal, ...init?.signal ? [init.signal] : []]);
      const request = (signal: AbortSignal | null) => {
        const [url, options] = withoutApply(input as URL, init);
        return fetch(url, { ...options, signal });
      };
      const counts = method !== "GET" && !/\/leases|tokenreviews|\/events/.test(pathname);
      if (!counts) return await request(signal);
      const write = `${method} ${pathname}`, decided = fate(write);
      if (decided === "lost") {
        crash();
        throw dead.signal.reason;
      }
      this.#lastWrite = clock.monotonic();
      this.writes.push(write);
      // It arrives whatever happens; but nobody may be there any more to hear the answer.
      const answer = request(null);
      if (decided === "last") crash();
      try {
        return await Promise.race([answer, rejection(signal)]);
      } catch (error) {
        await answer.then((response) => response.body?.cancel(), () => {});
        throw error;
      }
    };
    const client = async (permit?: () => AbortSignal) =>
      createKube(await openKubeconfig({ files: [this.api.kubeconfig], surroundings, clock }), {
        clock,
        version: "0.0.0",
        component: `operator ${pod}`,
        fetch: send,
        ...permit && { permit },
      });
    const kube = await client(), writer = await client(fence.permit);
    const operator = await startClusterOperator({
      replica: { namespace: system, pod, ips: ["127.0.0.1"], service: "gatehouse" },
      kube,
      writer,
      fence,
      image: "envoy",
      lease: lease.name,
      authority: "gatehouse-xds-authority",
      certificateLifetime: 24 * 3600_000,
      ports: { xds: 0, reports: 0, http: 0 },
      clock,
      log: silentLog,
      hurry: AbortSignal.abort(),
      nonce: "1",
    });
    return {
      operator,
      get crashed() {
        return state.crashed;
      },
      content: async () => {
        const { loop, watches, translation: { due, finalizers }, graph } = operator.operator;
        if (state.crashed || loop.awaited.length > 0 || graph.pending) return false;
        if ([...watches.values()].some(({ state }) => state !== "watching")) return false;
        const objects = graph.tables.find(({ name }) => name === "due for infrastructure")!;
        if (due.size + finalizers.size + objects.size > 0) return false;
        const { spec } = await this.kube.get(leaseKind, lease);
        return spec?.holderIdentity?.split("_")[0] === pod;
      },
      async end() {
        await operator[Symbol.asyncDispose]();
        kube[Symbol.dispose]();
        writer[Symbol.dispose]();
      },
    };
  }

  /** Lets the next replica lead at once, as if the Lease of one that crashed had expired. */
  async expireLease(): Promise<void> {
    await this.#patiently(() => this.kube.delete(leaseKind, lease));
  }

  async make(object: Draft): Promise<void> {
    await this.#patiently(() => this.kube.create(kindFor(object as ApiObject)!, object));
  }

  /** Does what a user does who tries again for as long as the server is only busy. */
  async #patiently(act: () => Promise<unknown>): Promise<void> {
    for (const end = systemClock.monotonic() + patience;;) {
      try {
        await act();
        return;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.status === 404 || error.reason === "AlreadyExists") return;
        if (![409, 429].includes(error.status) || systemClock.monotonic() > end) throw error;
        await systemClock.sleep(10);
      }
    }
  }

  async #change(kind: Kind, name: { name: string; namespace?: string }, patch: readonly PatchOperation[]) {
    await this.#patiently(() => this.kube.patch(kind, name, patch));
  }

  /** The parts of a Gateway's life, each with what others do at its beginning, and what has come of it at its end. */
  readonly parts: readonly {
    readonly name: string;
    begin(): Promise<void>;
    ended(): Promise<boolean>;
  }[] = [
    {
      name: "it is made",
      begin: async () => {
        for (const object of manifests) await this.make(object);
      },
      ended: async () =>
        (await this.kube.get(gateway, web)).status?.listeners?.[0]?.attachedRoutes === 1 &&
        await this.#exists("apps/v1", "Deployment") && await this.#exists("policy/v1", "PodDisruptionBudget"),
    },
    {
      name: "it gets an address",
      begin: async () => {
        await this.#patiently(() =>
          this.kube.patch(service, child, [
            { op: "add", path: "/status", value: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } },
          ], { subresource: "status" })
        );
      },
      ended: async () => (await this.kube.get(gateway, web)).status?.addresses?.[0]?.value === "192.0.2.1",
    },
    {
      name: "it changes",
      begin: async () => {
        await this.#change(gateway, web, [
          { op: "add", path: "/spec/infrastructure", value: { labels: { team: "edge" } } },
          { op: "replace", path: "/spec/listeners/0/port", value: 8080 },
        ]);
        // One of its objects is lost meanwhile.
        await this.#patiently(() => this.kube.delete(kindOf("v1", "ServiceAccount"), child));
      },
      ended: async () => {
        const { metadata, status } = await this.kube.get(gateway, web);
        const { spec, metadata: { labels = {} } } = await this.kube.get(service, child);
        return status?.conditions?.every(({ observedGeneration }) =>
              observedGeneration === metadata.generation
            ) === true &&
          labels.team === "edge" && spec?.ports?.[0]?.port === 8080 &&
          await this.#exists("v1", "ServiceAccount");
      },
    },
    {
      name: "it goes",
      begin: async () => {
        await this.#patiently(() => this.kube.delete(gateway, web));
        await this.#patiently(() => this.kube.delete(gatewayClass, className));
      },
      ended: async () => {
        const objects = Object.keys(this.state());
        const { status } = await this.kube.get(httpRoute, { namespace: "default", name: "web" });
        return !objects.some((name) => /^Gateway|web-gatehouse/.test(name)) && status?.parents.length === 0;
      },
    },
  ];

  /** Changes the route back and forth: that is told and has to be answered, and means nothing in the end. */
  async unrest(changes: number): Promise<void> {
    const { metadata: route, spec: was } = routeManifest;
    for (let i = 1; i <= changes; i++) {
      const value = i < changes ? { ...was, hostnames: [`change-${i}.example.com`] } : was;
      await this.#change(httpRoute, route, [{ op: "replace", path: "/spec", value }]);
    }
  }

  /** Has all watches begin anew: what one of them has missed it cannot know by itself. */
  relist(): void {
    for (const kind of allKinds) {
      this.api.faults.add({ kind: "expire", resource: resourceOf(kind), times: 1 });
    }
  }

  async #exists(apiVersion: string, kind: string): Promise<boolean> {
    try {
      const { metadata } = await this.kube.get(kindOf(apiVersion, kind), child);
      return metadata.labels?.[labels.gatewayName] === "web";
    } catch (error) {
      if (isStatus(error, 404)) return false;
      throw error;
    }
  }

  /** Waits until something holds; what the server refuses meanwhile does not. */
  async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = systemClock.monotonic() + patience;
    const looked = async () => {
      try {
        return await holds();
      } catch (error) {
        if (error instanceof KubeError) return false;
        throw error;
      }
    };
    while (!await looked()) {
      assert(
        systemClock.monotonic() < deadline,
        `${what}: not within ${patience} ms; the last writes: ${this.writes.slice(-20).join(", ")}`,
      );
      await systemClock.sleep(10);
    }
  }

  /** Waits until nothing has been written for a while, and something else holds then. */
  async rest(also: () => Promise<boolean> | boolean = () => true): Promise<void> {
    const since = this.#clock.monotonic();
    await this.until(
      "nothing more is written, or to be written",
      async () => this.#clock.monotonic() - Math.max(since, this.#lastWrite) > quiet && await also(),
    );
  }

  /** All objects that were made for this life or by replicas, by `Kind/namespace/name`. */
  state(): State {
    const kinds = allKinds.filter(({ kind }) => !["Lease", "Event", "Secret", "Namespace"].includes(kind));
    const rows = kinds.flatMap((kind) => this.api.store.rows(resourceOf(kind)));
    return Object.fromEntries(
      rows.map(({ object: { kind, metadata: { namespace = "", name } }, object }) =>
        [`${kind}/${namespace}/${name}`, withoutIdentity(object)] as const
      ).sort(([a], [b]) => a < b ? -1 : 1),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

const routeManifest = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "HTTPRoute",
  metadata: web,
  spec: { parentRefs: [{ name: "web" }], rules: [{ backendRefs: [{ name: "echo", port: 80 }] }] },
};

const manifests: readonly Draft[] = [
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: className,
    spec: { controllerName: "gatehouse.dev/gateway-controller" },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: web,
    spec: { gatewayClassName: "gatehouse", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "echo" },
    spec: { ports: [{ name: "http", port: 80 }] },
  },
  routeManifest,
];

/** Rejects once a signal is aborted. */
function rejection(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

function kindOf(apiVersion: string, kind: string): Kind {
  return kindFor({ apiVersion, kind })!;
}

/** As the API server names it. */
export function resourceOf({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}
