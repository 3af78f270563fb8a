/**
 * Changes of listeners and certificates under constant load, through the whole operator and a real Envoy: every request gets the
 * answer that is right before or after the change, and none is lost.
 *
 * @module
 */
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import { gateway, httpRoute, listenerSet, secret } from "../../crds/mod.ts";
import { serveBackend } from "./backends.ts";
import {
  arrived,
  backendRefs,
  between,
  create,
  createRoute,
  finish,
  from,
  http,
  replace,
  start,
  targets,
} from "./changes.ts";
import { gatewayNamed, routeNamed } from "./gateway.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

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

Deno.test("no lost request: ListenerSets take hostnames over from their Gateway and from each other, and give them back", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.9"));
  const { kube } = web, namespace = "default";
  stack.use(serveBackend("app", "127.69.0.1"));
  await create(web, "app", ["127.69.0.1"]);
  const allowedListeners = { namespaces: { from: "Same" } };
  const spec = { gatewayClassName: "gatehouse", listeners: [http], allowedListeners };
  await kube.create(gateway, { ...gatewayNamed("web"), spec });
  const rules = [{ backendRefs: backendRefs("app") }], sets = ["a", "b"];
  await createRoute(web, "www", rules);
  // The same by way of the sets, which are not there yet.
  const parentRefs = sets.map((name) => ({ kind: "ListenerSet", name }));
  await kube.create(httpRoute, {
    ...routeNamed("sets", rules),
    spec: { parentRefs, hostnames: ["www.example.com"], rules },
  });
  await using traffic = startTraffic({ address: web.address, targets, judge: from("app") });
  const set = async (name: string, ...hostnames: readonly string[]) => {
    const listeners = hostnames.map((hostname, i) => ({ ...http, name: `l${i}`, hostname }));
    await traffic.more(between);
    await arrived(
      web,
      traffic,
      await kube.create(listenerSet, {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "ListenerSet",
        metadata: { name, namespace },
        spec: { parentRef: { name: "web" }, listeners },
      }),
    );
  };
  const gone = async (name: string) => {
    await traffic.more(between);
    await kube.delete(listenerSet, { namespace, name });
    await traffic.until(
      `the operator sees that ${name} is gone`,
      () => !web.local.operator.world.objects.ListenerSet.get(`${namespace}/${name}`),
    );
  };
  for (let i = 0; i < 4; i++) {
    await set("a", "*.example.org", "*.example.com");
    await set("b", "www.example.com", "*.example.com");
    await gone("a");
    await gone("b");
    await set("b", "www.example.com");
    await set("a", "www.example.com", "a.example.com");
    await gone("b");
    await gone("a");
  }
  await traffic.more(between);
  await finish(traffic, 33 * between);
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
