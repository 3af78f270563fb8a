/**
 * Changes under constant load, through the whole operator and a real Envoy: whatever changes, every request gets the answer
 * that is right before or after the change, and none is lost.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import {
  type ApiObject,
  endpointSlice,
  gateway,
  httpRoute,
  type Kind,
  secret,
  service,
} from "../../crds/mod.ts";
import {
  type Backend,
  leaving,
  ready,
  serveBackend,
  serviceNamed,
  type SliceEndpoint,
  sliceOf,
} from "./backends.ts";
import { gatewayNamed, routeNamed, startGateway, type TestGateway } from "./gateway.ts";
import { type Answer, startTraffic, type Target, type Traffic } from "./traffic.ts";

/** How many requests over each protocol go by between one change and the next. */
const between = 15;

/** With two workers, which hear of changes one after the other. */
function start(address: string): Promise<TestGateway> {
  return startGateway({ address, concurrency: 2 });
}

/** Waits until the operator has seen this version of an object and every proxy has all that follows from it. */
async function arrived<T extends ApiObject>(
  { local: { operator } }: TestGateway,
  traffic: Traffic,
  { kind, metadata: { name, resourceVersion } }: T,
): Promise<void> {
  const source =
    (operator.world.objects as unknown as Record<string, { get(key: string): ApiObject | undefined }>)[
      kind
    ]!;
  const seen = () => source.get(`default/${name}`)?.metadata.resourceVersion;
  await traffic.until(`the operator sees ${kind} ${name}`, () => Number(seen()) >= Number(resourceVersion));
  await operator.loop.idle();
  await traffic.until(
    `the proxies have what follows from ${kind} ${name}`,
    () => operator.ledger.report("default/web").every(({ connected, behind }) => connected && behind === 0),
  );
}

/** Waits until every proxy has said that it has this version of a route. */
async function programmed(
  web: TestGateway,
  { metadata: { name, uid, generation = 1 } }: ApiObject,
): Promise<void> {
  await web.untilStatus(
    httpRoute,
    name,
    `route ${name} is programmed in generation ${generation}`,
    (c, { metadata }) => {
      const condition = c.get("Programmed");
      return metadata.uid === uid && condition?.status === "True" &&
        condition.observedGeneration! >= generation;
    },
  );
}

async function createRoute(web: TestGateway, name: string, rules: readonly object[]): Promise<void> {
  await programmed(web, await web.kube.create(httpRoute, routeNamed(name, rules)));
}

/** Changes fields of an object; the result says which version that is. */
function replace<T extends ApiObject>(
  { kube }: TestGateway,
  kind: Kind<T>,
  name: string,
  path: string,
  value: unknown,
): Promise<T> {
  return kube.patch(kind, { namespace: "default", name }, [{ op: "replace", path, value }]);
}

async function create(web: TestGateway, name: string, addresses: readonly string[]): Promise<void> {
  await web.kube.create(service, serviceNamed(name));
  await web.kube.create(endpointSlice, sliceOf(name, addresses.map(ready)));
}

function finish(traffic: Traffic, least: number): Promise<void> {
  return traffic.stop().then(() => {
    assertEquals(traffic.failures, []);
    for (const [protocol, count] of Object.entries(traffic.answers)) {
      assert(count >= least, `${count} answers over ${protocol}, where there should be ${least}`);
    }
  });
}

const www: Target = { host: "www.example.com", path: "/" };
const http = { name: "http", port: 80, protocol: "HTTP" };
const targets: readonly Target[] = [www, { ...www, path: "/slow" }];
const backendRefs = (...names: string[]) => names.map((name) => ({ name, port: 80 }));

/** Complains of what is neither a success nor from one of those who may answer. */
function from(...backends: readonly string[]) {
  return ({ status, backend }: Answer) =>
    status === 200 && backends.includes(backend) ? undefined : `${status} from "${backend}"`;
}

