/**
 * Replicas of the operator of a cluster, against an API server: which of them writes, and what becomes of that when one goes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  type ClusterOperator,
  type ClusterOperatorOptions,
  startClusterOperator,
} from "../../cli/cluster_operator.ts";
import { row as authorityRow } from "../../controllers/authority.ts";
import { childName, ownerReference, ownLabels } from "../../controllers/infrastructure/child_names.ts";
import type { Child } from "../../controllers/infrastructure/mod.ts";
import { bundleOf } from "../../controllers/runtime/authorities.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { Table } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import {
  type ApiObject,
  gateway as gatewayKind,
  gatewayClass,
  lease as leaseKind,
  namespace as namespaceKind,
  serviceAccount,
} from "../../crds/mod.ts";
import { createKube } from "../../kube/client.ts";
import { Fence } from "../../kube/fence.ts";
import { openKubeconfig } from "../../kube/kubeconfig.ts";
import { systemSurroundings } from "../../kube/surroundings.ts";
import type { Kube } from "../../kube/types.ts";
import { type ApiServer, serveApi } from "../../standalone/apiserver/serve.ts";
import type { Bootstrap } from "../../xds/wire/envoy/bootstrap.ts";
import type { Resource } from "../../xds/wire/envoy/discovery.ts";
import type { Listener } from "../../xds/wire/envoy/listener.ts";
import { fastClock } from "../support/fast_clock.ts";
import { claimsOf, issuerOf } from "../support/jwt.ts";
import { kubeOf } from "../support/kube.ts";
import { reviewOf } from "../support/token_server.ts";
import { request } from "../xds/support/fake_envoy.ts";
import { type Call, Client } from "../xds/support/grpc_client.ts";

/** How much faster than time the replicas' clocks run. */
const factor = 20;

interface Write {
  readonly replica: string;
  readonly path: string;
  /** By the replicas' clock, in milliseconds. */
  readonly at: number;
}

