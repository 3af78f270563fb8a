/**
 * Which addresses and ports Gateways get.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Addresses } from "../../controllers/translate/world.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import {
  AddressBook,
  type AddressBookOptions,
  type AddressWant,
  choosePool,
  type GatewayAddresses,
  wantOf,
} from "../../standalone/addresses.ts";
import { assign } from "../../standalone/addresses/assign.ts";
import { canonical, parsePool, type Pool } from "../../standalone/addresses/pool.ts";
import { decidePorts, type PortStates } from "../../standalone/addresses/ports.ts";
import { type Probe, probe, type Probed } from "../../standalone/addresses/probe.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { scratch } from "./support.ts";
import { freePort } from "../support/free_port.ts";

function poolOf(text: string): Pool {
  const result = parsePool(text);
  assert("pool" in result, JSON.stringify(result));
  return result.pool;
}

/** A Gateway that listens on port 80; of several, the first by name goes first, all being of one age. */
function want(gateway: string, options: Partial<AddressWant> = {}): AddressWant {
  return {
    gateway,
    created: "2026-01-01T00:00:00Z",
    requested: [],
    ports: [{ port: 80, transport: "tcp" }],
    ...options,
  };
}

const simple = (assignments: ReturnType<typeof assign>) =>
  Object.fromEntries([...assignments].map(([gateway, { addresses }]) => [gateway, addresses.join()]));

Deno.test("pool: addresses and ranges, in order, without a range's first and last", () => {
  assertEquals(poolOf("127.0.0.1"), ["127.0.0.1"]);
  assertEquals(poolOf("10.0.0.9/29"), [
    "10.0.0.9",
    "10.0.0.10",
    "10.0.0.11",
    "10.0.0.12",
    "10.0.0.13",
    "10.0.0.14",
  ]);
  assertEquals(poolOf("10.0.0.9/31"), ["10.0.0.8", "10.0.0.9"]);
  assertEquals(poolOf("10.0.0.9/32"), ["10.0.0.9"]);
  assertEquals(poolOf("127.0.0.1, 127.0.0.1,0:0:0:0:0:0:0:1"), ["127.0.0.1", "::1"]);
  const loopback = poolOf("127.0.1.0/24");
  assertEquals([loopback.length, loopback[0], loopback.at(-1)], [254, "127.0.1.1", "127.0.1.254"]);
  assertEquals(poolOf("255.255.255.252/30"), ["255.255.255.253", "255.255.255.254"]);
});

Deno.test("pool: what is none is refused", () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ["", /it is empty/],
    ["localhost", /"localhost" is neither an IP address nor an IPv4 range/],
    ["10.0.0.0/33", /"10\.0\.0\.0\/33" is neither/],
    ["10.0.0.0/", /neither/],
    ["10.0.0/8", /neither/],
    ["10.0.0.0/8/8", /neither/],
    ["fd00::/64", /neither/],
    ["10.0.0.0/8", /more than 65536 addresses/],
    ["127.0.0.1,x", /"x" is neither/],
  ];
  for (const [text, expected] of table) {
    const result = parsePool(text);
    assert("problem" in result, text);
    assertMatch(result.problem, expected);
    assertStringIncludes(result.problem, `Cannot use address pool "${text}": `);
  }
});

Deno.test("pool: addresses have one form", () => {
  assertEquals(canonical("127.0.0.1"), "127.0.0.1");
  assertEquals(canonical("2001:DB8:0:0::1"), "2001:db8::1");
});

Deno.test("pool: every Gateway has a loopback address of its own where the system allows it", async () => {
  const only = (address: string): Probe => (asked) =>
    Promise.resolve(asked === address ? "free" : "unavailable");
  assertEquals(await choosePool(undefined, only("127.0.1.1")), { pool: poolOf("127.0.1.0/24") });
  // As on macOS.
  assertEquals(await choosePool(undefined, only("127.0.0.1")), { pool: ["127.0.0.1"] });
  assertEquals(await choosePool("10.0.0.1, 10.0.0.2", only("10.0.0.2")), { pool: ["10.0.0.1", "10.0.0.2"] });
  const foreign = await choosePool("10.0.0.0/24", only("127.0.0.1"));
  assertMatch(
    "problem" in foreign ? foreign.problem : "",
    /"10\.0\.0\.0\/24": this machine has none of its addresses/,
  );
});

