/**
 * OpenAPI documents: how kubectl learns which requests there are, explains fields and merges core kinds.
 *
 * @module
 */
import type { Version } from "../../crds/kind.ts";
import { apiVersion } from "../../crds/kind.ts";
import type { Resource, Resources } from "./resources.ts";
import { type MergeKeys, mergeKeysOf } from "./strategic.ts";

type Json = Readonly<Record<string, unknown>>;

const metaRef = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const string = { type: "string" };
const strings = { type: "object", additionalProperties: string };

const metadataSchemas: Json = {
  [metaRef]: {
    description: "ObjectMeta is metadata that all persisted resources must have.",
    type: "object",
    properties: {
      annotations: { ...strings, description: "Unstructured key value map for arbitrary metadata." },
      creationTimestamp: {
        ...string,
        format: "date-time",
        description: "When this object was created. Read-only.",
      },
      deletionGracePeriodSeconds: { type: "integer", format: "int64" },
      deletionTimestamp: {
        ...string,
        format: "date-time",
        description: "When deletion of this object was asked for. Read-only.",
      },
      finalizers: {
        type: "array",
        items: string,
        description: "Must be empty before the object is deleted.",
        "x-kubernetes-list-type": "set",
        "x-kubernetes-patch-strategy": "merge",
      },
      generateName: { ...string, description: "A prefix from which the server makes a unique name." },
      generation: {
        type: "integer",
        format: "int64",
        description: "Counts changes of what is wanted. Read-only.",
      },
      labels: { ...strings, description: "Keys and values by which objects are organized and selected." },
      name: { ...string, description: "Unique within a namespace. Cannot be updated." },
      namespace: {
        ...string,
        description: "The space within which each name must be unique. Cannot be updated.",
      },
      ownerReferences: {
        type: "array",
        items: { $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference" },
        description: "Objects that this object depends on.",
        "x-kubernetes-list-map-keys": ["uid"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "uid",
        "x-kubernetes-patch-strategy": "merge",
      },
      resourceVersion: { ...string, description: "The version by which changes are noticed. Read-only." },
      uid: { ...string, description: "Unique in time and space. Read-only." },
    },
  },
  "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {
    description:
      "OwnerReference identifies an owning object in the same namespace, or one without a namespace.",
    type: "object",
    required: ["apiVersion", "kind", "name", "uid"],
    properties: {
      apiVersion: string,
      blockOwnerDeletion: { type: "boolean" },
      controller: { type: "boolean" },
      kind: string,
      name: string,
      uid: string,
    },
  },
};

/** The name of a kind's schema, such as `io.k8s.networking.gateway.v1.Gateway`. */
function schemaName({ group, kind }: Resource, version: string): string {
  const path = group === "" ? "io.k8s.api.core" : group.split(".").reverse().join(".");
  return `${path}.${version}.${kind.kind}`;
}

const query = (name: string, description: string, type = "string"): Json => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});
const writeParameters: readonly Json[] = [
  query("dryRun", "With All, nothing is kept."),
  query("fieldManager", "The name of who makes the change."),
  query("fieldValidation", "What to do about unknown fields: Ignore, Warn or Strict."),
];

function operations(resource: Resource, version: Version): Json {
  const { kind, group, plural, verbs } = resource;
  const gvk = { group, kind: kind.kind, version: version.name };
  const id = `${apiVersion(kind, version.name).replace("/", "_")}_${kind.kind}`;
  const $ref = `#/components/schemas/${schemaName(resource, version.name)}`;
  const content = { "application/json": { schema: { $ref } } };
  const operation = (
    action: string,
    parameters: readonly Json[],
    body: boolean,
    types = ["application/json"],
  ): Json => ({
    operationId: `${action}_${id}`,
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvk,
    parameters,
    ...(body
      ? { requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema: { $ref } }])) } }
      : {}),
    responses: { "200": { description: "OK", content } },
  });
  const patchTypes = [
    "application/json-patch+json",
    "application/merge-patch+json",
    ...(resource.custom ? [] : ["application/strategic-merge-patch+json"]),
  ];
  const write = verbs.includes("update");
  const root = `${group ? "/apis" : "/api"}/${apiVersion(kind, version.name)}`;
  const path = (name: string, description: string) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  });
  const inNamespace = kind.namespaced ? [path("namespace", "object name and auth scope")] : [];
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const one = (sub: string): Json => ({
    parameters: [path("name", `name of the ${kind.kind}`), ...inNamespace],
    get: operation(`get${sub}`, [], false),
    ...(write
      ? {
        put: operation(`put${sub}`, writeParameters, true),
        patch: operation(`patch${sub}`, writeParameters, true, patchTypes),
        ...(sub === "" ? { delete: operation("delete", [], false) } : {}),
      }
      : {}),
  });
  return {
    [collection]: {
      parameters: inNamespace,
      get: operation("list", [], false),
      ...(write
        ? { post: operation("post", writeParameters, true), delete: operation("deletecollection", [], false) }
        : {}),
    },
    [`${collection}/{name}`]: one(""),
    ...(kind.hasStatus ? { [`${collection}/{name}/status`]: one("Status") } : {}),
    ...(kind.namespaced
      ? { [`${root}/${plural}`]: { get: operation("listForAllNamespaces", [], false) } }
      : {}),
  };
}

