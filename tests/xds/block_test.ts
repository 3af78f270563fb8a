/**
 * The work of an edit among many virtual hosts, as counts.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { blocksOf } from "../../xds/build/block.ts";
import { hashOf } from "../../xds/build/hash.ts";
import { packResource, sizeOf } from "../../xds/build/pack.ts";
import { type EncodedVirtualHost, encodeVirtualHost } from "../../xds/build/virtual_host.ts";
import { forward, route } from "./support/ir.ts";

function host(text: string): EncodedVirtualHost {
  const bytes = new TextEncoder().encode(text.padEnd(300, "."));
  return { hash: hashOf(bytes), bytes, needs: [] };
}

const hosts = (count: number) => Array.from({ length: count }, (_, i) => host(`host ${i}`));

const joined = (pieces: readonly Uint8Array[]) => new Uint8Array(pieces.flatMap((piece) => [...piece]));

/** How many of some values are not among others. */
const fresh = <T>(values: readonly T[], before: readonly T[]) =>
  values.filter((value) => !before.includes(value)).length;

Deno.test("blocks hold all virtual hosts in order, and are neither small nor large", () => {
  for (const count of [0, 1, 80, 5_000]) {
    const all = hosts(count), blocks = blocksOf(all);
    assertEquals(joined(blocks.map(({ bytes }) => bytes)), joined(all.map(({ bytes }) => bytes)));
    for (const { bytes } of blocks.slice(0, -1)) {
      assert(bytes.length >= 24 * 1024 && bytes.length < 64 * 1024, `${bytes.length}`);
    }
  }
  assertEquals(blocksOf([]), []);
});

Deno.test("an edit, an addition and a removal among 5,000 virtual hosts make a few blocks anew", () => {
  const before = hosts(5_000), blocks = blocksOf(before);
  assert(blocks.length > 40);
  assertEquals(fresh(blocksOf(before), blocks), 0);
  for (const at of [0, 1, 777, 2_500, 4_999]) {
    const changes = [
      before.with(at, host("edited")),
      before.toSpliced(at, 0, host("added")),
      before.toSpliced(at, 1),
    ];
    for (const after of changes) {
      const again = blocksOf(after);
      assert(fresh(again, blocks) <= 6, `${fresh(again, blocks)} of ${again.length} at ${at}`);
      assertNotEquals(again.map(({ hash }) => hash), blocks.map(({ hash }) => hash));
    }
  }
});

Deno.test("blocks and their hashes depend on the virtual hosts alone, not on what came before", () => {
  let edited = hosts(1_000);
  for (let i = 0; i < 50; i++) {
    edited = edited.with((i * 37) % 1_000, host(`edit ${i}`));
    blocksOf(edited);
  }
  const anew = edited.map(({ bytes }) => ({ hash: hashOf(bytes), bytes: bytes.slice(), needs: [] }));
  assertEquals(blocksOf(edited), blocksOf(anew));
});

Deno.test("what is packed of blocks shares their bytes", () => {
  const before = hosts(5_000), edited = before.with(2_500, host("edited"));
  const [one, two] = [before, edited].map((hosts) =>
    packResource("routes", "table", "v", blocksOf(hosts).map(({ bytes }) => bytes))
  );
  const buffers = (pieces: readonly Uint8Array[]) => pieces.map(({ buffer }) => buffer);
  const copied = two!.filter(({ buffer }) => !buffers(one!).includes(buffer));
  assert(sizeOf(copied) < 0.1 * sizeOf(two!), `${sizeOf(copied)} of ${sizeOf(two!)} bytes`);
});

Deno.test("what every virtual host repeats is short: an edit sends all of them to every proxy", () => {
  const hostname = "www.example.com";
  const host = { routes: "table", hostname, entries: [route("web", forward("ns/a/80"))] };
  const { bytes } = encodeVirtualHost(host, { scheme: "http", port: () => 80, reached: true });
  assert(bytes.length <= 240, `${bytes.length} bytes`);
});