Deno.test("assign: the older goes first, then by name; the order of arrival does not matter", () => {
  const pool = poolOf("127.0.1.0/29");
  const wants = [
    want("ns/b"),
    want("ns/old", { created: "2025-01-01T00:00:00Z" }),
    want("ns/a"),
  ];
  const expected = { "ns/old": "127.0.1.1", "ns/a": "127.0.1.2", "ns/b": "127.0.1.3" };
  assertEquals(simple(assign(wants, new Map(), pool)), expected);
  assertEquals(simple(assign(wants.toReversed(), new Map(), pool)), expected);
});

Deno.test("assign: a Gateway keeps its address, even if older ones come", () => {
  const pool = poolOf("127.0.1.0/29");
  const previous = new Map([["ns/b", "127.0.1.1"], ["ns/deleted", "127.0.1.2"]]);
  assertEquals(simple(assign([want("ns/a"), want("ns/b")], previous, pool)), {
    "ns/b": "127.0.1.1",
    // The address of a deleted one is kept for its return while there are others.
    "ns/a": "127.0.1.3",
  });
  assertEquals(simple(assign([want("ns/a"), want("ns/deleted")], previous, pool))["ns/deleted"], "127.0.1.2");
});

Deno.test("assign: two that had to share an address part once there are more", () => {
  const previous = new Map([["ns/a", "127.0.1.1"], ["ns/b", "127.0.1.1"]]);
  assertEquals(simple(assign([want("ns/b"), want("ns/a")], previous, ["127.0.1.1", "127.0.1.2"])), {
    "ns/a": "127.0.1.1",
    "ns/b": "127.0.1.2",
  });
});

Deno.test("assign: a previous address that is no longer in the pool, or not this machine's, is replaced", () => {
  const previous = new Map([["ns/a", "10.9.9.9"]]);
  assertEquals(simple(assign([want("ns/a")], previous, ["127.0.1.1", "127.0.1.2"])), { "ns/a": "127.0.1.1" });
  const unavailable = new Set(["127.0.1.1"]);
  assertEquals(simple(assign([want("ns/a")], previous, ["127.0.1.1", "127.0.1.2"], unavailable)), {
    "ns/a": "127.0.1.2",
  });
});

Deno.test("assign: when addresses run out, first those of deleted Gateways go, then they are shared evenly", () => {
  const pool = ["127.0.1.1", "127.0.1.2"];
  const previous = new Map([["ns/deleted", "127.0.1.1"]]);
  const wants = ["ns/a", "ns/b", "ns/c", "ns/d"].map((gateway) => want(gateway));
  const assigned = simple(assign(wants, previous, pool));
  assertEquals(assigned["ns/a"], "127.0.1.2");
  assertEquals(assigned["ns/b"], "127.0.1.1");
  assertEquals([assigned["ns/c"], assigned["ns/d"]].sort(), pool);
  // And stay as they are.
  assertEquals(simple(assign(wants, new Map(Object.entries(assigned)), pool)), assigned);
  assertEquals(simple(assign(wants, new Map(), ["127.0.0.1"])), {
    "ns/a": "127.0.0.1",
    "ns/b": "127.0.0.1",
    "ns/c": "127.0.0.1",
    "ns/d": "127.0.0.1",
  });
  assertEquals(simple(assign([want("ns/a")], new Map(), ["10.0.0.1"], new Set(["10.0.0.1"]))), {
    "ns/a": "",
  });
});

Deno.test("assign: requested addresses are given if they are in the pool, and nobody has to move for them", () => {
  const pool = poolOf("127.0.1.0/29,::1");
  const previous = new Map([["ns/a", "127.0.1.4"]]);
  const requested = [{ value: "127.0.1.4" }, { type: "IPAddress", value: "0:0::1" }];
  assertEquals(simple(assign([want("ns/a"), want("ns/b", { requested }), want("ns/c")], previous, pool)), {
    "ns/a": "127.0.1.4",
    "ns/b": "127.0.1.4,::1",
    "ns/c": "127.0.1.1",
  });
});

