/**
 * A whole gateway in this process, but for Envoy: the API server with its socket, the operator, the data plane.
 *
 * @module
 */
import { request } from "node:http";
import { type Local, startLocal } from "../../cli/local_operator.ts";
import type { Operator } from "../../cli/operate.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { createLog } from "../../controllers/runtime/log.ts";
import type { Config } from "../../controllers/translate/mod.ts";
import type { ApiObject, Condition, Kind } from "../../crds/mod.ts";
import * as kinds from "../../crds/mod.ts";
import { list } from "../../kube/list.ts";
import type { Draft, Kube } from "../../kube/types.ts";
import { parsePool } from "../../standalone/addresses/pool.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { type ApiServer, serveApi } from "../../standalone/apiserver/serve.ts";
import { serveEcho } from "../../standalone/echo.ts";
import { findEnvoy } from "../../standalone/envoy/find.ts";
import { exposeManifests } from "../../standalone/expose.ts";
import { kubeOf } from "../support/kube.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";

export interface GatewayOptions {
  /** The only address of its Gateways; different for tests that may run at once. */
  readonly address: string;
  readonly config?: Partial<Config>;
  /** How many workers each Envoy has; one if absent. */
  readonly concurrency?: number;
}

/** See the module. The data directory goes with it. */
export interface TestGateway extends AsyncDisposable {
  readonly address: string;
  readonly data: string;
  readonly api: ApiServer;
  readonly kube: Kube;
  readonly local: Local;
  /** Stops the operator and its Envoys, and starts them anew on what the API server and the directory hold. */
  restart(): Promise<void>;
  /** Resolves once `holds` does; it is looked at after every settle of the tables, for at most so many milliseconds. */
  until(what: string, holds: (operator: Operator) => boolean, patience?: number): Promise<void>;
  /** Resolves once no status is left to write: that of one object tells nothing of when another's comes. */
  written(): Promise<void>;
  /** Resolves with the object once its conditions say so in the API server. */
  untilStatus<T extends ApiObject>(
    kind: Kind<T>,
    name: string,
    what: string,
    holds: (conditions: ReadonlyMap<string, Condition>, object: T) => boolean,
  ): Promise<T>;
  /** Makes a Service of an echo server that listens for as long as the gateway is there. */
  echo(name: string): Promise<void>;
}

/** How long anything may take before a test gives up, in milliseconds. */
const patience = 20_000;