/** A server, the replicas that talk to it, and what these wrote, but for the Lease. */
class Cluster implements AsyncDisposable {
  readonly clock = fastClock(factor);
  readonly writes: Write[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #cut = new Set<string>();
  readonly api: ApiServer;
  readonly kube: Kube;

  private constructor(api: ApiServer, kube: Kube) {
    this.api = api;
    this.kube = kube;
  }

  static async start(): Promise<Cluster> {
    const dataDir = await Deno.makeTempDir();
    const api = await serveApi({ dataDir, clock: systemClock, log: silentLog });
    const kube = await kubeOf(api.kubeconfig);
    const cluster = new Cluster(api, kube);
    cluster.#stack.defer(() => Deno.remove(dataDir, { recursive: true }));
    cluster.#stack.use(api);
    cluster.#stack.use(kube);
    return cluster;
  }

  /** Every path that replicas have asked for. */
  readonly asked = new Set<string>();
  /** What they may not ask for. */
  forbidden: (path: string) => boolean = () => false;
  /** What a request waits for. */
  held: (path: string) => Promise<void> | undefined = () => undefined;

  async replica(pod: string, options: Partial<ClusterOperatorOptions> = {}): Promise<ClusterOperator> {
    const { clock } = this, fence = new Fence();
    const surroundings = systemSurroundings({});
    const client = async (permit?: () => AbortSignal) =>
      createKube(await openKubeconfig({ files: [this.api.kubeconfig], surroundings, clock }), {
        clock,
        version: "0.0.0",
        component: `operator ${pod}`,
        fetch: async (url, init) => {
          if (this.#cut.has(pod)) return Promise.reject(new TypeError("network unreachable"));
          const { pathname } = new URL(`${url}`);
          this.asked.add(pathname);
          await this.held(pathname);
          if (this.forbidden(pathname)) {
            const body = {
              kind: "Status",
              apiVersion: "v1",
              status: "Failure",
              code: 403,
              reason: "Forbidden",
            };
            return Promise.resolve(Response.json(body, { status: 403 }));
          }
          if (pathname.endsWith("/tokenreviews")) {
            return Response.json({ status: reviewOf(JSON.parse(`${init?.body}`)) });
          }
          if (init?.method !== "GET" && !pathname.includes("/leases")) {
            this.writes.push({ replica: pod, path: pathname, at: clock.monotonic() });
          }
          return fetch(url as URL, init);
        },
        ...permit && { permit },
      });
    const kube = await client(), writer = await client(fence.permit);
    const replica = await startClusterOperator({
      replica: { namespace: "gatehouse-system", pod, ips: ["127.0.0.1"], service: "gatehouse" },
      kube,
      writer,
      fence,
      image: "envoy",
      lease: "gatehouse",
      authority: "gatehouse-xds-authority",
      certificateLifetime: 24 * 3600_000,
      ports: { xds: 0, reports: 0, http: 0 },
      clock,
      log: silentLog,
      nonce: "1",
      ...options,
    });
    this.#stack.use(kube);
    this.#stack.use(writer);
    return replica;
  }

  /** Keeps a replica from reaching the server. */
  cut(pod: string): void {
    this.#cut.add(pod);
  }

  mend(pod: string): void {
    this.#cut.delete(pod);
  }

  /** The pod that holds the Lease. */
  async leader(): Promise<string | undefined> {
    try {
      const { spec } = await this.kube.get(leaseKind, { namespace: "gatehouse-system", name: "gatehouse" });
      return spec?.holderIdentity?.split("_")[0] || undefined;
    } catch {
      return undefined;
    }
  }

  async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = systemClock.monotonic() + 20_000;
    while (!await holds()) {
      assert(systemClock.monotonic() < deadline, `${what}: not within 20 s`);
      await systemClock.sleep(5);
    }
  }

  /** Makes a GatewayClass and waits until its status has been written. Resolves with whoever did. */
  async accepted(name: string): Promise<Write> {
    await this.kube.create(gatewayClass, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name },
      spec: { controllerName: "gatehouse.dev/gateway-controller" },
    } as ApiObject);
    const path = `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${name}/status`;
    await this.until(`the status of ${name}`, async () => {
      const { status } = await this.kube.get(gatewayClass, { name });
      return status?.conditions?.some(({ type, status }) => type === "Accepted" && status === "True") ??
        false;
    });
    return this.writes.find((write) => write.path === path)!;
  }

  /** A proxy of a new Gateway, on a stream of a replica that leads. */
  async proxyOf(replica: ClusterOperator): Promise<Call> {
    const { operator: { platform, xds } } = replica;
    await this.kube.create(namespaceKind, namespace("shop"));
    await this.accepted("ours");
    const gateway = await this.kube.create(gatewayKind, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "web", namespace: "shop" },
      spec: { gatewayClassName: "ours", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
    } as ApiObject);
    const name = childName("web", "ours"), { accounts, authority } = platform;
    // The server takes no applies, by which the operator would make it.
    const { metadata: { uid } } = await this.kube.create(serviceAccount, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        name,
        namespace: "shop",
        labels: ownLabels("web", "ours"),
        ownerReferences: [ownerReference("web", gateway.metadata.uid!)],
      },
    });
    await this.until("the account is known", () => accounts.get(`shop/${name}`) !== undefined);
    const token = await (await issuerOf("ES256")).sign(claimsOf(this.clock.now().getTime(), {
      "kubernetes.io": {
        namespace: "shop",
        pod: { name: "web-1", uid: "uid-pod" },
        serviceaccount: { name, uid },
      },
      sub: `system:serviceaccount:shop:${name}`,
    }));
    // There is an authority before the replica has a certificate of it.
    await this.until("the replica is ready", () => ready(replica));
    const client = this.#stack.use(
      new Client(xds.port, {
        authority: bundleOf(authority.authorities.get(authorityRow)!.authorities),
        serverName: "gatehouse.gatehouse-system.svc",
      }),
    );
    const call = client.call(undefined, { authorization: `Bearer ${token}` });
    call.send({ ...request("listener"), node: { id: "shop/web-1", cluster: "shop/web" } });
    return call;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

const namespace = (name: string) =>
  ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }) as ApiObject;

/** What a probe is answered. */
async function probe(replica: ClusterOperator, path: string): Promise<{ ok: boolean; text: string }> {
  const response = await fetch(`http://127.0.0.1:${replica.http}${path}`);
  return { ok: response.ok, text: await response.text() };
}

async function ready(replica: ClusterOperator): Promise<boolean> {
  return (await probe(replica, "/readyz")).ok;
}

