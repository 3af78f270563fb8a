/**
 * What proxies refuse is kept from them for as long as it is the same, and no longer.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { gateway, http, route, service, small, to } from "./cluster.ts";

/** Rejects a piece as it is now. */
function reject({ world, ir, graph }: Batch, gateway: string, piece: string, message?: string): void {
  const pieces = [...ir.contributions.entries()].flatMap(([, c]) => c.gateway === gateway ? c.pieces : []);
  const { content } = pieces.find(({ id }) => id === piece)!;
  world.rejections.set(`${gateway}|${piece}`, { content, ...message !== undefined && { message } });
  graph.settle();
}

function actions({ ir }: Batch, host: string): readonly unknown[] {
  return ir.virtualHosts.get(`default/web/80/${host}`)!.entries.map(({ action }) =>
    action.kind === "respond" ? action.status : action.kind
  );
}

Deno.test("rejections: a rejected rule is a 500 until it changes, and comes back by itself", () => {
  const batch = translate(small(route("a", { rules: [to("app", "/x"), to("app", "/y")] })));
  const { world, graph, ir } = batch;
  assertEquals(actions(batch, "*"), ["forward", "forward"]);
  const before = ir.contributions.get("default/web|HTTPRoute/default/a");

  reject(batch, "default/web", "HTTPRoute/default/a/rule/1", "no");
  assertEquals(actions(batch, "*"), ["forward", 500]);
  assertEquals(ir.contributions.get("default/web|HTTPRoute/default/a"), before, "what is meant stays");

  // Another generation with the same content is as bad as the first.
  world.objects.HTTPRoute.set(
    "default/a",
    route("a", { rules: [to("app", "/x"), to("app", "/y")] }, { generation: 2 }),
  );
  graph.settle();
  assertEquals(actions(batch, "*"), ["forward", 500]);

  world.objects.HTTPRoute.set("default/a", route("a", { rules: [to("app", "/x"), to("app", "/z")] }));
  graph.settle();
  assertEquals(actions(batch, "*"), ["forward", "forward"]);
});

Deno.test("rejections: hold for the Gateway that they come from, not for another", () => {
  const batch = translate(
    small(
      gateway("other", [http]),
      route("a", { parentRefs: [{ name: "web" }, { name: "other" }], rules: [to("app", "/x")] }),
    ),
  );
  reject(batch, "default/web", "HTTPRoute/default/a/rule/0", "no");
  assertEquals(actions(batch, "*"), [500]);
  assertEquals(batch.ir.virtualHosts.get("default/other/80/*")!.entries[0]!.action.kind, "forward");
});

Deno.test("rejections: a rejected listener takes its port with it, and a change of address lifts that", () => {
  const batch = translate(small(route("a", { rules: [to("app")] })));
  reject(batch, "default/web", "Gateway/default/web/listener/http", "in use");
  const { ir, world, graph } = batch;
  const sizes = () => [ir.listeners.size, ir.routeTables.size, ir.virtualHosts.size, ir.clusters.size];
  assertEquals(sizes(), [0, 0, 0, 0]);
  assertEquals([...ir.contributions.entries()].map(([key]) => key), ["default/web|Gateway/default/web"]);
  world.addresses.set("default/web", {
    assigned: [{ type: "IPAddress", value: "127.0.0.2" }],
    bind: ["127.0.0.2"],
  });
  graph.settle();
  assertEquals(sizes(), [1, 1, 1, 1]);
});

Deno.test("rejections: a rejected cluster is gone, its share is answered with 500, its endpoints go", () => {
  const batch = translate(small(route("a", { rules: [to("app")] })));
  reject(batch, "default/web", "Service/default/app/port/80", "no");
  const { ir } = batch;
  assertEquals(actions(batch, "*"), [500]);
  assertEquals([ir.clusters.size, ir.clusterUses.size, ir.endpoints.size], [0, 0, 0]);
  assertEquals(
    ir.contributions.get("default/web|Service/default/app")!.pieces.length,
    1,
    "what is meant stays",
  );
});

Deno.test("rejections: a Service's clusters with retries and without are two, and each is rejected by itself", () => {
  const retried = { ...to("app", "/retried"), retry: { attempts: 1 } };
  const batch = translate(small(route("a", { rules: [retried, to("app", "/plain")] })));
  reject(batch, "default/web", "Service/default/app/port/80+retries", "no");
  assertEquals(actions(batch, "*"), [500, "forward"]);
  assertEquals([...batch.ir.clusters.entries()].map(([name]) => name), ["default/app/80"]);
  reject(batch, "default/web", "Service/default/app/port/80", "no");
  assertEquals(actions(batch, "*"), [500, 500]);
});

Deno.test("rejections: without a rejected cluster copies are left out, and everything else is as before", () => {
  const mirror = (name: string) => ({
    type: "RequestMirror",
    requestMirror: { backendRef: { name, port: 80 } },
  });
  const rule = {
    ...to("app"),
    filters: [mirror("one"), mirror("two"), { type: "CORS", cors: { allowOrigins: ["*"] } }],
    timeouts: { request: "1s" },
  };
  const batch = translate(small(route("a", { rules: [rule] }), service("one"), service("two")));
  const forward = () => {
    const [entry] = batch.ir.virtualHosts.get("default/web/80/*")!.entries;
    return entry?.action.kind === "forward" ? entry.action : undefined;
  };
  const before = forward();
  assertEquals(before?.mirrors?.map(({ cluster }) => cluster), ["default/one/80", "default/two/80"]);
  const { mirrors: _, ...rest } = before!;
  reject(batch, "default/web", "Service/default/one/port/80", "no");
  assertEquals(forward(), { ...rest, mirrors: before!.mirrors!.slice(1) });
  reject(batch, "default/web", "Service/default/two/port/80", "no");
  assertEquals(forward(), rest);
  assertEquals([...batch.ir.clusters.entries()].map(([name]) => name), ["default/app/80"]);
  assertEquals(rejectedPart(batch), "False");
});

/** What the route says of being programmed. */
function rejectedPart({ statuses }: Batch): string | undefined {
  const status = statuses.get("HTTPRoute/default/a");
  if (!status || !("parents" in status)) return undefined;
  return status.parents[0]?.conditions.find(({ type }) => type === "Programmed")?.status;
}