Deno.test("no lost request: twenty swaps of backends, each of which stops once nothing leads to it", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.1"));
  // Clusters take their time to get ready, and the more there are the longer: a route that does not wait is found out.
  const parts = Array.from({ length: 12 }, (_, part) => part);
  const generations = Array.from({ length: 21 }, (_, g) => `app-${g}`);
  const backends = generations.map((name, g) => stack.use(serveBackend(name, `127.61.0.${g + 1}`)));
  const bring = async (g: number) => {
    await Promise.all(parts.map((part) => create(web, `app-${g}-${part}`, [backends[g]!.address])));
  };
  const rules = (g: number) =>
    parts.map((part) => ({
      matches: [{ path: { type: "PathPrefix", value: `/${part}` } }],
      backendRefs: backendRefs(`app-${g}-${part}`),
    }));
  await bring(0);
  await web.kube.create(gateway, gatewayNamed("web"));
  await createRoute(web, "www", rules(0));
  let allowed: readonly string[] = [generations[0]!];
  await using traffic = startTraffic({
    address: web.address,
    targets: parts.flatMap((part) => [`/${part}`, `/${part}/slow`]).map((path) => ({ ...www, path })),
    judge: (answer) => from(...allowed)(answer),
  });
  for (let g = 1; g <= 20; g++) {
    await traffic.more(between);
    await bring(g);
    allowed = [generations[g - 1]!, generations[g]!];
    const changed = await replace(web, httpRoute, "www", "/spec/rules", rules(g));
    await programmed(web, changed);
    await Promise.all(parts.flatMap((part) => [
      web.kube.delete(service, { namespace: "default", name: `app-${g - 1}-${part}` }),
      web.kube.delete(endpointSlice, { namespace: "default", name: `app-${g - 1}-${part}-1` }),
    ]));
    await traffic.more(between);
    allowed = [generations[g]!];
    await backends[g - 1]!.stop();
  }
  await traffic.more(between);
  await finish(traffic, 40 * between);
});

Deno.test("no lost request: rules in every order, while what they say stays the same", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.2"));
  for (const [i, name] of ["a", "b", "c", "d"].entries()) {
    const address = `127.62.0.${i + 1}`;
    stack.use(serveBackend(name, address));
    await create(web, name, [address]);
  }
  const rule = (backend: string, path: string, more: object = {}) => ({
    matches: [{ path: { type: "PathPrefix", value: path }, ...more }],
    backendRefs: backendRefs(backend),
  });
  // The first three are told apart by precedence; the last two match the same, so that the first of them wins.
  const rules = [
    rule("a", "/a"),
    rule("b", "/a/b"),
    rule("c", "/a", { method: "POST" }),
    rule("c", "/"),
    rule("d", "/"),
  ];
  await web.kube.create(gateway, gatewayNamed("web"));
  await createRoute(web, "www", rules);
  const targets = ["/a", "/a/b", "/c", "/a/slow"].map((path) => ({ ...www, path }));
  const expected: { readonly [path: string]: readonly string[] } = {
    "/a": ["a"],
    "/a/b": ["b"],
    "/c": ["c", "d"],
    "/a/slow": ["a"],
  };
  const seen = new Set<string>();
  await using traffic = startTraffic({
    address: web.address,
    targets,
    judge: (answer) => {
      seen.add(answer.backend);
      return from(...expected[answer.path]!)(answer);
    },
  });
  for (let i = 1; i <= 20; i++) {
    await traffic.more(between);
    const order = i % 2 === 0 ? rules : rules.toReversed();
    const turned = [...order.slice(i % 5), ...order.slice(0, i % 5)];
    const changed = await replace(web, httpRoute, "www", "/spec/rules", turned);
    await programmed(web, changed);
  }
  await traffic.more(between);
  await finish(traffic, 21 * between);
  assertEquals([...seen].sort(), ["a", "b", "c", "d"], "the order took effect");
});