async function metric(replica: ClusterOperator, name: string): Promise<string | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${replica.http}/metrics`)).text();
  return text.split("\n").find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
}

Deno.test("of two replicas one writes; when it stops, the other does at once, and nothing is lost", async () => {
  await using cluster = await Cluster.start();
  const { clock, kube, writes } = cluster;
  await kube.create(namespaceKind, namespace("gatehouse-system"));
  const a = await cluster.replica("a");
  await cluster.until("the first leads", async () => await cluster.leader() === "a");
  await using b = await cluster.replica("b");
  await cluster.until("both are ready", async () => await ready(a) && await ready(b));
  assertEquals((await cluster.accepted("one")).replica, "a");
  assertEquals([await metric(a, "gatehouse_leader"), await metric(b, "gatehouse_leader")], ["1", "0"]);
  assertEquals(writes.filter(({ replica }) => replica === "b"), [], "who does not lead writes nothing");
  const statusWrites = 'gatehouse_status_writes_total{kind="GatewayClass",result="written"}';
  await cluster.until("the write is counted", async () => await metric(a, statusWrites) === "1");
  assertEquals(await metric(b, statusWrites), undefined);

  const stopped = clock.monotonic(), stopping = a[Symbol.asyncDispose]();
  await cluster.until("the other leads", async () => await cluster.leader() === "b");
  const took = clock.monotonic() - stopped;
  assert(took < 10_000, `who is not told would have waited for 15 s; it took ${took} ms`);
  assert(!await ready(a).catch(() => false), "who stops is not ready");
  assertEquals((await cluster.accepted("two")).replica, "b");
  await stopping;
  assertEquals(await metric(b, "gatehouse_leader"), "1");
});

Deno.test("a replica that stops serves the streams that it has for 3 seconds more, and gives up the Lease before", async () => {
  await using cluster = await Cluster.start();
  const { clock, kube } = cluster;
  await kube.create(namespaceKind, namespace("gatehouse-system"));
  const a = await cluster.replica("a");
  await cluster.until("the first leads", async () => await cluster.leader() === "a");
  const stream = await cluster.proxyOf(a);
  assert(await stream.next(), "it is served");

  const stopped = clock.monotonic(), stopping = a[Symbol.asyncDispose]();
  const ended = stream.status.then(async () => ({ at: clock.monotonic(), leader: await cluster.leader() }));
  stream.drain();
  const { at, leader } = await ended;
  assert(at - stopped >= 3_000, `ended after ${at - stopped} ms`);
  assertEquals(leader, undefined);
  await stopping;
});

Deno.test("a replica is alive at once, and ready and a candidate only when it has seen everything", async () => {
  await using cluster = await Cluster.start();
  await cluster.kube.create(namespaceKind, namespace("gatehouse-system"));
  const routes = Promise.withResolvers<void>();
  cluster.held = (path) => path.endsWith("/httproutes") ? routes.promise : undefined;
  await using replica = await cluster.replica("a");
  using _ = { [Symbol.dispose]: routes.resolve };
  const waiting = "waiting for the list of httproutes, the first configuration, " +
    "the authority of the xDS servers\n";
  await cluster.until(
    "only the routes are missing",
    async () => (await probe(replica, "/readyz")).text === waiting,
  );
  assert((await probe(replica, "/livez")).ok);
  // More than it takes to be elected.
  await cluster.clock.sleep(5_000);
  assertEquals(await cluster.leader(), undefined);
  assert(!await ready(replica));

  routes.resolve();
  await cluster.until("it leads", async () => await cluster.leader() === "a");
  await cluster.until("it is ready", () => ready(replica));
});

Deno.test("proxies listen on IPv6 too if a pod's address says that the cluster has it", async () => {
  for (
    const [ips, expected] of [
      [["127.0.0.1"], { address: "0.0.0.0" }],
      [["127.0.0.1", "fd00::1"], { address: "::", ipv4_compat: true }],
      [["::1"], { address: "::", ipv4_compat: true }],
    ] as const
  ) {
    await using cluster = await Cluster.start();
    await cluster.kube.create(namespaceKind, namespace("gatehouse-system"));
    await using replica = await cluster.replica("a", {
      replica: { namespace: "gatehouse-system", pod: "a", ips, service: "gatehouse" },
    });
    await cluster.until("it is ready", () => ready(replica));
    const stream = await cluster.proxyOf(replica);
    const [{ resource: listener }] = (await stream.next())!.resources as [Resource];
    assert(listener?.["@type"].endsWith(".Listener"));
    const config = replica.operator.graph.tables.find(({ name }) => name === "config maps") as Table<Child>;
    const { data } = config.get("shop/web") as unknown as {
      readonly data: { readonly [key: string]: string };
    };
    const { static_resources } = JSON.parse(data["envoy.json"]!) as Bootstrap;
    const socket = ({ address }: Listener) => address?.socket_address;
    assertEquals([listener as Listener, ...static_resources?.listeners ?? []].map(socket), [
      { ...expected, port_value: 80 },
      { ...expected, port_value: 19_001 },
      { ...expected, port_value: 19_002 },
    ]);
    stream.drain();
    await Promise.all([replica[Symbol.asyncDispose](), stream.status]);
  }
});

Deno.test("how long the thread was busy is told, in seconds", async () => {
  await using cluster = await Cluster.start();
  await using replica = await cluster.replica("a");
  const told = async () => {
    const [count, sum] = await Promise.all(
      ["count", "sum"].map((part) => metric(replica, `gatehouse_event_loop_lag_seconds_${part}`)),
    );
    return { count: Number(count), sum: Number(sum) };
  };
  const before = await told(), start = systemClock.monotonic();
  while (systemClock.monotonic() - start < 200);
  await cluster.until("the timer has come", async () => (await told()).count > before.count);
  const { sum } = await told(), busy = (systemClock.monotonic() - start) * factor / 1000;
  // By the replica's clock, and but for what was left until the timer was due.
  assert(sum - before.sum > 200 * factor / 1000 - 1, `${sum - before.sum} s`);
  assert(sum - before.sum < 10 * busy, `${sum - before.sum} s of ${busy} s`);
});

Deno.test("a leader that loses the API server writes no more, and follows once it is back", async () => {
  await using cluster = await Cluster.start();
  const { clock, kube, writes } = cluster;
  await kube.create(namespaceKind, namespace("gatehouse-system"));
  await using a = await cluster.replica("a");
  await cluster.until("the first leads", async () => await cluster.leader() === "a");
  await using b = await cluster.replica("b");
  await cluster.until("both are ready", async () => await ready(a) && await ready(b));
  await cluster.accepted("one");

  cluster.cut("a");
  const cut = clock.monotonic();
  const two = await cluster.accepted("two");
  assertEquals(two.replica, "b");
  const took = two.at - cut;
  assert(took > 10_000 && took < 25_000, `took over after ${took} ms`);
  assert(!a.scope.signal.aborted, "it goes on serving");
  assertEquals(await metric(a, "gatehouse_leader"), "0");

  cluster.mend("a");
  const [first] = writes.filter(({ replica }) => replica === "b");
  assertEquals((await cluster.accepted("three")).replica, "b");
  await clock.sleep(10_000);
  assertEquals(
    writes.filter(({ replica, at }) => replica === "a" && at > first!.at),
    [],
    "no write after the first one of the next leader",
  );

  await b[Symbol.asyncDispose]();
  await cluster.until("it leads again", async () => await cluster.leader() === "a");
  assertEquals((await cluster.accepted("four")).replica, "a", "what had stopped goes on");
});

const inNamespaces = /\/namespaces\/(team-a|team-b|gatehouse-system)\//;
/** Which kinds there are, the keys of tokens and the server's version are for everybody to know. */
const known = /^\/(api|apis\/[^/]+)\/[^/]+$|^\/(\.well-known|openid)\/|^\/livez$/;

Deno.test("confined to namespaces it asks for nothing else, and goes on without what it may not see", async () => {
  await using cluster = await Cluster.start();
  const { kube, writes, asked } = cluster;
  for (const name of ["gatehouse-system", "team-a", "team-b", "other"]) {
    await kube.create(namespaceKind, namespace(name));
  }
  const beyond = (path: string) => !inNamespaces.test(path) && !known.test(path);
  cluster.forbidden = beyond;
  await using replica = await cluster.replica("a", { namespaces: ["team-a", "team-b"], classes: ["ours"] });
  await cluster.until("it is ready", () => ready(replica));
  for (const place of ["team-a", "team-b", "other"]) {
    await kube.create(gatewayKind, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "web", namespace: place },
      spec: { gatewayClassName: "ours", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
    } as ApiObject);
  }
  const accepted = async (place: string) => {
    const { status } = await kube.get(gatewayKind, { namespace: place, name: "web" });
    return status?.conditions?.some(({ type, status }) => type === "Accepted" && status === "True") ?? false;
  };
  await cluster.until(
    "both teams are served",
    async () => await accepted("team-a") && await accepted("team-b"),
  );
  assert(!await accepted("other"));
  const tried = /\/(gatewayclasses|namespaces|customresourcedefinitions|tokenreviews)$/;
  assertEquals(
    [...asked].filter((path) => beyond(path) && !tried.test(path)),
    [],
    "only of what has no namespace",
  );
  assertEquals(writes.filter(({ path }) => beyond(path)), [], "nothing is written to what is assumed");
});