Deno.test("assign: what cannot be given is said, and a Gateway without any gets one all the same", () => {
  const pool = ["127.0.1.1", "127.0.1.2"];
  const unavailable = new Set(["127.0.1.2"]);
  const requested = [
    { value: "10.0.0.1" },
    { type: "Hostname", value: "example.com" },
    { type: "IPAddress", value: "127.0.1.2" },
    { type: "IPAddress", value: "not-an-address" },
    { type: "example.com/Custom" },
    // Any address of that type: nothing to refuse.
    { type: "IPAddress" },
  ];
  const assignment = assign([want("ns/a", { requested })], new Map(), pool, unavailable).get("ns/a")!;
  assertEquals(assignment.addresses, ["127.0.1.1"]);
  assertEquals(assignment.unusable.map(({ value, message }) => `${value}: ${message}`), [
    "10.0.0.1: it is not among the addresses that this gateway may use (--addresses)",
    "example.com: addresses of type Hostname are not supported here, only IPAddress",
    "127.0.1.2: it is not an address of this machine",
    "not-an-address: not an IP address",
    "example.com/Custom: addresses of type example.com/Custom are not supported here, only IPAddress",
  ]);
  const partly = assign(
    [want("ns/a", { requested: [{ value: "127.0.1.1" }, { value: "10.0.0.1" }] })],
    new Map(),
    pool,
  );
  assertEquals(partly.get("ns/a")!.addresses, ["127.0.1.1"]);
  assertEquals(partly.get("ns/a")!.unusable.length, 1);
});

/** A system that answers as the table says; everything else is free. Notes what it was asked. */
function system(
  table: { readonly [place: string]: Probed },
): { readonly probe: Probe; readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    probe(address, port, transport) {
      const place = `${address}:${port}${transport === "udp" ? "/udp" : ""}`;
      asked.push(place);
      return Promise.resolve(table[place] ?? "free");
    },
  };
}

const tcp = (...ports: number[]) => ports.map((port) => ({ port, transport: "tcp" }) as const);

async function decide(
  wants: readonly AddressWant[],
  addresses: { readonly [gateway: string]: readonly string[] },
  probe: Probe,
  before: ReadonlyMap<string, PortStates> = new Map(),
) {
  const { ports, retry } = await decidePorts(wants, new Map(Object.entries(addresses)), before, probe);
  const shown = Object.fromEntries([...ports].map(([gateway, states]) => [
    gateway,
    Object.fromEntries(
      [...states].map(([key, state]) => [key, state.state === "bound" ? state.port : state.message]),
    ),
  ]));
  return { ports, shown, retry };
}

Deno.test("ports: bound as they are; what takes privileges is shifted by 10000", async () => {
  const { probe, asked } = system({ "127.0.1.1:80": "denied", "127.0.1.1:53/udp": "denied" });
  const wants = [want("ns/a", { ports: [...tcp(80, 8080, 80), { port: 53, transport: "udp" }] })];
  const { shown, retry } = await decide(wants, { "ns/a": ["127.0.1.1"] }, probe);
  assertEquals(shown, { "ns/a": { "80": 10_080, "8080": 8080, "53/udp": 10_053 } });
  assertEquals(retry, false);
  assertEquals(asked.length, new Set(asked).size, "nothing is asked twice");
});

Deno.test("ports: what another program has is a failure, to be tried again; others are not affected", async () => {
  const { probe } = system({ "127.0.1.1:80": "used" });
  const { shown, retry } = await decide(
    [want("ns/a", { ports: tcp(80, 81) })],
    { "ns/a": ["127.0.1.1"] },
    probe,
  );
  assertEquals(shown, {
    "ns/a": {
      "80": "Cannot bind port 80 on 127.0.1.1: another program has it; end that program or change the port",
      "81": 81,
    },
  });
  assertEquals(retry, true);
});