Deno.test("no lost request: hostnames of listeners and listeners come and go", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.3"));
  stack.use(serveBackend("app", "127.63.0.1"));
  await create(web, "app", ["127.63.0.1"]);
  const http = { name: "http", port: 80, protocol: "HTTP", allowedRoutes: { namespaces: { from: "Same" } } };
  await web.kube.create(gateway, gatewayNamed("web", [http]));
  await createRoute(web, "www", [{ backendRefs: backendRefs("app") }]);
  const judge = from("app");
  await using traffic = startTraffic({ address: web.address, targets, judge });
  const wide = { ...http, hostname: "*.example.com" }, exact = { ...http, hostname: "www.example.com" };
  const other = { ...http, name: "other", hostname: "*.example.org" };
  const second = { ...http, name: "second", port: 8080 };
  // Each is the listeners of the Gateway at one time; port 80 answers for www.example.com in all of them.
  const edits: readonly (readonly object[])[] = [
    [wide],
    [exact],
    [http],
    [http, other],
    [other, http],
    [wide, other],
    [{ ...wide, name: "renamed" }, other],
    [http, { ...exact, name: "exact" }],
    [exact],
    [exact, second],
    [http, second],
    [second, { ...other, port: 8080 }, wide],
    [http],
  ];
  let onSecond: Traffic | undefined;
  for (const listeners of [...edits, ...edits]) {
    await traffic.more(between);
    const has8080 = listeners.includes(second);
    if (!has8080 && onSecond) {
      // Clients go before the listener does, or would be refused with good reason.
      await finish(onSecond, between);
      onSecond = undefined;
    }
    const changed = await replace(web, gateway, "web", "/spec/listeners", listeners);
    await arrived(web, traffic, changed);
    if (has8080) {
      onSecond ??= stack.use(
        startTraffic({ address: web.address, port: 8080, targets, judge, patientAtFirst: true }),
      );
      await onSecond.more(between);
    }
  }
  await finish(traffic, 26 * between);
});

Deno.test("no lost request: hostnames, listeners and certificates of HTTPS come and go", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.8"));
  stack.use(serveBackend("app", "127.68.0.1"));
  await create(web, "app", ["127.68.0.1"]);
  const day = 24 * 3_600_000, now = Date.now();
  const validity = { notBefore: new Date(now - day), notAfter: new Date(now + day) };
  const authority = await createAuthority({ commonName: "authority", ...validity });
  const certificate = async () => {
    const dnsNames = ["www.example.com", "api.example.com", "www.example.org"];
    const pair = await issue(authority, { commonName: "www", dnsNames, usages: ["server"], ...validity });
    return { "tls.crt": btoa(pair.certificate), "tls.key": btoa(pair.key) };
  };
  for (const name of ["one", "two"]) {
    await web.kube.create(secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: "default" },
      type: "kubernetes.io/tls",
      data: await certificate(),
    });
  }
  const listener = (name: string, hostname?: string, secret = "one") => ({
    name,
    port: 443,
    protocol: "HTTPS",
    ...hostname !== undefined && { hostname },
    tls: { certificateRefs: [{ name: secret }] },
  });
  const any = listener("any"), wide = listener("wide", "*.example.com");
  const exact = listener("exact", "www.example.com", "two"), other = listener("other", "*.example.org");
  await web.kube.create(gateway, gatewayNamed("web", [any]));
  await web.kube.create(httpRoute, routeNamed("api", [{ backendRefs: backendRefs("app") }]));
  await createRoute(web, "www", [{ backendRefs: backendRefs("app") }]);
  await using traffic = startTraffic({
    address: web.address,
    authorities: authority.certificate,
    targets: [...targets, { host: "api.example.com", path: "/" }],
    judge: from("app"),
  });
  const edits: readonly (readonly object[])[] = [
    [any, other],
    [any, other, http],
    [any],
    [wide],
    [any, wide],
    [any, wide, exact],
    [exact, any],
    [wide, exact, other],
    [wide],
    [{ ...wide, tls: { certificateRefs: [{ name: "two" }] } }],
    [wide],
    [any],
  ];
  for (const listeners of edits) {
    await traffic.more(between);
    await arrived(web, traffic, await replace(web, gateway, "web", "/spec/listeners", listeners));
    await traffic.more(between);
    for (const name of ["one", "two"]) {
      await arrived(web, traffic, await replace(web, secret, name, "/data", await certificate()));
    }
  }
  await traffic.more(between);
  await finish(traffic, 25 * between);
});

