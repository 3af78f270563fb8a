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
import { type Core, type CoreOptions, startCore } from "../../standalone/apiserver/core.ts";
import { Database } from "../../standalone/apiserver/database.ts";
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
        {
          name: "Programmed",
          type: "string",
          jsonPath: '.status.conditions[?(@.type=="Programmed")].status',
        },
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
  kind("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", {
    cluster: true,
    status: true,
    short: ["crd"],
  }),
  kind("events.k8s.io", "Event", "events", { short: ["ev"] }),
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
  bundleVersion: "v1.7.0",
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

const admin = { user: "admin", groups: ["system:masters"] };

/** What came back: its status, its headers, its body as JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- tests look into bodies of every shape
  readonly body: any;
}

export interface TestApi extends Core {
  /** Requests with an administrator's rights. An object as body is sent as JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** Opens a watch; its events can be pulled one by one. */
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<TestWatch>;
  /** Resolves once `holds` does; looks again after every change. */
  until(holds: () => boolean): Promise<void>;
}

/** The server without a socket, on a database in memory. */
export async function testApi(
  options: Partial<CoreOptions> & { readonly path?: string } = {},
): Promise<TestApi> {
  const database = Database.open(options.path ?? ":memory:");
  const core = await startCore(database, {
    model: looseModel,
    clock: systemClock,
    log: silentLog,
    ...options,
  });
  const request = (path: string, init: RequestInit) => core.app.request(path, init, { identity: admin });
  return {
    ...core,
    async call(method, path, body, headers = {}) {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const response = await request(path, {
        method,
        headers: { ...(body === undefined ? {} : { "content-type": type }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const json = response.headers.get("content-type")?.includes("json");
      return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
    },
    async watch(path, headers = {}) {
      const response = await request(path, { headers });
      if (response.status !== 200) throw new Error(await response.text());
      return new TestWatch(response.body!);
    },
    async until(holds) {
      const signal = AbortSignal.timeout(5000);
      for (let revision = -1; !holds(); await core.store.changed(revision, signal)) {
        signal.throwIfAborted();
        revision = core.store.revision;
      }
    },
  };
}

interface Event {
  readonly type: string;
  // deno-lint-ignore no-explicit-any -- as above
  readonly object: any;
}

/** Reads a watch line by line. */
export class TestWatch implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #text = new TextDecoder();
  #buffer = "";

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next event; `undefined` once the watch has ended. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const end = this.#buffer.indexOf("\n");
      if (end >= 0) {
        const line = this.#buffer.slice(0, end);
        this.#buffer = this.#buffer.slice(end + 1);
        return JSON.parse(line);
      }
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#buffer += this.#text.decode(value, { stream: true });
    }
  }

  /** The next `count` events as `TYPE name`. */
  async names(count: number): Promise<string[]> {
    const names: string[] = [];
    for (let i = 0; i < count; i++) {
      const event = await this.next();
      names.push(`${event?.type} ${event?.object.metadata?.name ?? ""}`.trim());
    }
    return names;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

/** A server on a port that is free, with a data directory that goes away with it. */
export async function testServer(
  options: Partial<ApiOptions> = {},
): Promise<ApiServer & { readonly dataDir: string }> {
  const dataDir = options.dataDir ?? await Deno.makeTempDir({ prefix: "gatehouse-api-" });
  const server = await serveApi({
    model: looseModel,
    clock: systemClock,
    log: silentLog,
    ...options,
    dataDir,
  });
  return {
    ...server,
    dataDir,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      if (options.dataDir === undefined) await Deno.remove(dataDir, { recursive: true });
    },
  };
}