Deno.test("ports: a port that cannot be shifted either fails with both reasons", async () => {
  const table = {
    "127.0.1.1:80": "denied",
    "127.0.1.1:10080": "used",
    "127.0.1.1:81": "denied",
    "127.0.1.1:10081": "denied",
  } as const;
  const { shown, retry } = await decide(
    [want("ns/a", { ports: tcp(80, 81) })],
    { "ns/a": ["127.0.1.1"] },
    system(table).probe,
  );
  assertEquals(shown, {
    "ns/a": {
      "80":
        "Cannot bind port 80 on 127.0.1.1: it takes privileges, and port 10080 in its place cannot be bound: " +
        "another program has it; end that program or change the port",
      "81":
        "Cannot bind port 81 on 127.0.1.1: it takes privileges, and port 10081 in its place may not be bound either",
    },
  });
  assertEquals(retry, true);
});

Deno.test("ports: a listener's own port goes before what another is shifted to, whichever came first", async () => {
  const { probe } = system({ "127.0.1.1:80": "denied" });
  const addresses = { "ns/a": ["127.0.1.1"] };
  const both = await decide([want("ns/a", { ports: tcp(80, 10_080) })], addresses, probe);
  assertMatch(
    String(both.shown["ns/a"]!["80"]),
    /port 10080 in its place cannot be bound: another of its listeners/,
  );
  assertEquals(both.shown["ns/a"]!["10080"], 10_080);

  const first = await decide([want("ns/a", { ports: tcp(80) })], addresses, probe);
  assertEquals(first.shown, { "ns/a": { "80": 10_080 } });
  // By now the proxy has 10080 itself, so the system would call it used.
  const now = system({ "127.0.1.1:80": "denied", "127.0.1.1:10080": "used" }).probe;
  const later = await decide([want("ns/a", { ports: tcp(80, 10_080) })], addresses, now, first.ports);
  assertEquals(later.shown, both.shown);
});

Deno.test("ports: with one address for all, a collision is the younger one's failure, until the older one goes", async () => {
  const { probe } = system({});
  const addresses = { "ns/a": ["127.0.0.1"], "ns/b": ["127.0.0.1"] };
  const wants = [want("ns/b", { ports: tcp(80, 81) }), want("ns/a")];
  const { shown, ports, retry } = await decide(wants, addresses, probe);
  assertEquals(shown["ns/a"], { "80": 80 });
  assertEquals(shown["ns/b"], {
    "80":
      'Cannot bind port 80 on 127.0.0.1: Gateway "ns/a" has it; change the port, or allow more addresses ' +
      "with --addresses",
    "81": 81,
  });
  assertEquals(retry, false, "nothing to wait for but a change");
  const { shown: after } = await decide([wants[0]!], { "ns/b": ["127.0.0.1"] }, probe, ports);
  assertEquals(after, { "ns/b": { "80": 80, "81": 81 } });
});

Deno.test("ports: what is bound is not asked about again, and an older Gateway does not take it away", async () => {
  const first = await decide([want("ns/b")], { "ns/b": ["127.0.0.1"] }, system({}).probe);
  // Its own proxy has it by now.
  const { probe, asked } = system({ "127.0.0.1:80": "used" });
  const wants = [want("ns/a"), want("ns/b")];
  const { shown } = await decide(wants, { "ns/a": ["127.0.0.1"], "ns/b": ["127.0.0.1"] }, probe, first.ports);
  assertEquals(shown["ns/b"], { "80": 80 });
  assertStringIncludes(String(shown["ns/a"]!["80"]), 'Gateway "ns/b" has it');
  assertEquals(asked, []);
});

Deno.test("ports: several addresses have the same port", async () => {
  const { probe } = system({ "127.0.1.2:80": "denied", "127.0.1.2:81": "used" });
  const addresses = { "ns/a": ["127.0.1.1", "127.0.1.2"] };
  const { shown } = await decide([want("ns/a", { ports: tcp(80, 81) })], addresses, probe);
  assertEquals(shown["ns/a"]!["80"], 10_080);
  assertStringIncludes(
    String(shown["ns/a"]!["81"]),
    "Cannot bind port 81 on 127.0.1.1, 127.0.1.2: another program",
  );
});

Deno.test("ports: TCP and UDP do not collide", async () => {
  const ports = [{ port: 53, transport: "tcp" }, { port: 53, transport: "udp" }] as const;
  const { shown } = await decide([want("ns/a", { ports })], { "ns/a": ["127.0.1.1"] }, system({}).probe);
  assertEquals(shown, { "ns/a": { "53": 53, "53/udp": 53 } });
});

