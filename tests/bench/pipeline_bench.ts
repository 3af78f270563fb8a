/**
 * The real tables, from HTTPRoutes to Envoy's bytes, without watches and streams.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { sourceOf } from "../../controllers/translate/batch.ts";
import { createWorld, defaultConfig, deriveIr } from "../../controllers/translate/mod.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import { type Bench, quantile } from "./bench.ts";

/** An object as an API server would send it; `edit` is its generation and resource version. */
function object(apiVersion: string, kind: string, name: string, edit: number, body: object): ApiObject {
  const metadata = {
    name,
    namespace: "default",
    uid: `${kind}-${name}`,
    resourceVersion: `${edit}`,
    generation: edit,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { apiVersion, kind, metadata, ...body };
}

const gatewayApi = "gateway.networking.k8s.io/v1";

function route(i: number, edit: number): ApiObject {
  return object(gatewayApi, "HTTPRoute", `r${i}`, edit, {
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: [`h${i}.example.com`],
      rules: [{
        matches: [{ path: { type: "PathPrefix", value: `/${edit}` } }],
        backendRefs: [{ name: `s${i % 100}`, port: 80, weight: 1 }],
      }],
    },
  });
}

function endpoints(i: number, edit: number): ApiObject {
  return object("discovery.k8s.io/v1", "EndpointSlice", `s${i}-x`, edit, {
    metadata: {
      ...object("", "EndpointSlice", `s${i}-x`, edit, {}).metadata,
      labels: { "kubernetes.io/service-name": `s${i}` },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: [`10.0.${i}.${edit % 250 + 1}`], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  });
}

function fixed(): readonly ApiObject[] {
  const services = Array.from({ length: 100 }, (_, i) =>
    object("v1", "Service", `s${i}`, 1, {
      spec: { ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }] },
    }));
  return [
    object(gatewayApi, "GatewayClass", "gatehouse", 1, {
      metadata: { ...object("", "GatewayClass", "gatehouse", 1, {}).metadata, namespace: undefined },
      spec: { controllerName: defaultConfig.controllerName },
    }),
    object("v1", "Namespace", "default", 1, {
      metadata: { name: "default", uid: "n", resourceVersion: "1" },
    }),
    object(gatewayApi, "Gateway", "web", 1, {
      spec: {
        gatewayClassName: "gatehouse",
        listeners: [{
          name: "http",
          port: 80,
          protocol: "HTTP",
          allowedRoutes: { namespaces: { from: "Same" } },
        }],
      },
    }),
    ...services,
    ...Array.from({ length: 100 }, (_, i) => endpoints(i, 1)),
  ];
}

const sizes = [100, 1_000, 5_000, 10_000];
const turns = 200;

/** All tables over `count` routes, settled. */
function pipeline(count: number) {
  const graph = new Graph({ clock: systemClock }), world = createWorld(graph);
  const { ir } = deriveIr(graph, world, defaultConfig), resources = deriveXds(graph, ir);
  const set = (o: ApiObject) => {
    const { namespace, name } = o.metadata;
    sourceOf(world, o.kind)?.set(namespace ? `${namespace}/${name}` : name, o);
  };
  for (const o of fixed()) set(o);
  world.addresses.set("default/web", { assigned: [{ type: "IPAddress", value: "10.0.0.1" }], bind: [] });
  for (let i = 0; i < count; i++) set(route(i, 1));
  const first = graph.settle();
  if (resources.size < 100) {
    throw new Error(`Only ${resources.size} resources: the benchmark measures nothing`);
  }
  return {
    count,
    first,
    edit(turn: number) {
      set(route((turn * 7919) % count, turn + 2));
      return graph.settle();
    },
    move(turn: number) {
      set(endpoints(turn % 100, turn + 2));
      return graph.settle();
    },
    resync() {
      const routes = world.objects.HTTPRoute;
      routes.replace([...routes.entries()].map(([key, value]) => [key, structuredClone(value)]));
      return graph.settle();
    },
    /** Bytes of the resources that the last settling changed. */
    changed() {
      let size = 0;
      for (const key of resources.changed) {
        for (const piece of resources.get(key)?.bytes ?? []) size += piece.length;
      }
      return size;
    },
  };
}

type Pipeline = ReturnType<typeof pipeline>;

/** Runs `measure` so often for each, in turns: warm code and whatever else the machine does meet all alike. */
function inTurns<T>(pipelines: readonly Pipeline[], measure: (one: Pipeline, turn: number) => T) {
  const measured = new Map(pipelines.map((one) => [one.count, [] as T[]]));
  for (let turn = 0; turn < turns; turn++) {
    for (const one of pipelines) measured.get(one.count)!.push(measure(one, turn));
  }
  return (count: number): readonly T[] => measured.get(count)!;
}

const bench: Bench = {
  name: "pipeline",
  run(report) {
    const pipelines = sizes.map(pipeline);
    const edits = inTurns(pipelines, (one, turn) => {
      const { milliseconds, recomputed: rows } = one.edit(turn);
      return { milliseconds, rows, bytes: one.changed() };
    });
    const moves = inTurns(pipelines, (one, turn) => one.move(turn).milliseconds);
    const figures = ["milliseconds", "rows", "bytes"] as const;
    const edited = (count: number, figure: typeof figures[number]) =>
      edits(count).map((edit) => edit[figure]);
    for (const { count, first, resync } of pipelines) {
      report.value(`first settle of ${count} routes`, "ms", first.milliseconds);
      report.samples(`one route of ${count} edited`, "ms", edited(count, "milliseconds"));
      report.samples(`one route of ${count} edited: rows`, "rows", edited(count, "rows"));
      report.samples(`one route of ${count} edited: resources`, "bytes", edited(count, "bytes"));
      report.samples(`one endpoint moves, ${count} routes`, "ms", moves(count));
      const { milliseconds, written } = resync();
      report.value(`resync of ${count} routes`, "ms", milliseconds);
      report.value(`resync of ${count} routes: rows written`, "rows", written);
    }
    for (const [name, figure, most] of [["rows", "rows", 1], ["time", "milliseconds", 1.5]] as const) {
      const grown = quantile(edited(10_000, figure), 0.5) / quantile(edited(1_000, figure), 0.5);
      report.value(`one route of 10000 edited, against one of 1000: ${name}`, "×", grown, { most });
    }
  },
};

export default bench;
