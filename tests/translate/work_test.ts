/**
 * What a change costs, counted in rows: it must follow what changed and not what exists.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import type { Table } from "../../controllers/runtime/graph.ts";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { gateway, http, type Raw, route, service, slice, small, stored, to } from "./cluster.ts";

/** Changed rows by table, tables without left out. */
function changed({ graph }: Batch): { readonly [table: string]: number } {
  return Object.fromEntries(
    graph.tables.filter(({ changed }) => changed.size > 0).map(({ name, changed }) => [name, changed.size]),
  );
}

/** How many rows of the outputs changed. */
function outputs({ ir, statuses, due, gateways }: Batch): { readonly [name: string]: number } {
  const tables: { readonly [name: string]: Table<unknown> } = { ...ir, statuses, due, gateways };
  return Object.fromEntries(
    Object.entries(tables).filter(([, { changed }]) => changed.size > 0).map((
      [name, { changed }],
    ) => [name, changed.size]),
  );
}

function many(count: number, hostname: (i: number) => string): Batch {
  const routes = Array.from(
    { length: count },
    (_, i) => route(`r${i}`, { hostnames: [hostname(i)], rules: [to(`s${i % 10}`, `/p${i}`)] }),
  );
  const services = Array.from({ length: 10 }, (_, i) => [service(`s${i}`), slice(`s${i}`, "10.0.0.1")])
    .flat();
  return translate(small(...routes, ...services));
}

/** One edit of one route among `count`: what it changed and how many functions ran. */
function edit(
  count: number,
  hostname: (i: number) => string,
): readonly [recomputed: number, written: number] {
  const batch = many(count, hostname);
  const spec = { hostnames: [hostname(7)], rules: [to("s3", "/edited")] };
  batch.world.objects.HTTPRoute.set("default/r7", route("r7", spec, { generation: 2 }));
  const { recomputed, written, failures } = batch.graph.settle();
  assertEquals(failures, []);
  assertEquals(outputs(batch), { virtualHosts: 1, contributions: 1, statuses: 1, due: 1 });
  return [recomputed, written];
}

Deno.test("work: an edit of one route among 5,000 costs what it costs among 50", () => {
  for (const hostname of [(i: number) => `h${i}.example.com`, () => "example.com"]) {
    const few = edit(50, hostname), lots = edit(5000, hostname);
    assertEquals(lots, few);
    assert(lots[0] > 5 && lots[0] < 40, `${lots[0]} functions ran`);
  }
});

Deno.test("work: a new route among 5,000 touches a constant number of rows", () => {
  const counts = [50, 5000].map((count) => {
    const batch = many(count, (i) => `h${i}.example.com`);
    batch.world.objects.HTTPRoute.set(
      "default/new",
      route("new", { hostnames: ["new.example.com"], rules: [to("s3")] }),
    );
    const { recomputed, written } = batch.graph.settle();
    // The Gateway counts its routes.
    assertEquals(outputs(batch), {
      virtualHosts: 1,
      contributions: 1,
      statuses: 2,
      due: 2,
    });
    return [recomputed, written];
  });
  assertEquals(counts[0], counts[1]);
});

Deno.test("work: endpoints that change reach only endpoints", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  batch.world.objects.EndpointSlice.set("default/s3-1", slice("s3", "10.0.0.1", "10.0.0.2"));
  const { recomputed } = batch.graph.settle();
  assertEquals(recomputed, 1);
  assertEquals(changed(batch), { EndpointSlice: 1, "slices by service": 1, "ir.endpoints": 1 });
});

Deno.test("work: what nobody refers to costs nothing", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  const { objects } = batch.world;
  const put = (kind: "Service" | "EndpointSlice" | "Secret" | "ConfigMap", object: Raw) =>
    objects[kind].set(`default/${object.metadata.name}`, object);
  put("Service", service("lonely"));
  put("EndpointSlice", slice("lonely", "10.0.0.9"));
  put("Secret", stored({ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }));
  put("ConfigMap", stored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } }));
  const { recomputed } = batch.graph.settle();
  assertEquals(recomputed, 0);
  assertEquals(changed(batch), {
    Service: 1,
    EndpointSlice: 1,
    "slices by service": 1,
    Secret: 1,
    ConfigMap: 1,
  });
});

Deno.test("work: the echo of a status ends at the first table", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  const { objects } = batch.world;
  const echo = <T extends ApiObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: `${object.metadata.resourceVersion}1` },
    status: {},
  });
  objects.HTTPRoute.set("default/r7", echo(objects.HTTPRoute.get("default/r7")!));
  objects.Gateway.set("default/web", echo(objects.Gateway.get("default/web")!));
  const { recomputed } = batch.graph.settle();
  // Each object is read once and compared with its desired status once, a Gateway with its finalizers and its class, too.
  assertEquals(recomputed, 6);
  assertEquals(changed(batch), {
    Gateway: 1,
    HTTPRoute: 1,
    "due for Gateways": 1,
    "due for HTTPRoutes": 1,
    due: 2,
  });
});

Deno.test("work: a verdict reaches only the status of what it is about", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  batch.world.verdicts.set("default/web|HTTPRoute/default/r7", {
    generation: 1,
    state: "programmed",
    message: "",
  });
  batch.graph.settle();
  assertEquals(outputs(batch), { statuses: 1, due: 1 });
});

Deno.test("work: a Gateway's address does not reach its routes", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  batch.world.addresses.set("default/web", {
    assigned: [{ type: "IPAddress", value: "192.0.2.1" }],
    bind: [],
  });
  batch.graph.settle();
  assertEquals(outputs(batch), { statuses: 1, due: 1 });
});

Deno.test("work: another Gateway's listener does not reach this one's routes", () => {
  const batch = many(50, (i) => `h${i}.example.com`);
  batch.world.objects.Gateway.set("default/other", gateway("other", [http]));
  batch.graph.settle();
  assertEquals(outputs(batch), {
    listeners: 1,
    routeTables: 1,
    virtualHosts: 1,
    contributions: 1,
    statuses: 1,
    due: 1,
    gateways: 1,
  });
});

Deno.test("work: an object of a megabyte is translated like any other", () => {
  const value = "x".repeat(2_000);
  const rules = Array.from({ length: 16 }, (_, rule) => ({
    matches: Array.from({ length: 8 }, (_, i) => ({
      path: { type: "PathPrefix", value: `/${rule}/${i}` },
      headers: Array.from({ length: 4 }, (_, h) => ({ type: "Exact", name: `h${h}`, value })),
    })),
    backendRefs: [{ name: "app", port: 80 }],
  }));
  const large = route("large", { rules });
  assert(JSON.stringify(large).length > 1_000_000);
  const batch = translate(small(large, route("neighbour", { rules: [to("app", "/neighbour")] })));
  assertEquals(batch.ir.virtualHosts.get("default/web/80/*")!.entries.length, 129);
  assertEquals(batch.graph.stats.failing, 0);
});
