/**
 * A bug that one object runs into is told on that object and hurts no other.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { gateway, http, type Raw, route, service, small, to } from "./cluster.ts";

function conditionOf({ statuses }: Batch, key: string, type: string): unknown {
  const status = statuses.get(key)!;
  if ("ancestors" in status) throw new Error(`${key} has no conditions of its own`);
  const conditions = "parents" in status ? status.parents[0]!.conditions : status.conditions;
  const found = conditions.find((condition) => condition.type === type)!;
  return [found.status, found.reason, found.message];
}

/** An object that cannot be read, as a schema that is looser than ours might let it through. */
function trap(): Raw {
  return {
    get path(): never {
      throw new Error("boom");
    },
  };
}

Deno.test("failures: a route that cannot be read says so, its neighbours are served", () => {
  const batch = translate(
    small(route("bad", { rules: [{ matches: [trap()] }] }), route("good", { rules: [to("app")] })),
  );
  assertEquals(batch.graph.stats.failing, 1);
  assertEquals(conditionOf(batch, "HTTPRoute/default/bad", "Accepted"), [
    "False",
    "InternalError",
    "Cannot read this route: boom; this is a bug in Gatehouse, please report it",
  ]);
  assertEquals(conditionOf(batch, "HTTPRoute/default/good", "Accepted"), [
    "True",
    "Accepted",
    "The route is attached",
  ]);
  assertEquals(
    batch.ir.virtualHosts.get("default/web/80/*")!.entries.map(({ origin, action }) => [origin, action.kind]),
    [["HTTPRoute/default/good", "forward"]],
  );
  batch.world.objects.HTTPRoute.set("default/bad", route("bad", { rules: [to("app", "/x")] }));
  batch.graph.settle();
  assertEquals(batch.graph.stats.failing, 0);
  assertEquals(batch.ir.virtualHosts.get("default/web/80/*")!.entries.length, 2);
});

Deno.test("failures: a Gateway that cannot be read says so, other Gateways are served", () => {
  const bad = {
    name: "http",
    port: 80,
    get protocol(): never {
      throw new Error("boom");
    },
  };
  const batch = translate(small(gateway("bad", [bad]), route("a", { rules: [to("app")] })));
  assertEquals(conditionOf(batch, "Gateway/default/bad", "Accepted"), [
    "False",
    "InternalError",
    "Cannot read this Gateway: boom; this is a bug in Gatehouse, please report it",
  ]);
  assertEquals([...batch.ir.listeners.entries()].map(([key]) => key), ["default/web/80"]);
  batch.world.objects.Gateway.set("default/bad", gateway("bad", [http]));
  batch.graph.settle();
  assertEquals([...batch.ir.listeners.entries()].map(([key]) => key).sort(), [
    "default/bad/80",
    "default/web/80",
  ]);
});

Deno.test("failures: a route that cannot be resolved answers 500", () => {
  const trapped = service("trapped");
  const batch = translate(small(route("good", { rules: [to("app")] })));
  Object.defineProperty(trapped, "spec", { get: () => trap().path });
  batch.world.objects.Service.set("default/trapped", trapped);
  batch.world.objects.HTTPRoute.set("default/bad", route("bad", { rules: [to("trapped", "/x")] }));
  batch.graph.settle();
  assertEquals((conditionOf(batch, "HTTPRoute/default/bad", "Accepted") as string[])[1], "InternalError");
  assertEquals(
    batch.ir.virtualHosts.get("default/web/80/*")!.entries.map(({ origin, action }) => [origin, action.kind]),
    [["HTTPRoute/default/bad", "respond"], ["HTTPRoute/default/good", "forward"]],
  );
});