Deno.test("ports: without an address, and when the system says something odd, the ports fail", async () => {
  const { shown } = await decide([want("ns/a")], { "ns/a": [] }, system({}).probe);
  assertEquals(shown, { "ns/a": { "80": "Cannot bind port 80: there is no address for it" } });
  const odd = await decide([want("ns/a")], { "ns/a": ["127.0.1.1"] }, () => Promise.reject(new Error("odd")));
  assertEquals([odd.shown, odd.retry], [{ "ns/a": { "80": "Cannot bind port 80 on 127.0.1.1: odd" } }, true]);
});

Deno.test("probe: free, used, and not this machine's", async () => {
  for (const transport of ["tcp", "udp"] as const) {
    assertEquals(await probe("127.0.0.1", freePort(), transport), "free", transport);
    // From a range that is for documentation only (RFC 5737).
    assertEquals(await probe("192.0.2.1", 0, transport), "unavailable", transport);
  }
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  assertEquals(await probe("127.0.0.1", port, "tcp"), "used");
  assertEquals(await probe("127.0.0.1", port, "udp"), "free");
  using everywhere = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  assertEquals(await probe("127.0.0.1", everywhere.addr.port, "tcp"), "used");
});

/** A command line in front of another that takes the right to bind privileged ports away, or nothing if that is so. */
async function unprivileged(): Promise<readonly string[] | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  const start = Number(await Deno.readTextFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"));
  if (start <= 81) return undefined;
  if (Deno.uid() !== 0) return [];
  const drop = ["setpriv", "--bounding-set", "-net_bind_service", "--inh-caps", "-net_bind_service"];
  const works = await new Deno.Command(drop[0]!, { args: [...drop.slice(1), "true"], stderr: "null" })
    .output()
    .then(({ success }) => success, () => false);
  return works ? drop : undefined;
}

const prefix = await unprivileged();

Deno.test({
  name: "probe: a process without privileges may not bind port 81, and what that means",
  ignore: prefix === undefined,
  async fn() {
    const program = `
      import { probe } from ${JSON.stringify(import.meta.resolve("../../standalone/addresses/probe.ts"))};
      import { decidePorts } from ${
      JSON.stringify(import.meta.resolve("../../standalone/addresses/ports.ts"))
    };
      const probed = [await probe("127.0.0.1", 81, "tcp"), await probe("127.0.0.1", 81, "udp")];
      const want = { gateway: "ns/a", created: "", requested: [], ports: [{ port: 81, transport: "tcp" }] };
      const { ports } = await decidePorts([want], new Map([["ns/a", ["127.0.0.1"]]]), new Map(), probe);
      console.log(JSON.stringify([...probed, ports.get("ns/a").get("81")]));
    `;
    await using folder = await scratch();
    await Deno.writeTextFile(`${folder.path}/probe.ts`, program);
    const [command, ...args] = [
      ...prefix!,
      Deno.execPath(),
      "run",
      "-A",
      "--no-check",
      `${folder.path}/probe.ts`,
    ];
    const { stdout } = await new Deno.Command(command!, { args, stderr: "inherit" }).output();
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), [
      "denied",
      "denied",
      { state: "bound", port: 10_081 },
    ]);
  },
});

/** A book with a system that a test changes, and what it has told. */
class Library implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly table: Record<string, Probed> = {};
  readonly told: string[] = [];
  readonly warnings: string[] = [];
  book!: AddressBook;
  asked = 0;

  static async open(file: string, options: Partial<AddressBookOptions> = {}): Promise<Library> {
    const library = new Library();
    library.book = await AddressBook.open({
      pool: poolOf("127.0.1.0/29"),
      file,
      probe: (address, port) => {
        library.asked++;
        return Promise.resolve(library.table[`${address}:${port}`] ?? "free");
      },
      clock: library.clock,
      log: { ...silentLog, warn: (message) => void library.warnings.push(message) },
      onChange: (gateway, addresses) => {
        library.told.push(`${gateway} ${addresses ? addresses.bind.join() : "gone"}`);
        assertEquals(library.book.get(gateway), addresses);
      },
      ...options,
    });
    return library;
  }

  async sync(...wants: readonly AddressWant[]): Promise<void> {
    this.book.sync(wants);
    await this.book.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.book[Symbol.asyncDispose]();
    assertEquals(this.clock.pending, 0, "no timer is left");
  }
}

