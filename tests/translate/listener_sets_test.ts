/**
 * ListenerSets: what traffic sees of them, and what a change of one costs.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { gateway, gatewayClass, type Raw, route, service, slice, stored, to } from "./cluster.ts";
import { serving } from "./serving.ts";

function listenerSet(name: string, listeners: readonly Raw[], more: Raw = {}): Raw {
  return stored({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "ListenerSet",
    metadata: { name, ...more.metadata },
    spec: { parentRef: { name: "gw" }, listeners },
  });
}

const allowed = { spec: { allowedListeners: { namespaces: { from: "Same" } } } };
const ofSet = (name: string) => ({ kind: "ListenerSet", name });

function http(name: string, hostname: string, port = 80): Raw {
  return { name, port, protocol: "HTTP", hostname };
}

/** The status and reason of a condition of a Gateway or ListenerSet. */
function conditionOf(statuses: Batch["statuses"], key: string, type: string): readonly unknown[] {
  const status = statuses.get(key);
  const found = status && "conditions" in status && status.conditions.find((c) => c.type === type);
  return found ? [found.status, found.reason] : [];
}

Deno.test("listener sets: routes answer on the listeners of what they name, while sets come and go", async () => {
  await using served = await serving([{ name: "http", hostname: "*.example.com" }], [
    route("gateway", { parentRefs: [{ name: "gw" }], rules: [to("app", "/gateway")] }),
    route("set", { parentRefs: [ofSet("shop")], rules: [to("app", "/set")] }),
    route("both", { parentRefs: [{ name: "gw" }, ofSet("shop")], rules: [to("app", "/both")] }),
  ]);
  const { port } = served;
  const own = { port, protocol: "HTTP", name: "http", hostname: "*.example.com" };
  const answers = async (host: string) => {
    const all: (string | number)[] = [];
    for (const path of ["/gateway", "/set", "/both"]) all.push(await served.path(path, { host }));
    return all;
  };
  const settled = async () => {
    served.rig.settle();
    await served.rig.synced();
  };
  assertEquals(await answers("shop.example.com"), ["/gateway", 404, "/both"]);

  served.put(gateway("gw", [own], allowed), listenerSet("shop", [http("http", "shop.example.com", port)]));
  await settled();
  assertEquals(await answers("shop.example.com"), [404, "/set", "/both"], "isolated from the wider one");
  assertEquals(await answers("www.example.com"), ["/gateway", 404, "/both"]);
  assertEquals(conditionOf(served.statuses, "ListenerSet/default/shop", "Programmed"), [
    "True",
    "Programmed",
  ]);

  // An older one wins its hostname.
  const metadata = { creationTimestamp: "2025-01-01T00:00:00Z" };
  served.put(listenerSet("older", [http("http", "shop.example.com", port)], { metadata }));
  await settled();
  assertEquals(await answers("shop.example.com"), [404, 404, 404]);
  assertEquals(
    conditionOf(served.statuses, "ListenerSet/default/shop", "Accepted"),
    ["False", "ListenersNotValid"],
  );
  served.world.objects.ListenerSet.delete("default/older");
  await settled();
  assertEquals(await answers("shop.example.com"), [404, "/set", "/both"]);

  // Leave is taken away.
  served.put(gateway("gw", [own]));
  await settled();
  assertEquals(conditionOf(served.statuses, "ListenerSet/default/shop", "Accepted"), ["False", "NotAllowed"]);
  assertEquals(await answers("shop.example.com"), ["/gateway", 404, "/both"]);
});

/** A Gateway with so many sets, each with a port's hostname and a route of its own. */
function many(count: number): Batch {
  const sets = Array.from({ length: count }, (_, i) => [
    listenerSet(`s${i}`, [http("http", `h${i}.example.com`)]),
    route(`r${i}`, { parentRefs: [ofSet(`s${i}`)], rules: [to("app")] }),
  ]).flat();
  const first = gateway("gw", [http("http", "gateway.example.com")], allowed);
  return translate([gatewayClass(), first, service("app"), slice("app", "10.0.0.1"), ...sets]);
}

Deno.test("listener sets: an edit of a route costs the same with 1,000 sets as with 10", () => {
  const costs = [10, 1000].map((count) => {
    const { world, graph, ir } = many(count);
    world.objects.HTTPRoute.set(
      "default/r7",
      route("r7", { parentRefs: [ofSet("s7")], rules: [to("app", "/new")] }, { generation: 2 }),
    );
    const { recomputed, written, failures } = graph.settle();
    assertEquals(failures, []);
    assertEquals([...ir.virtualHosts.changed], ["default/gw/80/h7.example.com"]);
    return [recomputed, written];
  });
  assertEquals(costs[0], costs[1]);
});

Deno.test("listener sets: what one set changes is its own, whatever others there are", () => {
  const { world, graph, ir, statuses } = many(200);
  world.objects.ListenerSet.set("default/s7", {
    ...listenerSet("s7", [http("http", "new.example.com")]),
  });
  const { failures } = graph.settle();
  assertEquals(failures, []);
  assertEquals([...ir.virtualHosts.changed].sort(), [
    "default/gw/80/h7.example.com",
    "default/gw/80/new.example.com",
  ]);
  assertEquals([...ir.contributions.changed].sort(), [
    "default/gw|HTTPRoute/default/r7",
    "default/gw|ListenerSet/default/s7",
  ]);
  assertEquals([...statuses.changed], []);
  const placements = graph.tables.find(({ name }) => name === "placements");
  assertEquals([...placements?.changed ?? []], ["default/gw|HTTPRoute/default/r7"]);
});

Deno.test("listener sets: the Gateway's infrastructure has their ports", () => {
  const set = listenerSet("s", [http("http", "a.example.com", 8080), http("taken", "b.example.com", 80)]);
  const { gateways, world, graph } = translate([
    gatewayClass(),
    gateway("gw", [http("http", "b.example.com")], allowed),
    set,
  ]);
  const ports = () => gateways.get("default/gw")?.ports.map(({ port }) => port);
  assertEquals(ports(), [80, 8080]);
  world.objects.ListenerSet.delete("default/s");
  graph.settle();
  assertEquals(ports(), [80]);
});
