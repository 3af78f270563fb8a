/**
 * Changes of routes and backends under constant load, through the whole operator and a real Envoy: every request gets the
 * answer that is right before or after the change, and none is lost.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { endpointSlice, gateway, httpRoute, service } from "../../crds/mod.ts";
import { serveBackend } from "./backends.ts";
import {
  arrived,
  backendRefs,
  between,
  create,
  createRoute,
  finish,
  from,
  programmed,
  replace,
  start,
  targets,
  www,
} from "./changes.ts";
import { gatewayNamed, routeNamed } from "./gateway.ts";
import { startTraffic } from "./traffic.ts";

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

Deno.test("no lost request: what a backend speaks, hostnames, and routes that take over from each other", async () => {
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
