/**
 * A model and a server for tests of the API server's own behaviour, apart from what the real schemas say.
 *
 * @module
 */
import { z } from "zod";
import type { ApiObject, Kind, Version } from "../../crds/kind.ts";
import { apiVersion } from "../../crds/kind.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import type { Model, Unstructured } from "../../standalone/apiserver/resources.ts";
import { type ApiOptions, type ApiServer, serveApi } from "../../standalone/apiserver/serve.ts";

const loose = z.looseObject({}) as unknown as z.ZodType<ApiObject>;

function kind(
  group: string,
  name: string,
  plural: string,
  options: { cluster?: boolean; status?: boolean; short?: string[]; versions?: string[] } = {},
): Kind {
  const versions = (options.versions ?? ["v1"]).map((version, index): Version => ({
    name: version,
    channel: version.includes("alpha") ? "experimental" : "standard",
    storage: index === 0,
    schema: loose,
    columns: name === "Gateway"
      ? [
        { name: "Class", type: "string", jsonPath: ".spec.gatewayClassName" },
        { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        { name: "Listeners", type: "string", jsonPath: ".spec.listeners[*].name", priority: 1 },
      ]
      : [],
  }));
  return {
    group,
    kind: name,
    listKind: `${name}List`,
    plural,
    singular: name.toLowerCase(),
    shortNames: options.short ?? [],
    categories: group.includes("gateway") ? ["gateway-api"] : [],
    namespaced: !options.cluster,
    hasStatus: options.status ?? false,
    versions: versions as unknown as Kind["versions"],
  };
}

export const kinds: readonly Kind[] = [
  kind("", "Namespace", "namespaces", { cluster: true, status: true, short: ["ns"] }),
  kind("", "Service", "services", { status: true, short: ["svc"] }),
  kind("", "Secret", "secrets"),
  kind("", "ConfigMap", "configmaps", { short: ["cm"] }),
  kind("", "ServiceAccount", "serviceaccounts", { short: ["sa"] }),
  kind("", "Event", "events", { short: ["ev"] }),
  kind("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  kind("coordination.k8s.io", "Lease", "leases"),
  kind("gateway.networking.k8s.io", "GatewayClass", "gatewayclasses", {
    cluster: true,
    status: true,
    short: ["gc"],
    versions: ["v1", "v1beta1"],
  }),
  kind("gateway.networking.k8s.io", "Gateway", "gateways", {
    status: true,
    short: ["gtw"],
    versions: ["v1", "v1beta1"],
  }),
  kind("gateway.networking.k8s.io", "HTTPRoute", "httproutes", { status: true, versions: ["v1", "v1beta1"] }),
  kind("gateway.networking.k8s.io", "TCPRoute", "tcproutes", { status: true, versions: ["v1alpha2"] }),
];

/** Takes everything, except `spec.bogus`, which is unknown, and a `spec.wrong`, which is an error. */
export const looseModel: Model = {
  kinds,
  validate(_kind, _version, object) {
    const { spec, ...rest } = object as Unstructured;
    if (typeof spec !== "object" || spec === null) return { object, errors: [], unknownFields: [] };
    const { bogus, ...known } = spec as Record<string, unknown>;
    return {
      object: { ...rest, spec: known } as unknown as ApiObject,
      errors: known["wrong"] === undefined
        ? []
        : [{ reason: "FieldValueInvalid", field: "spec.wrong", message: "Invalid value: is always wrong" }],
      unknownFields: bogus === undefined ? [] : ["spec.bogus"],
    };
  },
  convert: (kind, object, version) => ({ ...object, apiVersion: apiVersion(kind, version) }),
  openapi: () => ({ type: "object", properties: {}, "x-kubernetes-preserve-unknown-fields": true }),
};

/** A server on a port that is free, with a data directory that goes away with it. */
export async function testServer(
  options: Partial<ApiOptions> = {},
): Promise<ApiServer & { readonly dataDir: string }> {
  const dataDir = options.dataDir ?? await Deno.makeTempDir({ prefix: "gatehouse-api-" });
  const server = await serveApi({ model: looseModel, clock: systemClock, log: silentLog, ...options, dataDir });
  return {
    ...server,
    dataDir,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      if (options.dataDir === undefined) await Deno.remove(dataDir, { recursive: true });
    },
  };
}
