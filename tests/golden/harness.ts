/**
 * From the `in.yaml` of a golden to what it has to come to: the statuses that end up in the cluster and the resources
 * that proxies are given.
 *
 * Besides objects, `in.yaml` may hold one document of kind `DataPlane`, which says what the world of translation holds
 * apart from objects. Without it each Gateway has an address, and proxies that take everything. Without any
 * CustomResourceDefinition the newest Gateway API is installed.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { applyPatch, type Operation } from "rfc6902";
import { Document, isMap, parseAllDocuments, visit } from "yaml";
import { type ApiObject, keyOf, kindFor, splitApiVersion } from "../../crds/mod.ts";
import { type Batch, sourceOf, translate } from "../../controllers/translate/batch.ts";
import { supportedFeatures } from "../../controllers/translate/features.ts";
import { type Addresses, defaultConfig, stamp } from "../../controllers/translate/mod.ts";
import type { Proxy, Verdict } from "../../controllers/ir/mod.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import type { Table } from "../../controllers/runtime/graph.ts";
import { lookalikes } from "../../xds/build/lookalikes.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import { concatenated, sizeOf } from "../../xds/build/pack.ts";
import type { XdsResource } from "../../xds/types.ts";
import { Resource } from "../../xds/wire/envoy/discovery.ts";
import { decode } from "../../xds/wire/mod.ts";
import { viewResource } from "../../xds/view.ts";

/** The document that stands for everything but the objects. */
interface DataPlane {
  readonly kind: "DataPlane";
  readonly addresses?: { readonly [gateway: string]: Addresses | null };
  readonly proxies?: { readonly [gateway: string]: readonly Proxy[] };
  /** Why Gateways have no proxies. */
  readonly shortages?: { readonly [gateway: string]: string };
  /** By `GATEWAY|ORIGIN`; `null` for none. */
  readonly verdicts?: { readonly [key: string]: Partial<Verdict> | null };
  /** By `GATEWAY|PIECE`; the content is what the piece is at first. */
  readonly rejections?: { readonly [key: string]: { readonly message?: string } };
  /** The time, RFC 3339; without it nothing expires. */
  readonly time?: string;
  /** How many listeners a Gateway may have. */
  readonly mostListeners?: number;
  /** Whether to look for what proxies would refuse; true if absent. */
  readonly validate?: boolean;
  /**
   * Objects that our schemas would refuse, as `Kind/namespace/name`: an API server with older or newer ones might not.
   */
  readonly unlikeSchema?: readonly string[];
}

export interface Produced {
  /** Statuses by `Kind/namespace/name`. */
  readonly status: string;
  /** Resources by Gateway and id. */
  readonly xds: string;
  readonly resources: readonly { readonly gateway: string; readonly resource: Resource }[];
}

/** What says which Gateway API is installed. */
const definition: ApiObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "gatewayclasses.gateway.networking.k8s.io",
    annotations: { "gateway.networking.k8s.io/bundle-version": "v1.7.0" },
  },
};

/** The moment of all writes, which is left out of what is compared. */
const now = "2026-01-01T00:00:00Z";

export function readInput(text: string): { readonly objects: ApiObject[]; readonly dataPlane?: DataPlane } {
  const documents = parseAllDocuments(text).map((document) => {
    for (const error of document.errors) throw error;
    return document.toJS() as ApiObject | DataPlane;
  });
  const isDataPlane = (d: ApiObject | DataPlane): d is DataPlane => d.kind === "DataPlane";
  const dataPlane = documents.find(isDataPlane);
  return {
    objects: documents.filter((d): d is ApiObject => !isDataPlane(d)).map((d) => stored(d, dataPlane)),
    ...dataPlane && { dataPlane },
  };
}

/** Does with an object what an API server would: validates it, fills in defaults, names this version of it. */
function stored(object: ApiObject, dataPlane: DataPlane | undefined): ApiObject {
  const name = `${object.kind}/${keyOf(object)}`;
  const { version } = splitApiVersion(object.apiVersion);
  const schema = kindFor(object)?.versions.find((v) => v.name === version)?.schema;
  if (!schema) throw new Error(`Cannot read ${name}: no such kind or version`);
  const { success, data, error } = schema.safeParse(object);
  const known = dataPlane?.unlikeSchema?.includes(name) ?? false;
  assertEquals(!success, known, success ? `${name} is like its schema after all` : `${name}: ${error}`);
  const { metadata, ...rest } = success ? data : object;
  return { ...rest, metadata: { uid: name, resourceVersion: "1", ...metadata } };
}