Deno.test("no lost request: what a backend speaks, its ports, and routes that take over from each other", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.7"));
  stack.use(serveBackend("app", "127.67.0.1"));
  await create(web, "app", ["127.67.0.1"]);
  const rules = [{ backendRefs: backendRefs("app") }];
  await web.kube.create(gateway, gatewayNamed("web"));
  await createRoute(web, "www", rules);
  await using traffic = startTraffic({ address: web.address, targets, judge: from("app") });
  const port = { name: "http", port: 80, protocol: "TCP" };
  for (let i = 0; i < 10; i++) {
    // The cluster stays and changes: connections of the old sort are given up, what is under way on them is not.
    for (const appProtocol of ["kubernetes.io/h2c", "http"]) {
      await traffic.more(between);
      await arrived(
        web,
        traffic,
        await replace(web, service, "app", "/spec/ports", [{ ...port, appProtocol }]),
      );
    }
    await traffic.more(between);
    const changed = await replace(web, httpRoute, "www", "/spec/hostnames", [
      "www.example.com",
      ...i % 2 === 0 ? ["more.example.com"] : [],
    ]);
    await programmed(web, changed);
    // Another route for the same; then the first goes, and comes back.
    await traffic.more(between);
    const spec = { parentRefs: [{ name: "web" }], hostnames: ["www.example.com"], rules };
    await programmed(web, await web.kube.create(httpRoute, { ...routeNamed("other", rules), spec }));
    await web.kube.delete(httpRoute, { namespace: "default", name: "www" });
    await traffic.more(between);
    await createRoute(web, "www", rules);
    await web.kube.delete(httpRoute, { namespace: "default", name: "other" });
    await traffic.more(between);
    await web.until("the other route is gone", ({ world }) => !world.objects.HTTPRoute.get("default/other"));
  }
  await finish(traffic, 50 * between);
});

/** Moves all traffic of a Service from some endpoints to others, as a Deployment does. */
async function roll(
  web: TestGateway,
  traffic: Traffic,
  name: string,
  { keep, old, fresh }: {
    readonly keep: readonly Backend[];
    readonly old: readonly Backend[];
    readonly fresh: readonly Backend[];
  },
): Promise<void> {
  const set = async (endpoints: readonly SliceEndpoint[]) =>
    await arrived(web, traffic, await replace(web, endpointSlice, `${name}-1`, "/endpoints", endpoints));
  const addresses = (backends: readonly Backend[]) => backends.map(({ address }) => address);
  const stay = addresses([...keep, ...fresh]).map(ready);
  await set([...stay, ...addresses(old).map(leaving)]);
  const served = old.map(({ served }) => served);
  await traffic.more(between);
  // One of each sort of client may still have been on its way.
  const late = old.reduce((sum, backend, i) => sum + backend.served - served[i]!, 0);
  assert(late <= 6, `${late} requests went to endpoints that were leaving`);
  await set(stay);
  await Promise.all(old.map((backend) => backend.stop()));
}

Deno.test("no lost request: a hundred endpoints are replaced, ten at a time and all at once", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.4"));
  const generation = (g: number) =>
    Array.from({ length: 100 }, (_, i) => stack.use(serveBackend("app", `127.64.${g}.${i + 1}`)));
  const first = generation(0);
  await create(web, "app", first.map(({ address }) => address));
  await web.kube.create(gateway, gatewayNamed("web"));
  await createRoute(web, "www", [{ backendRefs: backendRefs("app") }]);
  await using traffic = startTraffic({ address: web.address, targets, judge: from("app") });
  await traffic.more(between);
  const second = generation(1);
  for (let i = 0; i < 100; i += 10) {
    await roll(web, traffic, "app", {
      keep: [...second.slice(0, i), ...first.slice(i + 10)],
      old: first.slice(i, i + 10),
      fresh: second.slice(i, i + 10),
    });
  }
  const third = generation(2);
  await roll(web, traffic, "app", { keep: [], old: second, fresh: third });
  await traffic.more(100);
  await finish(traffic, 11 * between + 100);
  const idle = third.filter(({ served }) => served === 0).length;
  assert(idle < 50, `${idle} of the endpoints were never asked`);
});

