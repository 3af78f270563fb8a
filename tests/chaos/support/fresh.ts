/**
 * Judges what an operator with its Envoy has come to: it is as if both had just begun, on the same objects.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../../controllers/runtime/clock.ts";
import type { Ir } from "../../../controllers/ir/mod.ts";
import { Graph, type Source, type Table } from "../../../controllers/runtime/graph.ts";
import { createWorld, defaultConfig, deriveIr } from "../../../controllers/translate/mod.ts";
import { allKinds, type ApiObject, keyOf, type Kind } from "../../../crds/mod.ts";
import { type Admin, adminClient } from "../../../standalone/envoy/admin.ts";
import { gatewayDirectory } from "../../../standalone/envoy/fleet.ts";
import { deriveXds } from "../../../xds/build/mod.ts";
import type { TestGateway } from "../../e2e/gateway.ts";
import { until } from "../../support/until.ts";
import { resourceOf } from "./life.ts";

/**
 * Ends all faults and has the watches begin anew that are behind, since a dropped event is one that nobody can miss. Resolves once
 * nothing is left to do, and Envoys do what they have been told.
 */
export async function rest(web: TestGateway): Promise<void> {
  const { faults } = web.api;
  faults.clear();
  for (const { kind, source } of tables(web)) {
    if (!isCurrent(web, kind, source)) {
      faults.add({ kind: "expire", resource: resourceOf(kind), times: 1 });
    }
  }
  try {
    await until("it has come to rest", () => unfinished(web).length === 0);
  } catch (error) {
    throw new Error(`Unfinished: ${unfinished(web).join(", ")}`, { cause: error });
  }
  await web.local.operator.loop.idle();
  for (const [gateway] of web.local.operator.world.proxies.entries()) {
    await until(`the proxy of ${gateway} has warmed up`, async () => {
      const { configs } = await dumpOf(web, gateway);
      const listeners: readonly Dump[] = configs.flatMap((dump) => dump.dynamic_listeners ?? []);
      const others = configs.flatMap((dump) =>
        Object.entries(dump).flatMap(([list, entries]) => /_warming_/.test(list) ? entries as Dump[] : [])
      );
      return await adminOf(web, gateway).ready() && others.length === 0 &&
        listeners.every(({ warming_state }) => warming_state === undefined);
    });
  }
}

/** What there is to do, or to hear of. */
function unfinished(web: TestGateway): readonly string[] {
  const { graph, translation, world, ledger } = web.local.operator;
  const { contributions } = translation.ir;
  return [
    // What is known already may not have come to anything yet.
    ...graph.pending || graph.settling ? ["settle"] : [],
    ...world.proxies.size > 0 ? [] : ["first proxy"],
    ...tables(web).flatMap(({ kind, source }) =>
      isCurrent(web, kind, source) ? [] : [`watch of ${kind.plural}`]
    ),
    ...[...translation.due.entries(), ...translation.finalizers.entries()].map(([key]) => `write of ${key}`),
    ...[...contributions.entries()].flatMap(([key, { generation }]) => {
      const verdict = world.verdicts.get(key);
      return verdict?.state === "programmed" && verdict.generation === generation
        ? []
        : [`verdict on ${key}`];
    }),
    ...[...world.proxies.entries()].flatMap(([gateway, proxies]) => {
      const told = ledger.report(gateway);
      const done = told.length === proxies.length &&
        told.every(({ connected, behind }) => connected && behind === 0);
      return done ? [] : [`proxies of ${gateway}: ${JSON.stringify(told)}`];
    }),
  ];
}

/** Whether a table has what the API server has. */
function isCurrent({ api }: TestGateway, kind: Kind, source: Source<ApiObject>): boolean {
  const rows = api.store.rows(resourceOf(kind));
  return source.size === rows.length &&
    rows.every(({ object }) =>
      source.get(keyOf(object))?.metadata.resourceVersion === object.metadata.resourceVersion
    );
}

/** The tables of objects, with the kind of each. */
function tables({ local: { operator } }: TestGateway): readonly {
  readonly kind: Kind;
  readonly source: Source<ApiObject>;
}[] {
  return Object.entries(operator.world.objects).map(([name, source]) => ({
    kind: allKinds.find(({ kind }) => kind === name) as Kind,
    source: source as Source<ApiObject>,
  }));
}

/**
 * Compares an operator at rest with one that begins on the objects of the API server, without statuses to go by: what is known,
 * what proxies are to do, what they are sent and what is told of it; and with what each Envoy says that it has. Gives how many
 * objects there are.
 */
