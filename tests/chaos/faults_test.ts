/**
 * An API server that does all that networks, caches and busy servers do, while objects change: once it behaves again,
 * everything is as if nothing had been.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Graph, type Source } from "../../controllers/runtime/graph.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { createWorld, defaultConfig, deriveIr } from "../../controllers/translate/mod.ts";
import {
  allKinds,
  type ApiObject,
  endpointSlice,
  gateway,
  httpRoute,
  keyOf,
  type Kind,
  referenceGrant,
  service,
} from "../../crds/mod.ts";
import { KubeError } from "../../kube/client.ts";
import type { Draft } from "../../kube/types.ts";
import { gatewayNamed, routeNamed, startGateway, type TestGateway } from "../e2e/gateway.ts";

const seeds = [1, 2];
const changes = 120;
/** Kinds of faults without which the test would show nothing. */
const mustStrike = [
  "drop",
  "duplicate",
  "stale",
  "conflict",
  "latency",
  "expire",
  "cut",
  "throttle",
] as const;

/** Mulberry32. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = state + 0x6d2b79f5 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return Math.floor(((t ^ t >>> 14) >>> 0) / 2 ** 32 * below);
  };
}

/** An object of a small set, in one of several states. */
function draft(below: (n: number) => number): readonly [Kind, Draft] {
  const name = `s${below(3)}`;
  switch (below(6)) {
    case 0: {
      const listeners = Array.from({ length: 1 + below(3) }, (_, i) => ({
        name: `l${i}`,
        port: 80 + 1000 * i + below(2),
        protocol: "HTTP",
        ...below(2) === 0 && { hostname: "*.example.com" },
      }));
      return [gateway, gatewayNamed("web", listeners)];
    }
    case 1:
      return [service, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "default" },
        spec: { ports: [{ name: "http", port: 80 + below(2) }] },
      }];
    case 2:
      return [endpointSlice, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          name: `${name}-${below(2)}`,
          namespace: "default",
          labels: { "kubernetes.io/service-name": name },
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [`127.0.0.${1 + below(9)}`] }],
        ports: [{ name: "http", port: 9000 }],
      }];
    case 3:
      return [referenceGrant, {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "ReferenceGrant",
        metadata: { name: "grant", namespace: "default" },
        spec: {
          from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "default" }],
          to: [{ group: "", kind: "Service" }],
        },
      }];
    default: {
      const rules = Array.from({ length: 1 + below(3) }, (_, i) => ({
        matches: [{ path: { type: "PathPrefix", value: `/${i}` } }],
        backendRefs: [{ name: `s${below(3)}`, port: 80, weight: below(4) }],
      }));
      return [httpRoute, routeNamed(`r${below(8)}`, rules)];
    }
  }
}

/** Writes as a patient user does: again, for as long as the server is only busy or behind. */
async function write({ kube }: TestGateway, kind: Kind, object: Draft, remove: boolean): Promise<void> {
  const { name, namespace } = object.metadata, where = { name, ...namespace !== undefined && { namespace } };
  const { apiVersion: _v, kind: _k, metadata: _m, ...fields } = object as unknown as Record<string, unknown>;
  for (;;) {
    try {
      if (remove) return await kube.delete(kind, where);
      try {
        await kube.create(kind, object);
      } catch (error) {
        if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
        const patch = Object.entries(fields).map(([field, value]) => ({
          op: "add" as const,
          path: `/${field}`,
          value,
        }));
        await kube.patch(kind, where, patch);
      }
      return;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status === 404) return;
      if (error.status !== 409 && error.status !== 429) throw error;
    }
  }
}