/** Tells which lists strategic merge patches merge: `kubectl apply` makes its patches by that. */
function withMergeKeys(schema: Json, keys: MergeKeys, path = ""): Json {
  const properties = Object.entries(schema["properties"] as Readonly<Record<string, Json>> ?? {});
  if (properties.length === 0) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([name, property]) => {
      const at = path === "" ? name : `${path}.${name}`;
      const key = keys[at];
      const merged = key === undefined ? {} : {
        "x-kubernetes-patch-strategy": "merge",
        ...(key === "" ? {} : { "x-kubernetes-patch-merge-key": key }),
      };
      const items = property["items"] as Json | undefined;
      const inner = items
        ? { ...property, items: withMergeKeys(items, keys, at) }
        : withMergeKeys(property, keys, at);
      return [name, { ...inner, ...merged }];
    })),
  };
}

/** Documents by their path below `/openapi/v3/`. */
export interface OpenApi {
  readonly paths: readonly string[];
  v3(path: string): Json | undefined;
  v2(): Json;
}

export function openApi(resources: Resources): OpenApi {
  const groupVersions = resources.groupVersions();
  const pathOf = (groupVersion: string) =>
    groupVersion.includes("/") ? `apis/${groupVersion}` : `api/${groupVersion}`;
  const byPath = new Map([...groupVersions.keys()].map((name) => [pathOf(name), name]));
  const documents = new Map<string, Json>();

  const schemasOf = (groupVersion: string): Json =>
    Object.fromEntries(
      groupVersions.get(groupVersion)!.map(({ resource, version }) => {
        const plain = resources.model.openapi(resource.kind, version, resources.channel);
        const schema = resource.custom ? plain : withMergeKeys(plain, mergeKeysOf(resource.kind.kind));
        const properties = schema["properties"] as Json ?? {};
        return [schemaName(resource, version.name), {
          ...schema,
          properties: { ...properties, metadata: { $ref: `#/components/schemas/${metaRef}` } },
          "x-kubernetes-group-version-kind": [{
            group: resource.group,
            kind: resource.kind.kind,
            version: version.name,
          }],
        }];
      }),
    );
  const operationsOf = (groupVersion: string): Json =>
    Object.assign(
      {},
      ...groupVersions.get(groupVersion)!.map(({ resource, version }) => operations(resource, version)),
    );
  const info = { title: "Gatehouse", version: "v1.32.0" };

  return {
    paths: [...byPath.keys()],
    v3(path) {
      const groupVersion = byPath.get(path);
      if (groupVersion === undefined) return undefined;
      let document = documents.get(path);
      if (!document) {
        document = {
          openapi: "3.0.0",
          info,
          paths: operationsOf(groupVersion),
          components: { schemas: { ...schemasOf(groupVersion), ...metadataSchemas } },
        };
        documents.set(path, document);
      }
      return document;
    },
    v2() {
      const definitions = Object.assign({}, ...[...groupVersions.keys()].map(schemasOf), metadataSchemas);
      const text = JSON.stringify(definitions).replaceAll("#/components/schemas/", "#/definitions/");
      return { swagger: "2.0", info, paths: {}, definitions: JSON.parse(text) };
    },
  };
}