export async function compareWithFresh(web: TestGateway): Promise<number> {
  const { local: { operator }, api } = web;
  const graph = new Graph({ clock: systemClock }), world = createWorld(graph);
  const fresh = deriveIr(graph, world, { ...defaultConfig, infrastructure: false });
  const resources = deriveXds(graph, fresh.ir, { reusePort: false });
  let objects = 0;
  for (const { kind, source } of tables(web)) {
    const stored = api.store.rows(resourceOf(kind)).map(({ object }) => [keyOf(object), object] as const);
    const versions = (entries: Iterable<readonly [string, ApiObject]>) =>
      sorted(entries).map(([key, { metadata }]) => `${key} ${metadata.resourceVersion}`);
    assertEquals(versions(source.entries()), versions(stored), `what is known of ${kind.kind}`);
    const anew = (world.objects as unknown as Record<string, Source<ApiObject>>)[kind.kind]!;
    anew.replace(stored.map(([key, object]) => [key, withoutStatus(object)] as const));
    objects += stored.length;
  }
  for (const name of ["verdicts", "rejections", "proxies", "addresses", "time"] as const) {
    (world[name] as Source<unknown>).replace(operator.world[name].entries() as Iterable<[string, unknown]>);
  }
  graph.settle();
  const before = operator.translation,
    same = (name: string, now: Table<unknown>, anew: Table<unknown>) =>
      assertEquals(sorted(now.entries()), sorted(anew.entries()), name);
  for (const [name, table] of Object.entries(before.ir)) {
    same(name, table, (fresh.ir as unknown as Record<string, Table<unknown>>)[name]!);
  }
  same("statuses", before.statuses, fresh.statuses);
  for (const name of sent) {
    const [now, anew] = [operator.graph, graph].map(({ tables }) =>
      tables.find((table) => table.name === name)
    );
    same(name, now!, anew!);
  }
  assertEquals(operator.graph.tables.flatMap(({ failures }) => [...failures]), [], "nothing has failed");
  for (const [gateway] of operator.world.proxies.entries()) {
    const wanted: { [resource: string]: unknown } = {};
    for (const [, resource] of resources.entries()) {
      if (resource.gateway === gateway && !["endpoints", "listener"].includes(resource.type)) {
        wanted[resource.id] = resource.version;
      }
    }
    for (const [, { name, gateway: owner }] of fresh.ir.listeners.entries()) {
      if (owner === gateway) wanted[`listener:${name}`] = chainsOf(fresh.ir, name);
    }
    const has: { [resource: string]: unknown } = {};
    for (const [id, { version, content }] of await envoyHas(web, gateway)) {
      // What goes leaves with a listener that is drained, or a while after it.
      if (id in wanted || content) {
        has[id] = content?.filter_chains.map(({ name = "" }) => name).sort() ?? version;
      }
    }
    assertEquals(has, wanted, `what the proxy of ${gateway} has`);
  }
  return objects;
}

/** The tables of what proxies are sent. */
const sent = [
  "xds/listener",
  "xds/routes",
  "xds/used cluster",
  "xds/used endpoints",
  "xds/used secret",
] as const;

/** The names of a listener's filter chains; the only one of a listener without TLS has none. */
function chainsOf({ chains }: Ir, listener: string): readonly string[] {
  const names = [...chains.entries()].flatMap(([, chain]) =>
    chain.listener === listener ? [`${listener}/${chain.hostname}`] : []
  );
  return names.length > 0 ? names.sort() : [""];
}

const sorted = <V>(entries: Iterable<readonly [string, V]>) =>
  [...entries].sort(([a], [b]) => a < b ? -1 : 1);

function withoutStatus(object: ApiObject): ApiObject {
  const { status: _, ...rest } = object as ApiObject & { readonly status?: unknown };
  return rest;
}

/** What an Envoy says of a resource. */
interface Has {
  readonly version: string;
  /** Of a listener, whose version it does not take over when nothing but its filter chains change. */
  readonly content?: { readonly filter_chains: readonly { readonly name?: string }[] };
}

// deno-lint-ignore no-explicit-any -- a part of a dump of Envoy's configuration
type Dump = any;

function adminOf({ data }: TestGateway, gateway: string): Admin {
  return adminClient(gatewayDirectory(`${data}/envoy`, gateway).adminSocket);
}

async function dumpOf(web: TestGateway, gateway: string): Promise<{ readonly configs: readonly Dump[] }> {
  return await adminOf(web, gateway).configDump() as { readonly configs: readonly Dump[] };
}

/** The resources that an Envoy has, but for endpoints, of which it does not say the version. */
export async function envoyHas(web: TestGateway, gateway: string): Promise<ReadonlyMap<string, Has>> {
  const found = new Map<string, Has>();
  for (const dump of (await dumpOf(web, gateway)).configs) {
    for (const { name, active_state: active } of dump.dynamic_listeners ?? []) {
      // One that is drained is none.
      if (active) found.set(`listener:${name}`, { version: active.version_info, content: active.listener });
    }
    for (const { cluster, version_info: version } of dump.dynamic_active_clusters ?? []) {
      found.set(`cluster:${cluster.name}`, { version });
    }
    for (const { route_config, version_info: version } of dump.dynamic_route_configs ?? []) {
      found.set(`routes:${route_config.name}`, { version });
    }
    for (const { name, version_info: version } of dump.dynamic_active_secrets ?? []) {
      found.set(`secret:${name}`, { version });
    }
  }
  return found;
}