Deno.test("book: what a Gateway is told is what translation reads", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  library.table["127.0.1.1:80"] = "denied";
  await library.sync(want("ns/a", { requested: [{ value: "10.0.0.1" }], ports: tcp(80, 8080) }));
  const addresses: Addresses | undefined = library.book.get("ns/a");
  assertEquals(addresses, {
    assigned: [{ type: "IPAddress", value: "127.0.1.1" }],
    bind: ["127.0.1.1"],
    ports: { "80": { state: "bound", port: 10_080 } },
    unusable: [{
      value: "10.0.0.1",
      message: "it is not among the addresses that this gateway may use (--addresses)",
    }],
  });
});

Deno.test("book: only changes are told, and nothing is looked at again for the rest", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  await library.sync(want("ns/a"), want("ns/b"));
  assertEquals(library.told, ["ns/a 127.0.1.1", "ns/b 127.0.1.2"]);
  const { asked } = library;
  await library.sync(want("ns/a"), want("ns/b"));
  assertEquals([library.told.length, library.asked], [2, asked]);
  await library.sync(want("ns/b", { ports: tcp(80, 81) }));
  assertEquals(library.told.slice(2), ["ns/a gone"]);
  assertEquals(library.asked, asked + 1);
  await library.sync(want("ns/a"), want("ns/b"));
  assertEquals(library.told.slice(3), ["ns/a 127.0.1.1"]);
});

Deno.test("book: Gateways have the same addresses after a restart", async () => {
  await using folder = await scratch();
  const file = `${folder.path}/addresses.json`;
  {
    await using library = await Library.open(file);
    await library.sync(want("ns/a"), want("ns/b"), want("ns/c"));
    await library.sync(want("ns/b"), want("ns/c"));
  }
  await using library = await Library.open(file);
  await library.sync(want("ns/0"), want("ns/b"), want("ns/c"));
  assertEquals(library.told.toSorted(), ["ns/0 127.0.1.4", "ns/b 127.0.1.2", "ns/c 127.0.1.3"]);
  await library.sync(want("ns/a"), want("ns/b"), want("ns/c"));
  assertEquals(library.book.get("ns/a")?.bind, ["127.0.1.1"]);
});

Deno.test("book: a file that cannot be read or written costs the memory, not the service", async () => {
  await using folder = await scratch();
  const file = `${folder.path}/addresses.json`;
  await Deno.writeTextFile(file, "{ half");
  {
    await using library = await Library.open(file);
    await library.sync(want("ns/a"));
    assertEquals(library.told, ["ns/a 127.0.1.1"]);
    assertMatch(library.warnings.join(), /assigned anew/);
  }
  assertEquals(JSON.parse(await Deno.readTextFile(file)), { "ns/a": "127.0.1.1" });
  await using library = await Library.open(`${folder.path}/absent/addresses.json`);
  await library.sync(want("ns/a"));
  assertEquals(library.told, ["ns/a 127.0.1.1"]);
  assertMatch(library.warnings.join(), /may differ after a restart/);
});

Deno.test("book: the ports of a Gateway in doubt are looked at anew, and only its", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  await library.sync(want("ns/a"), want("ns/b"));
  const { asked } = library;
  await library.book.recheck("ns/a");
  assertEquals([library.told.length, library.asked], [2, asked + 1], "what is as it was is not told again");
  library.table["127.0.1.1:80"] = library.table["127.0.1.2:80"] = "used";
  await library.book.recheck("ns/a");
  assertEquals(library.book.get("ns/a")?.ports["80"]?.state, "failed");
  assertEquals(library.book.get("ns/b")?.ports, {});
  library.table["127.0.1.1:80"] = "free";
  await library.clock.advance(3_000);
  await library.book.idle();
  assertEquals(library.book.get("ns/a")?.ports, {});
});