export async function startGateway(
  { address, config = {}, concurrency = 1 }: GatewayOptions,
): Promise<TestGateway> {
  await using stack = new AsyncDisposableStack();
  const data = await Deno.makeTempDir({ prefix: "gatehouse-" });
  stack.defer(() => Deno.remove(data, { recursive: true }));
  const clock = systemClock;
  const log = createLog({ write: () => {}, clock, format: "json" });
  const api = stack.use(await serveApi({ dataDir: `${data}/api`, model: typedModel(), clock, log }));
  const kube = stack.use(await kubeOf(api.kubeconfig));
  const found = await findEnvoy({
    flag: await envoyForTests(),
    cache: data,
    platform: Deno.build,
    clock,
    progress: () => {},
  });
  if ("problem" in found) throw new Error(found.problem);
  const pool = parsePool(address);
  if ("problem" in pool) throw new Error(pool.problem);
  const waiting = new Set<() => void>();
  const wake = () => waiting.forEach((look) => look());
  const { envoy: binary } = found;
  const start = () =>
    startLocal({ data, binary, pool: pool.pool, concurrency, kube, log, config, settled: wake });
  let local = await start();
  stack.defer(() => local[Symbol.asyncDispose]());
  const until = async (what: string, holds: (operator: Operator) => boolean, longest = patience) => {
    const done = Promise.withResolvers<void>();
    const look = () => void (holds(local.operator) && done.resolve());
    using _timer = clock.timer(longest, () => done.reject(new Error(`Not within ${longest} ms: ${what}`)));
    waiting.add(look);
    look();
    try {
      await done.promise;
    } finally {
      waiting.delete(look);
    }
  };
  await kube.create(kinds.gatewayClass, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: "gatehouse" },
    spec: { controllerName: "gatehouse.dev/gateway-controller" },
  });
  const owned = stack.move();
  return {
    address,
    data,
    api,
    kube,
    get local() {
      return local;
    },
    async restart() {
      await local[Symbol.asyncDispose]();
      local = await start();
    },
    until,
    written: () => until("everything is written", ({ translation: { due } }) => due.size === 0),
    async untilStatus<T extends ApiObject>(
      kind: Kind<T>,
      name: string,
      what: string,
      holds: (conditions: ReadonlyMap<string, Condition>, object: T) => boolean,
    ): Promise<T> {
      const source = (local.operator.world.objects as unknown as Record<
        string,
        { get(key: string): T | undefined }
      >)[kind.kind]!;
      const key = kind.namespaced ? `default/${name}` : name;
      await until(what, () => {
        const object = source.get(key);
        return object !== undefined && holds(conditionsOf(object), object);
      });
      return source.get(key)!;
    },
    async echo(name) {
      const server = owned.use(await serveEcho({ name, port: 0 }));
      const exposed = exposeManifests(name, { port: 80, to: `127.0.0.1:${server.port}` });
      if ("error" in exposed) throw new Error(exposed.error);
      for (const object of exposed.objects) {
        await kube.create(kinds.kindFor(object)!, object);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Those of a Gateway or of a route's first parent, by type. */
function conditionsOf(object: ApiObject): ReadonlyMap<string, Condition> {
  const { status } = object as {
    readonly status?: {
      readonly conditions?: readonly Condition[];
      readonly parents?: readonly { readonly conditions?: readonly Condition[] }[];
    };
  };
  const conditions = status?.parents?.[0]?.conditions ?? status?.conditions ?? [];
  return new Map(conditions.map((condition) => [condition.type, condition]));
}

/** A Gateway with one HTTP listener on port 80. */
export function gatewayNamed(name: string, listeners: readonly object[] = [http]): Draft {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name, namespace: "default" },
    spec: { gatewayClassName: "gatehouse", listeners },
  };
}
const http = { name: "http", port: 80, protocol: "HTTP" };

/** An HTTPRoute of Gateway `web` for one hostname. */
export function routeNamed(name: string, rules: readonly object[]): Draft {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, namespace: "default" },
    spec: { parentRefs: [{ name: "web" }], hostnames: [`${name}.example.com`], rules },
  };
}

/** The status of the answer to a GET. */
export async function get(address: string, host: string, path = "/"): Promise<number> {
  const status = Promise.withResolvers<number>();
  const call = request({ host: address, port: 80, path, headers: { host }, agent: false });
  call.on("response", (response) => {
    response.resume();
    response.on("close", () => status.resolve(response.statusCode ?? 0));
  });
  call.on("error", status.reject);
  call.end();
  return await status.promise;
}

/** Makes Gateway `web` with route `r` to an echo server, and waits until that is programmed. */
export async function serve(web: TestGateway): Promise<void> {
  await web.echo("echo");
  await web.kube.create(kinds.gateway, gatewayNamed("web"));
  await web.kube.create(kinds.httpRoute, routeNamed("r", [{ backendRefs: [{ name: "echo", port: 80 }] }]));
  await web.untilStatus(kinds.httpRoute, "r", "programmed", (c) => c.get("Programmed")?.status === "True");
}

/** The version of each object; not of Events, which tell of what was written before. */
export async function versions(
  { kube }: TestGateway,
): Promise<{ readonly [key: string]: string | undefined }> {
  const found: { [key: string]: string | undefined } = {};
  for (const kind of [...kinds.gatewayKinds, kinds.namespace, kinds.service, kinds.endpointSlice]) {
    const { objects } = await list(kube, kind, { signal: AbortSignal.timeout(10_000) });
    for (const object of objects) {
      found[`${kind.kind}/${kinds.keyOf(object)}`] = object.metadata.resourceVersion;
    }
  }
  return found;
}