Deno.test("no lost request: nothing is there, then something is: 503 in between, and nowhere else", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.5"));
  await web.kube.create(gateway, gatewayNamed("web"));
  for (const [name, address] of [["app", "127.65.0.1"], ["stays", "127.65.0.2"]] as const) {
    stack.use(serveBackend(name, address));
    await create(web, name, [address]);
    await createRoute(web, name, [{ backendRefs: backendRefs(name) }]);
  }
  const targets = ["app", "stays"].flatMap((name) =>
    ["/", "/slow"].map((path) => ({ host: `${name}.example.com`, path }))
  );
  let phase: "there" | "changing" | "gone" = "there", unavailable = 0;
  await using traffic = startTraffic({
    address: web.address,
    targets,
    judge: (answer) => {
      if (answer.host !== "app.example.com") return from("stays")(answer);
      const none = answer.status === 503 && answer.backend === "";
      if (none) unavailable++;
      if (phase === "changing" && none) return undefined;
      if (phase === "gone") return none ? undefined : `${answer.status} although nothing is there`;
      return from("app")(answer);
    },
  });
  /** Requests that were sent before a change may be answered after it. */
  const settled = () => traffic.more(20);
  for (const [round, empty] of [[], [{ ...ready("127.65.0.1"), conditions: { ready: false } }]].entries()) {
    await traffic.more(between);
    phase = "changing";
    await arrived(web, traffic, await replace(web, endpointSlice, "app-1", "/endpoints", empty));
    await settled();
    phase = "gone";
    const before = unavailable;
    await traffic.more(2 * between);
    assert(unavailable - before >= between, `round ${round}: ${unavailable - before} times unavailable`);
    phase = "changing";
    await arrived(
      web,
      traffic,
      await replace(web, endpointSlice, "app-1", "/endpoints", [ready("127.65.0.1")]),
    );
    await settled();
    phase = "there";
    await traffic.more(2 * between);
  }
  await finish(traffic, 8 * between);
});

Deno.test("no lost request: the first answers of an Envoy are right, when it is new and when it comes back", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.6"));
  stack.use(serveBackend("app", "127.66.0.1"));
  const names = Array.from({ length: 150 }, (_, i) => `r${i}`);
  for (const name of names) {
    await create(web, name, ["127.66.0.1"]);
    await web.kube.create(httpRoute, routeNamed(name, [{ backendRefs: backendRefs(name) }]));
  }
  const targets = names.map((name) => ({ host: `${name}.example.com`, path: "/" }));
  const begin = () =>
    startTraffic({ address: web.address, targets, judge: from("app"), patientAtFirst: true });
  const first = stack.use(begin());
  await web.kube.create(gateway, gatewayNamed("web"));
  await first.until("there are answers", () => first.answers.http1 > 0 && first.answers.http2 > 0);
  await first.more(names.length);
  await finish(first, names.length);

  const { pid, restarts } = web.local.dataPlane.statuses().get("default/web")!;
  using connection = await Deno.connect({ hostname: web.address, port: 80 });
  Deno.kill(pid!, "SIGKILL");
  // A process that is gone leaves its connections, and before that the socket on which it listened.
  await connection.read(new Uint8Array(1)).catch(() => null);
  const again = stack.use(begin());
  await again.more(names.length);
  await finish(again, names.length);
  assertEquals(web.local.dataPlane.statuses().get("default/web")!.restarts, restarts + 1);
});
