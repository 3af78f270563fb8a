/**
 * The work of an edit among many virtual hosts, as counts.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { Graph, type Group, type Table } from "../../controllers/runtime/graph.ts";
import type { Block } from "../../xds/build/block.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import { sizeOf } from "../../xds/build/pack.ts";
import { encodeVirtualHost } from "../../xds/build/virtual_host.ts";
import { forward, GatewayModel, irSources, route } from "./support/ir.ts";

type Hosts = { readonly [hostname: string]: readonly ReturnType<typeof route>[] };

const host = (name: string) => [route(name, forward("ns/a/80"))];

function hosts(count: number): Hosts {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}.example.com`, host(`r${i}`)]));
}

/** A port with virtual hosts. */
function port(first: Hosts) {
  const graph = new Graph(),
    ir = irSources(graph),
    model = new GatewayModel(ir),
    table = deriveXds(graph, ir);
  const named = (name: string) => graph.tables.find((table) => table.name === name)!;
  const blocks = named("xds/block"), leaves = named("xds/leaf");
  const groups = ["xds/virtual hosts by leaf", "xds/leaves by block"].map((name) =>
    named(name) as Table<Group<Block>>
  );
  const set = (hosts: Hosts) => {
    model.routes(80, hosts);
    const { recomputed } = graph.settle();
    const resource = table.get("default/gw|routes:default/gw/80")!;
    const parts = groups.flatMap((table) => [...table.changed].map((key) => table.get(key)?.size ?? 0));
    return { recomputed, made: [leaves.changed.size, blocks.changed.size], parts, ...resource };
  };
  model.listener(80);
  return { ...set(first), set };
}

Deno.test("an edit, an addition and a removal among 5,000 virtual hosts make one leaf and its block anew", () => {
  const before = hosts(5_000), { set, made, version } = port(before);
  assertEquals(made[1], 32);
  assertEquals(set(before).recomputed, 0);
  const { ["h777.example.com"]: _, ...removed } = before;
  for (
    const after of [{ ...before, "h7.example.com": host("edited") }, {
      ...before,
      "new.example.com": host("new"),
    }, removed]
  ) {
    const change = set(after);
    assertEquals(change.made, [1, 1]);
    assert(change.recomputed <= 5, `${change.recomputed} rows`);
    assertNotEquals(change.version, version);
    assertEquals(set(before).version, version);
  }
});

Deno.test("an edit puts no more parts together among 10,000 virtual hosts than among 1,000", () => {
  for (const count of [1_000, 10_000]) {
    const before = hosts(count), { set } = port(before);
    for (const i of [7, 77, 777]) {
      const { parts } = set({ ...before, [`h${i}.example.com`]: host("edited") });
      assertEquals(parts.length, 2);
      for (const size of parts) assert(size <= 32, `${size} parts of ${count}`);
      set(before);
    }
  }
});

Deno.test("route tables depend on the virtual hosts alone, not on what came before", () => {
  const { set } = port(hosts(1_000));
  let edited = hosts(1_000);
  for (let i = 0; i < 50; i++) {
    edited = { ...edited, [`h${(i * 37) % 1_100}.example.com`]: host(`edit ${i}`) };
    set(edited);
  }
  const { version, bytes } = set(edited), anew = port(edited);
  assertEquals([version, bytes], [anew.version, anew.bytes]);
});

Deno.test("what is packed of blocks shares their bytes", () => {
  const before = hosts(10_000), { set, bytes: one } = port(before);
  const { bytes: two } = set({ ...before, "h7.example.com": host("edited") });
  const buffers = new Set(one.map(({ buffer }) => buffer));
  const copied = two.filter(({ buffer }) => !buffers.has(buffer));
  assert(sizeOf(copied) < 0.1 * sizeOf(two), `${sizeOf(copied)} of ${sizeOf(two)} bytes`);
});

Deno.test("what every virtual host repeats is short: an edit sends all of them to every proxy", () => {
  const hostname = "www.example.com";
  const host = { routes: "table", hostname, entries: [route("web", forward("ns/a/80"))] };
  const { bytes } = encodeVirtualHost(host, { scheme: "http", port: () => 80, reached: true });
  assert(bytes.length <= 240, `${bytes.length} bytes`);
});
