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

const bench: Bench = {
  name: "pipeline",
  run(report) {
    const own = new Map<number, { readonly milliseconds: number; readonly rows: number }>();
    for (const count of [100, 1_000, 5_000, 10_000]) {
      const graph = new Graph({ clock: systemClock }), world = createWorld(graph);
      const { ir } = deriveIr(graph, world, defaultConfig), resources = deriveXds(graph, ir);
      const set = (o: ApiObject) => {
        const { namespace, name } = o.metadata;
        sourceOf(world, o.kind)?.set(namespace ? `${namespace}/${name}` : name, o);
      };
      for (const o of fixed()) set(o);
      world.addresses.set("default/web", { assigned: [{ type: "IPAddress", value: "10.0.0.1" }], bind: [] });
      for (let i = 0; i < count; i++) set(route(i, 1));
      report.value(`first settle of ${count} routes`, "ms", graph.settle().milliseconds);
      if (resources.size < 100) {
        throw new Error(`Only ${resources.size} resources: the benchmark measures nothing`);
      }

      const rows: number[] = [], bytes: number[] = [];
      const edits = Array.from({ length: 200 }, (_, edit) => {
        set(route((edit * 7919) % count, edit + 2));
        const settled = graph.settle();
        rows.push(settled.recomputed);
        let size = 0;
        for (const key of resources.changed) {
          for (const piece of resources.get(key)?.bytes ?? []) size += piece.length;
        }
        bytes.push(size);
        return settled.milliseconds;
      });
      report.samples(`one route of ${count} edited`, "ms", edits);
      report.samples(`one route of ${count} edited: rows`, "rows", rows);
      own.set(count, { milliseconds: quantile(edits, 0.5), rows: quantile(rows, 0.5) });
      report.samples(`one route of ${count} edited: resources`, "bytes", bytes);
      const moves = Array.from({ length: 200 }, (_, edit) => {
        set(endpoints(edit % 100, edit + 2));
        return graph.settle().milliseconds;
      });
      report.samples(`one endpoint moves, ${count} routes`, "ms", moves);
      const source = world.objects.HTTPRoute;
      source.replace([...source.entries()].map(([key, value]) => [key, structuredClone(value)]));
      const resync = graph.settle();
      report.value(`resync of ${count} routes`, "ms", resync.milliseconds);
      report.value(`resync of ${count} routes: rows written`, "rows", resync.written);
    }
    const few = own.get(1_000)!, many = own.get(10_000)!;
    const grown = "one route of 10000 edited, against one of 1000";
    report.value(`${grown}: rows`, "×", many.rows / few.rows, { most: 1 });
    report.value(`${grown}: time`, "×", many.milliseconds / few.milliseconds, { most: 1.5 });
  },
};

export default bench;