Deno.test("book: another address means another look at its ports", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  library.table["127.0.1.1:80"] = "denied";
  await library.sync(want("ns/a"));
  assertEquals(library.book.get("ns/a")?.ports, { "80": { state: "bound", port: 10_080 } });
  await library.sync(want("ns/a", { requested: [{ value: "127.0.1.2" }] }));
  assertEquals(library.book.get("ns/a")?.bind, ["127.0.1.2"]);
  assertEquals(library.book.get("ns/a")?.ports, {});
});

Deno.test("book: addresses that are not this machine's are passed over", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  library.table["127.0.1.1:0"] = library.table["127.0.1.3:0"] = "unavailable";
  await library.sync(want("ns/a"), want("ns/b", { requested: [{ value: "127.0.1.3" }] }));
  assertEquals(library.told.toSorted(), ["ns/a 127.0.1.2", "ns/b 127.0.1.4"]);
  assertEquals(library.book.get("ns/b")?.unusable, [
    { value: "127.0.1.3", message: "it is not an address of this machine" },
  ]);
});

Deno.test("book: a port in use is tried again until it is free", async () => {
  await using folder = await scratch();
  await using library = await Library.open(`${folder.path}/addresses.json`);
  library.table["127.0.1.1:80"] = "used";
  await library.sync(want("ns/a"), want("ns/b"));
  assertEquals(library.book.get("ns/a")?.ports["80"]?.state, "failed");
  assertEquals(library.book.get("ns/b")?.ports, {});
  const { asked } = library;
  await library.clock.advance(2_999);
  await library.book.idle();
  assertEquals(library.asked, asked);
  await library.clock.advance(1);
  await library.book.idle();
  assertEquals([library.asked, library.told.length], [asked + 1, 2]);
  delete library.table["127.0.1.1:80"];
  await library.clock.advance(3_000);
  await library.book.idle();
  assertEquals(library.book.get("ns/a")?.ports, {});
  assertEquals(library.told.length, 3);
  assertEquals(library.clock.pending, 0);
});

Deno.test("book: wishes that change while it asks are all taken into account", async () => {
  await using folder = await scratch();
  const gate = Promise.withResolvers<void>();
  const told = new Map<string, GatewayAddresses | undefined>();
  await using book = await AddressBook.open({
    pool: poolOf("127.0.1.0/29"),
    file: `${folder.path}/addresses.json`,
    probe: async () => {
      await gate.promise;
      return "free";
    },
    clock: new FakeClock(),
    log: silentLog,
    onChange: (gateway, addresses) => void told.set(gateway, addresses),
  });
  book.sync([want("ns/a")]);
  book.sync([want("ns/b")]);
  book.sync([want("ns/c")]);
  gate.resolve();
  await book.idle();
  assertEquals([...told].filter(([, addresses]) => addresses !== undefined).map(([gateway]) => gateway), [
    "ns/c",
  ]);
});

Deno.test("book: on a real machine, ports in use are noticed and freed ones are had", async () => {
  await using folder = await scratch();
  const port = freePort();
  const clock = new FakeClock();
  await using book = await AddressBook.open({
    pool: ["127.0.0.1"],
    file: `${folder.path}/addresses.json`,
    clock,
    log: silentLog,
    onChange: () => {},
  });
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  book.sync([want("ns/a", { ports: tcp(port) })]);
  await book.idle();
  const failed = book.get("ns/a")?.ports[port];
  assert(failed?.state === "failed");
  assertStringIncludes(failed.message, `Cannot bind port ${port} on 127.0.0.1: another program has it`);
  listener.close();
  await clock.advance(3_000);
  await book.idle();
  assertEquals(book.get("ns/a")?.ports, {});
});

Deno.test("want: read from a Gateway", () => {
  const gateway = {
    metadata: { namespace: "ns", name: "a", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      addresses: [{ value: "127.0.1.9" }],
      listeners: [{ port: 80, protocol: "HTTP" }, { port: 53, protocol: "UDP" }],
    },
  };
  assertEquals(wantOf(gateway, [{ port: 443, protocol: "TLS" }]), {
    gateway: "ns/a",
    created: "2026-01-01T00:00:00Z",
    requested: [{ value: "127.0.1.9" }],
    ports: [
      { port: 80, transport: "tcp" },
      { port: 53, transport: "udp" },
      { port: 443, transport: "tcp" },
    ],
  });
});