/** As the API server names it. */
function resourceOf({ plural, group }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

const sorted = <V>(entries: Iterable<readonly [string, V]>) =>
  [...entries].sort(([a], [b]) => a < b ? -1 : 1);

/** Compares the operator's tables with those of one that has just begun. */
function compare({ local: { operator }, api }: TestGateway): number {
  const graph = new Graph({ clock: systemClock }), world = createWorld(graph);
  const fresh = deriveIr(graph, world, { ...defaultConfig, infrastructure: false });
  let objects = 0;
  for (const [name, source] of Object.entries(operator.world.objects)) {
    const kind = allKinds.find(({ kind }) => kind === name) as Kind;
    const stored = api.store.rows(resourceOf(kind)).map(({ object }) => [keyOf(object), object] as const);
    const versions = (entries: Iterable<readonly [string, ApiObject]>) =>
      sorted(entries).map(([key, { metadata }]) => `${key} ${metadata.resourceVersion}`);
    assertEquals(
      versions((source as Source<ApiObject>).entries()),
      versions(stored),
      `what is known of ${name}`,
    );
    (world.objects as unknown as Record<string, Source<ApiObject>>)[name]!.replace(
      (source as Source<ApiObject>).entries(),
    );
    objects += stored.length;
  }
  for (const name of ["verdicts", "rejections", "proxies", "addresses"] as const) {
    (world[name] as Source<unknown>).replace(operator.world[name].entries() as Iterable<[string, unknown]>);
  }
  graph.settle();
  for (const [name, table] of Object.entries(operator.translation.ir)) {
    const anew = (fresh.ir as unknown as Record<string, Source<unknown>>)[name]!;
    assertEquals(sorted(table.entries() as Iterable<[string, unknown]>), sorted(anew.entries()), name);
  }
  assertEquals(sorted(fresh.statuses.entries()), sorted(operator.translation.statuses.entries()));
  return objects;
}

for (const seed of seeds) {
  Deno.test(`an API server at its worst leaves no trace (seed ${seed})`, async () => {
    await using web = await startGateway({ address: `127.0.90.${240 + seed}` });
    const { api: { faults }, local: { operator } } = web, below = random(seed);
    await web.kube.create(gateway, gatewayNamed("web"));
    await web.until("a proxy is there", ({ world }) => (world.proxies.get("default/web")?.length ?? 0) > 0);
    for (const kind of ["drop", "duplicate", "merge", "stale", "conflict", "latency"] as const) {
      faults.add({ kind, rate: 0.2, milliseconds: 15, revisions: 1 + below(20) });
    }
    for (const kind of ["expire", "cut"] as const) faults.add({ kind, rate: 0.03 });
    faults.add({ kind: "throttle", rate: 0.05, seconds: 0 });
    // Lists that can be stale come only after watches that broke, which is a matter of time.
    for (let i = 0; i < changes || mustStrike.some((kind) => !faults.struck.has(kind)); i++) {
      assert(i < 50 * changes, `only ${[...faults.struck.keys()]} have struck`);
      const [kind, object] = draft(below);
      await write(web, kind, object, kind !== gateway && below(4) === 0);
    }
    const struck = new Map(faults.struck);
    faults.clear();
    // A dropped event is one that nobody can miss: only a list makes up for it.
    for (const name of Object.keys(operator.world.objects)) {
      const kind = allKinds.find(({ kind }) => kind === name) as Kind;
      faults.add({ kind: "expire", resource: resourceOf(kind), times: 1 });
    }
    await web.until(
      "it has come to rest",
      ({ translation: { due, ir }, world }) =>
        due.size === 0 && Object.entries(world.objects).every(([name, source]) => {
          const kind = allKinds.find(({ kind }) => kind === name) as Kind;
          const rows = web.api.store.rows(resourceOf(kind));
          return source.size === rows.length &&
            rows.every(({ object }) =>
              source.get(keyOf(object))?.metadata.resourceVersion === object.metadata.resourceVersion
            );
        }) &&
        [...ir.contributions.entries()].every(([key, { generation }]) => {
          const verdict = world.verdicts.get(key);
          return verdict?.state === "programmed" && verdict.generation === generation;
        }),
    );
    await operator.loop.idle();
    assert(compare(web) > 10, "there is something to compare");
    assertEquals(operator.graph.tables.flatMap(({ failures }) => [...failures]), []);
    for (const kind of mustStrike) {
      assert((struck.get(kind) ?? 0) > 0, `${kind} has struck`);
    }
  });
}
