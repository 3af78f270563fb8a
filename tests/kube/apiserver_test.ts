/** The client against the project's own API server, over TLS with the client certificate of its kubeconfig. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import {
  customResourceDefinition,
  eventsEvent,
  gateway,
  gatewayClass,
  lease,
  listenerSet,
  service,
} from "../../crds/mod.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { Discovery } from "../../kube/discovery.ts";
import { isStatus, KubeError } from "../../kube/errors.ts";
import { EventRecorder } from "../../kube/events.ts";
import { elect } from "../../kube/lease.ts";
import { list } from "../../kube/list.ts";
import { guarded, isConflict } from "../../kube/patch.ts";
import type { Kube } from "../../kube/types.ts";
import { watch } from "../../kube/watch.ts";
import { kubeOf } from "../support/kube.ts";
import { type ApiServer, serveApi } from "../../standalone/apiserver/serve.ts";

const clock = systemClock;

interface Api extends AsyncDisposable {
  readonly server: ApiServer;
  readonly kube: Kube;
  /** Stops the server and starts it again at the same address, from what it has kept. */
  restart(): Promise<void>;
}

async function start(): Promise<Api> {
  const dataDir = await Deno.makeTempDir();
  let server = await serveApi({ dataDir, clock, log: silentLog });
  const kube = await kubeOf(server.kubeconfig);
  return {
    get server() {
      return server;
    },
    kube,
    async restart() {
      const port = Number(new URL(server.url).port);
      await server[Symbol.asyncDispose]();
      server = await serveApi({ dataDir, port, clock, log: silentLog });
    },
    async [Symbol.asyncDispose]() {
      kube[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

function serviceNamed(name: string, port = 80): ApiObject {
  const object = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { ports: [{ port }] },
  };
  return object;
}

function portOf(object: ApiObject): number | undefined {
  return (object as unknown as { spec: { ports: { port: number }[] } }).spec.ports[0]?.port;
}

/** What a watch of the services has told, as one would keep it. */
class Mirror implements AsyncDisposable {
  readonly objects = new Map<string, ApiObject>();
  replaces = 0;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  #changed = Promise.withResolvers<void>();

  constructor(kube: Kube) {
    this.#done = this.#follow(kube);
  }

  async #follow(kube: Kube): Promise<void> {
    const options = { clock, namespace: "default", signal: this.#abort.signal };
    for await (const event of watch(kube, service as never, options)) {
      if (event.type === "replace") {
        this.replaces++;
        this.objects.clear();
        for (const object of event.objects) this.objects.set(object.metadata.name, object);
      } else if (event.type === "set") this.objects.set(event.object.metadata.name, event.object);
      else this.objects.delete(event.object.metadata.name);
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
  }

  /** Resolves once what is mirrored meets a condition. */
  async until(condition: (objects: ReadonlyMap<string, ApiObject>) => boolean): Promise<void> {
    while (!condition(this.objects)) await this.#changed.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }
}

Deno.test("definitions are listed and watched by their metadata alone", async () => {
  await using api = await start();
  const { objects } = await list(api.kube, customResourceDefinition, { metadataOnly: true });
  const found = objects.find(({ metadata }) => metadata.name === "gateways.gateway.networking.k8s.io")!;
  assertEquals(Object.keys(found).sort(), ["apiVersion", "kind", "metadata"]);
  assertEquals([found.apiVersion, found.kind], ["apiextensions.k8s.io/v1", "CustomResourceDefinition"]);
  assert(found.metadata.annotations?.["gateway.networking.k8s.io/bundle-version"]?.startsWith("v1."));
  const stop = new AbortController();
  const options = { clock, metadataOnly: true, signal: stop.signal };
  for await (const event of watch(api.kube, customResourceDefinition, options)) {
    assert(event.type === "replace");
    assertEquals(event.objects.length, objects.length);
    break;
  }
  stop.abort();
});

Deno.test("objects: create, read, patch, conflict, delete", async () => {
  await using api = await start();
  const { kube } = api;
  const kind = service as never;
  const name = { namespace: "default", name: "web" };
  const created = await kube.create<ApiObject>(kind, serviceNamed("web"));
  assert(created.metadata.uid && created.metadata.resourceVersion);
  const again = await assertRejects(() => kube.create<ApiObject>(kind, serviceNamed("web")), KubeError);
  assertEquals([again.status, again.reason], [409, "AlreadyExists"]);

  const label = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }] as const;
  const patched = await kube.patch<ApiObject>(kind, name, guarded(created, label));
  assertEquals(patched.metadata.labels, { a: "b" });
  const stale = await kube.patch<ApiObject>(kind, name, guarded(created, label)).catch((error) => error);
  assert(isConflict(stale), String(stale));

  const invalid = await assertRejects(
    () => kube.patch<ApiObject>(kind, name, [{ op: "replace", path: "/spec/ports", value: [{ port: -1 }] }]),
    KubeError,
  );
  assert(isStatus(invalid, 422) && !isConflict(invalid));

  const other = { preconditions: { uid: "another" } };
  assert(isStatus(await kube.delete(kind, name, other).catch((error) => error), 409));
  await kube.delete(kind, name, { preconditions: { uid: created.metadata.uid } });
  assert(isStatus(await kube.get(kind, name).catch((error) => error), 404));
});

Deno.test("a list in many pages is one state", async () => {
  await using api = await start();
  const names = Array.from({ length: 23 }, (_, i) => `w${String(i).padStart(2, "0")}`);
  for (const name of names) await api.kube.create<ApiObject>(service as never, serviceNamed(name));
  const listing = await list<ApiObject>(api.kube, service as never, {
    pageSize: 5,
    labelSelector: "!provider",
  });
  const found = listing.objects.filter(({ metadata }) => metadata.name.startsWith("w"));
  assertEquals(found.map(({ metadata }) => metadata.name), names);
  assertEquals(
    new Set(found.map((object) => `${object.apiVersion} ${object.kind}`)),
    new Set(["v1 Service"]),
  );
});

Deno.test("a watch follows changes, through a restart of the server as well", async () => {
  await using api = await start();
  const { kube } = api;
  await using mirror = new Mirror(kube);
  await kube.create<ApiObject>(service as never, serviceNamed("web"));
  await mirror.until((objects) => objects.has("web"));
  assertEquals(mirror.replaces, 1);
  await api.restart();
  // A write on the connection that has just broken would fail: it is not for the client to send it twice. A read may.
  await kube.get(service as never, { namespace: "default", name: "web" });
  await kube.patch<ApiObject>(service as never, { namespace: "default", name: "web" }, [
    { op: "replace", path: "/spec/ports/0/port", value: 81 },
  ]);
  await mirror.until((objects) => portOf(objects.get("web")!) === 81);
  await kube.delete(service as never, { namespace: "default", name: "web" });
  await mirror.until((objects) => !objects.has("web"));
  assertEquals(mirror.replaces, 1, "resumed where it was");
});

Deno.test("whatever a server does to its watches, the mirror ends up the same", async () => {
  await using api = await start();
  const { kube, server } = api;
  await using mirror = new Mirror(kube);
  for (const kind of ["cut", "expire", "duplicate", "merge"] as const) {
    server.faults.add({ kind, resource: "services", rate: 0.2, times: 3 });
  }
  server.faults.add({ kind: "throttle", resource: "services", rate: 0.05, seconds: 0, times: 5 });
  server.faults.add({ kind: "latency", rate: 0.2, milliseconds: 5 });
  const name = (i: number) => ({ namespace: "default", name: `w${i % 7}` });
  for (let i = 0; i < 120; i++) {
    const { name: at } = name(i);
    const action = i % 5;
    if (action === 4) await kube.delete(service as never, name(i)).catch(ignore404);
    else {
      await kube.create<ApiObject>(service as never, serviceNamed(at, 1 + i)).catch((error) => {
        if (!isStatus(error, 409)) throw error;
        return kube.patch<ApiObject>(service as never, name(i), [
          { op: "replace", path: "/spec/ports/0/port", value: 1 + i },
        ]);
      });
    }
  }
  assert(server.faults.struck.size >= 3, "faults have struck");
  server.faults.clear();
  const { objects } = await list<ApiObject>(kube, service as never, { namespace: "default" });
  const versions = (all: Iterable<ApiObject>) =>
    [...all].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort().join();
  await mirror.until((mirrored) => versions(mirrored.values()) === versions(objects));
});

function ignore404(error: unknown): void {
  if (!isStatus(error, 404)) throw error;
}

Deno.test("discovery finds what is served", async () => {
  await using api = await start();
  const kinds = [service, gateway, gatewayClass, listenerSet, lease, eventsEvent];
  const discovery = new Discovery(api.kube, kinds as never, { clock });
  assertEquals(await discovery.refresh(), true);
  assertEquals(await discovery.refresh(), false);
  for (const kind of kinds) {
    assertEquals(discovery.versionOf(kind as never), kind.versions[0].name, kind.kind);
  }
});

Deno.test("one of two candidates leads, the other takes over", async () => {
  await using api = await start();
  const terms: string[] = [];
  const first = Promise.withResolvers<void>(), second = Promise.withResolvers<void>();
  const candidates = ["a", "b"].map((identity) => {
    const stop = new AbortController();
    const ended = elect(api.kube, {
      namespace: "default",
      name: "gatehouse",
      identity,
      clock,
      retryPeriod: 20,
      renewDeadline: 4000,
      leaseDuration: 5000,
      lead: ({ signal }) => {
        terms.push(identity);
        (terms.length === 1 ? first : second).resolve();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
      },
      signal: stop.signal,
    });
    return { identity, stop: () => (stop.abort(), ended) };
  });
  await first.promise;
  await candidates.find(({ identity }) => identity === terms[0])!.stop();
  await second.promise;
  await candidates.find(({ identity }) => identity === terms[1])!.stop();
  assertEquals(terms.toSorted(), ["a", "b"]);
});

Deno.test("events arrive and count", async () => {
  await using api = await start();
  const { kube } = api;
  const regarding = await kube.create<ApiObject>(service as never, serviceNamed("web"));
  const recorder = new EventRecorder(kube, { clock, controller: "gatehouse.dev/test", instance: "test" });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  const watching = watch<ApiObject>(kube, eventsEvent as never, { clock, signal: stop.signal });
  await watching.next();
  const occurrence = {
    regarding,
    type: "Warning",
    reason: "Broken",
    action: "Try",
    note: "It is broken",
  } as const;
  recorder.record(occurrence);
  const created = await watching.next();
  recorder.record(occurrence);
  const counted = await watching.next();
  assert(created.value?.type === "set" && counted.value?.type === "set");
  const [before, after] = [created.value.object, counted.value.object] as unknown as readonly [
    { readonly reason: string; readonly series?: unknown },
    { readonly reason: string; readonly series?: { readonly count: number } },
  ];
  assertEquals([before.reason, before.series, after.series?.count], ["Broken", undefined, 2]);
  stop.abort();
  await running;
  await watching.return(undefined);
});
