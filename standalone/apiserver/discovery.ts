/**
 * What is served, as clients find it out: group and resource lists, in the old form and in the aggregated one.
 *
 * @module
 */
import { reviews } from "./access.ts";
import { acceptable } from "./represent.ts";
import { compareVersions, type Resource, type Resources } from "./resources.ts";

type Body = Readonly<Record<string, unknown>>;

interface Entry {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** The document at a path of discovery, or `undefined`. */
export interface Discovery {
  at(pathname: string, accept: string): { readonly body: Body; readonly contentType: string } | undefined;
}

export function discovery(resources: Resources): Discovery {
  const lists = new Map<string, readonly Entry[]>();
  for (const [groupVersion, served] of resources.groupVersions()) {
    lists.set(groupVersion, served.flatMap(({ resource }) => entries(resource)));
  }
  for (const [groupVersion, found] of Object.entries(reviews)) {
    lists.set(
      groupVersion,
      found.map(({ plural, kind }) => ({
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced: false,
        kind,
        verbs: ["create"],
      })),
    );
  }
  const groups = new Map<string, string[]>();
  for (const groupVersion of lists.keys()) {
    const [group, version] = groupVersion.includes("/")
      ? groupVersion.split("/") as [string, string]
      : ["", groupVersion];
    groups.set(group, [...groups.get(group) ?? [], version].sort(compareVersions));
  }
  const join = (group: string, version: string) => group ? `${group}/${version}` : version;
  const groupOf = (name: string, versions: readonly string[]): Body => {
    const all = versions.map((version) => ({ groupVersion: join(name, version), version }));
    return { name, versions: all, preferredVersion: all[0] };
  };

  const documents = new Map<string, Body>();
  documents.set("/api", {
    kind: "APIVersions",
    versions: groups.get("") ?? ["v1"],
    serverAddressByClientCIDRs: [],
  });
  documents.set("/apis", {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [...groups].filter(([name]) => name !== "").map(([name, versions]) => groupOf(name, versions)),
  });
  for (const [name, versions] of groups) {
    if (name !== "") {
      documents.set(`/apis/${name}`, { kind: "APIGroup", apiVersion: "v1", ...groupOf(name, versions) });
    }
    for (const version of versions) {
      documents.set(name ? `/apis/${name}/${version}` : `/api/${version}`, {
        kind: "APIResourceList",
        ...(name ? { apiVersion: "v1" } : {}),
        groupVersion: join(name, version),
        resources: lists.get(join(name, version)),
      });
    }
  }
  const aggregated = (names: readonly string[]): readonly Body[] =>
    names.map((name) => ({
      metadata: { ...(name ? { name } : {}), creationTimestamp: null },
      versions: (groups.get(name) ?? []).map((version) => ({
        version,
        resources: aggregate(name, version, lists.get(join(name, version)) ?? []),
        freshness: "Current",
      })),
    }));
  const all = {
    "/api": aggregated([""]),
    "/apis": aggregated([...groups.keys()].filter((name) => name !== "")),
  };

  return {
    at(pathname, accept) {
      const items = pathname === "/api" || pathname === "/apis" ? all[pathname] : undefined;
      const v = items && acceptable(accept, ({ type, parameters }) => {
        if (type !== "application/json") return undefined;
        if (parameters.get("as") === undefined) return "";
        const mine = parameters.get("as") === "APIGroupDiscoveryList" &&
          parameters.get("g") === "apidiscovery.k8s.io";
        const version = parameters.get("v");
        return mine && (version === "v2" || version === "v2beta1") ? version : undefined;
      });
      if (v) {
        return {
          body: {
            kind: "APIGroupDiscoveryList",
            apiVersion: `apidiscovery.k8s.io/${v}`,
            metadata: {},
            items,
          },
          contentType: `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList`,
        };
      }
      const body = documents.get(pathname);
      return body && { body, contentType: "application/json" };
    },
  };
}

function entries(resource: Resource): readonly Entry[] {
  const { kind, verbs } = resource;
  const main: Entry = {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  };
  const { name, namespaced } = main;
  const sub = { singularName: "", namespaced, kind: kind.kind };
  const writable = verbs.includes("update");
  return [
    main,
    ...(kind.hasStatus && writable
      ? [{ ...sub, name: `${name}/status`, verbs: ["get", "patch", "update"] }]
      : []),
    ...(kind.kind === "Namespace" && kind.group === ""
      ? [{ ...sub, name: `${name}/finalize`, verbs: ["update"] }]
      : []),
  ];
}

function aggregate(group: string, version: string, found: readonly Entry[]): readonly Body[] {
  const responseKind = (kind: string) => ({ group, version, kind });
  return found.filter(({ name }) => !name.includes("/")).map((entry) => {
    const subresources = found.filter(({ name }) => name.startsWith(`${entry.name}/`));
    return {
      resource: entry.name,
      responseKind: responseKind(entry.kind),
      scope: entry.namespaced ? "Namespaced" : "Cluster",
      singularResource: entry.singularName,
      verbs: entry.verbs,
      ...(entry.shortNames ? { shortNames: entry.shortNames } : {}),
      ...(entry.categories ? { categories: entry.categories } : {}),
      ...(subresources.length > 0
        ? {
          subresources: subresources.map(({ name, kind, verbs }) => ({
            subresource: name.slice(entry.name.length + 1),
            responseKind: responseKind(kind),
            verbs,
          })),
        }
        : {}),
    };
  });
}