/** Translates, lets the data plane answer, writes the statuses that are due, and looks at what is there then. */
export function produce(text: string): Produced {
  const { objects, dataPlane } = readInput(text);
  let xds: Table<XdsResource> | undefined;
  const { validate = defaultConfig.validate, mostListeners = defaultConfig.mostListeners } = dataPlane ?? {};
  const config = { ...defaultConfig, validate, mostListeners };
  const batch = translate(objects, config, (graph, _, { ir }) => {
    xds = deriveXds(graph, ir);
  });
  assertEquals(batch.ignored, [], "kinds that are not known");
  answer(batch, dataPlane);
  const written = writeStatuses(batch, objects);
  assertNoFailures(batch);
  const resources = [...xds!.entries()]
    .map(([key, { gateway, bytes }]) => ({
      key,
      gateway,
      resource: decode(Resource, concatenated(bytes, sizeOf(bytes))),
      view: abridgedView(viewResource({ bytes })),
    }))
    .sort((a, b) => a.key < b.key ? -1 : 1);
  const byGateway: { [gateway: string]: { [id: string]: unknown } } = {};
  for (const { key, gateway, view } of resources) {
    (byGateway[gateway] ??= {})[key.slice(gateway.length + 1)] = view;
  }
  return { status: print(written), xds: print(byGateway), resources };
}

function answer({ graph, world, ir, gateways }: Batch, dataPlane: DataPlane | undefined): void {
  const definitions = world.objects.CustomResourceDefinition;
  if (definitions.size === 0) definitions.set(definition.metadata.name, definition);
  if (dataPlane?.time !== undefined) world.time.set("now", Date.parse(dataPlane.time));
  let last = 0;
  for (const gateway of [...gateways.entries()].map(([key]) => key).sort()) {
    const given = dataPlane?.addresses?.[gateway];
    if (given === null) continue;
    world.addresses.set(
      gateway,
      given ?? { assigned: [{ type: "IPAddress", value: `192.0.2.${++last}` }], bind: [] },
    );
    const proxies = dataPlane?.proxies?.[gateway];
    if (proxies) world.proxies.set(gateway, proxies);
    const shortage = dataPlane?.shortages?.[gateway];
    if (shortage !== undefined) world.shortages.set(gateway, shortage);
  }
  graph.settle();
  const pieces = new Map<string, unknown>(
    [...ir.contributions.entries()].flatMap(([, { gateway, pieces }]) =>
      pieces.map(({ id, content }) => [`${gateway}|${id}`, content] as const)
    ),
  );
  for (const [key, { message }] of Object.entries(dataPlane?.rejections ?? {})) {
    if (!pieces.has(key)) throw new Error(`Cannot reject "${key}": there is no such piece`);
    world.rejections.set(key, { content: pieces.get(key), ...message !== undefined && { message } });
  }
  for (const [key, { generation }] of ir.contributions.entries()) {
    const given = dataPlane?.verdicts?.[key];
    if (given !== null) {
      world.verdicts.set(key, { generation, state: "programmed", message: "", ...given });
    }
  }
  graph.settle();
}

/** Applies what is due, as often as it takes, and fails if that is more than once. */
function writeStatuses({ graph, world, due }: Batch, objects: readonly ApiObject[]): { [key: string]: unknown } {
  const statuses: { [key: string]: unknown } = {};
  for (const object of objects) {
    const key = `${object.kind}/${keyOf(object)}`;
    const write = due.get(key);
    if (!write) continue;
    const copy = structuredClone(object) as ApiObject & { status?: unknown };
    const errors = applyPatch(copy, stamp(write.patch, new Date(now)) as Operation[]).filter((e) => e);
    assertEquals(errors, [], `the patch for ${key} applies`);
    const { metadata } = copy;
    const resourceVersion = String(Number(metadata.resourceVersion ?? "0") + 1000);
    sourceOf(world, object.kind)!.set(keyOf(object), {
      ...copy,
      metadata: { ...metadata, resourceVersion },
    });
    statuses[key] = abridged(withoutTimes(copy.status) as object);
  }
  graph.settle();
  assertEquals([...due.entries()], [], "one round of writes is all there is to do");
  return statuses;
}

/** The whole list of features is the same everywhere, and would be the longest part of each golden. */
function abridged(status: { readonly supportedFeatures?: readonly { readonly name: string }[] }): object {
  const names = status.supportedFeatures?.map(({ name }) => name);
  return names && equal(names, supportedFeatures(defaultConfig)) ? { ...status, supportedFeatures: "all" } : status;
}

/** So is the list of headers that no backend gets to see. */
function abridgedView(view: unknown): unknown {
  const { request_headers_to_remove: removed } = view as { readonly request_headers_to_remove?: unknown };
  return equal(removed, lookalikes) ? { ...view as object, request_headers_to_remove: "lookalikes" } : view;
}

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([name, field]) => name !== "lastTransitionTime" || field !== now);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutTimes(field)]));
}

export function assertNoFailures({ graph }: Pick<Batch, "graph">): void {
  const failures = graph.tables.flatMap(({ name, failures }) => [...failures].map(([key, error]) => ({ name, key, error })));
  assertEquals(failures, [], "no derivation throws");
}

/** Collections up to this many characters take one line. */
const short = 112;

function print(value: object): string {
  const sorted = Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
  // A round through JSON leaves out what is undefined and makes plain objects of everything.
  const document = new Document(JSON.parse(JSON.stringify(sorted)), { aliasDuplicateObjects: false });
  visit(document, {
    Collection(key, node) {
      const isCondition = isMap(node) && node.has("reason");
      if (key === null || !isCondition && JSON.stringify(node).length > short) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0 });
}
