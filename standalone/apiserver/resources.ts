/**
 * Which resources are served, in which versions, and by which schema an object of theirs is judged.
 *
 * @module
 */
import {
  type ApiObject,
  apiVersion,
  type Channel,
  type Kind,
  splitApiVersion,
  type Version,
} from "../../crds/kind.ts";
import { fromCoreEvent, toCoreEvent } from "./events.ts";
import type { Cause } from "./status.ts";

/** Any object, with access to whatever it holds. */
export type Unstructured = ApiObject & { readonly [field: string]: unknown };

/** What a schema says of an object. */
export interface Verdict {
  /** With defaults, without fields that the schema does not know. */
  readonly object: ApiObject;
  readonly errors: readonly Cause[];
  /** Paths of fields that were dropped, such as `spec.rules[0].foo`. */
  readonly unknownFields: readonly string[];
}

/** The typed model, as far as the API server asks it. */
export interface Model {
  readonly kinds: readonly Kind[];
  /** The release of Gateway API, such as `v1.7.0`. */
  readonly bundleVersion: string;
  /** `old` is the object that is replaced, for rules of transition. */
  validate(
    kind: Kind,
    version: Version,
    object: ApiObject,
    options: { readonly channel: Channel; readonly old?: ApiObject },
  ): Verdict;
  /** Between two versions of one kind. */
  convert(kind: Kind, object: ApiObject, version: string): ApiObject;
  /** OpenAPI 3.0 schema of a whole object, metadata included. */
  openapi(kind: Kind, version: Version, channel: Channel): Readonly<Record<string, unknown>>;
}

/** One kind as it is served. */
export interface Resource {
  /** The key of its rows in the store: `gateways.gateway.networking.k8s.io`. */
  readonly id: string;
  readonly kind: Kind;
  readonly group: string;
  readonly plural: string;
  /** What is kept of an object that came in some version. */
  toStored(object: ApiObject): ApiObject;
  /** An object as it is kept, in a version. */
  fromStored(object: ApiObject, version: string): ApiObject;
  /** Whether objects are kept in this version, so that nothing needs to be converted. */
  isStored(version: string): boolean;
  /** Those of the channel, most preferred first. */
  readonly versions: readonly Version[];
  readonly verbs: readonly string[];
  /** Whether it is a kind of a CustomResourceDefinition: strategic merge patches are refused, generations counted. */
  readonly custom: boolean;
}

const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const readVerbs = ["get", "list", "watch"];

/** `v1` before `v1beta2` before `v1beta1` before `v1alpha1`, as Kubernetes prefers them. */
export function compareVersions(a: string, b: string): number {
  const parse = (version: string): readonly [number, number, number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (!match) return [0, 0, 0];
    return [
      match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1,
      Number(match[1]),
      Number(match[3] ?? 0),
    ];
  };
  const [x, y] = [parse(a), parse(b)];
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2] || (a < b ? -1 : 1);
}

/** Groups whose objects are not custom resources on a real cluster either. */
const builtIn = new Set([
  "",
  "apps",
  "autoscaling",
  "policy",
  "discovery.k8s.io",
  "coordination.k8s.io",
  "apiextensions.k8s.io",
  "events.k8s.io",
  "rbac.authorization.k8s.io",
]);

/** Where and how objects are kept. Events of both groups are the same objects. */
function storageOf(model: Model, kind: Kind): Pick<Resource, "id" | "toStored" | "fromStored" | "isStored"> {
  if (kind.group === "events.k8s.io" && kind.kind === "Event") {
    return { id: "events", toStored: toCoreEvent, fromStored: fromCoreEvent, isStored: () => false };
  }
  const storage = (kind.versions.find((version) => version.storage) ?? kind.versions[0]).name;
  const convert = (object: ApiObject, version: string) =>
    object.apiVersion === apiVersion(kind, version) ? object : model.convert(kind, object, version);
  return {
    id: kind.group ? `${kind.plural}.${kind.group}` : kind.plural,
    toStored: (object) => convert(object, storage),
    fromStored: convert,
    isStored: (version) => version === storage,
  };
}

/** The kinds of one channel by their paths. */
export class Resources {
  readonly all: readonly Resource[];
  readonly #byPath = new Map<string, { readonly resource: Resource; readonly version: Version }>();
  readonly #byId = new Map<string, Resource>();

  constructor(readonly model: Model, readonly channel: Channel) {
    const all: Resource[] = [];
    for (const kind of model.kinds) {
      const versions = kind.versions.filter((version) =>
        channel === "experimental" || version.channel === "standard"
      );
      if (versions.length === 0) continue;
      const resource: Resource = {
        kind,
        group: kind.group,
        plural: kind.plural,
        ...storageOf(model, kind),
        versions: versions.toSorted((a, b) => compareVersions(a.name, b.name)),
        verbs: kind.kind === "CustomResourceDefinition" ? readVerbs : allVerbs,
        custom: !builtIn.has(kind.group),
      };
      all.push(resource);
      if (!this.#byId.has(resource.id)) this.#byId.set(resource.id, resource);
      for (const version of versions) {
        this.#byPath.set(`${apiVersion(kind, version.name)}/${kind.plural}`, { resource, version });
      }
    }
    this.all = all;
  }

  /** By group and version as in `apiVersion`, and plural name. */
  at(
    groupVersion: string,
    plural: string,
  ): { readonly resource: Resource; readonly version: Version } | undefined {
    return this.#byPath.get(`${groupVersion}/${plural}`);
  }

  byId(id: string): Resource | undefined {
    return this.#byId.get(id);
  }

  /** The resource of an owner reference. */
  byKind(apiVersion: string, kind: string): Resource | undefined {
    const { group } = splitApiVersion(apiVersion);
    return this.all.find((resource) => resource.group === group && resource.kind.kind === kind);
  }

  /** Every `group/version` that is served, with its resources. */
  groupVersions(): ReadonlyMap<
    string,
    readonly { readonly resource: Resource; readonly version: Version }[]
  > {
    const found = new Map<string, { resource: Resource; version: Version }[]>();
    for (const resource of this.all) {
      for (const version of resource.versions) {
        const name = apiVersion(resource.kind, version.name);
        found.set(name, [...found.get(name) ?? [], { resource, version }]);
      }
    }
    return found;
  }
}
