/**
 * Random messages, written by the tables and read by protobuf-es, and the other way round.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { encodeBase64 } from "./base64.ts";
import { Bootstrap } from "../../../xds/wire/envoy/bootstrap.ts";
import { Cluster, ClusterLoadAssignment } from "../../../xds/wire/envoy/cluster.ts";
import { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from "../../../xds/wire/envoy/discovery.ts";
import { Listener } from "../../../xds/wire/envoy/listener.ts";
import { RouteConfiguration } from "../../../xds/wire/envoy/route.ts";
import { Secret } from "../../../xds/wire/envoy/tls.ts";
import { type AnyMessage, decode, encode, type Field, type Type } from "../../../xds/wire/mod.ts";
import { type Random, random as seeded } from "../../support/random.ts";
import { envoyRegistry } from "./descriptors.ts";

const registry = await envoyRegistry();

const texts = ["", "a", "héllo-€", "x".repeat(200), "api.example.com", "🚀"] as const;

const scalars: { readonly [name: string]: (random: Random) => unknown } = {
  string: (random) => random.pick(texts),
  bytes: (random) => new TextEncoder().encode(random.pick(texts)),
  bool: (random) => random.oneIn(2),
  uint32: (random) => random.pick([0, 1, 127, 128, 65_536, 4_294_967_295]),
  int32: (random) => random.pick([0, 1, -1, 2_147_483_647, -2_147_483_648]),
  int64: (random) => random.pick([0, 1, -1, 2 ** 40, -(2 ** 50)]),
  uint64: (random) => random.pick([0, 3, 2 ** 52]),
  double: (random) => random.pick([0, 1.5, -2, 1e300]),
  "google.protobuf.BoolValue": (random) => random.oneIn(2),
  "google.protobuf.StringValue": (random) => random.pick(texts),
  "google.protobuf.UInt32Value": (random) => random.pick([0, 5, 4_294_967_295]),
  "google.protobuf.UInt64Value": (random) => random.pick([0, 2 ** 45]),
  "google.protobuf.DoubleValue": (random) => random.pick([0, 2.5]),
  "google.protobuf.Duration": (random) =>
    `${random.pick(["", "-"])}${1 + random.int(1000)}${random.pick(["", ".5", ".000000001", ".123"])}s`,
  "google.protobuf.Struct": (random) => ({ a: json(random, 0), b: json(random, 0) }),
  "google.protobuf.Value": (random) => json(random, 0),
};

function json(random: Random, depth: number): unknown {
  const leaves = [null, random.int(100) / 4, random.pick(texts), random.oneIn(2), [], {}] as const;
  if (depth > 2 || random.oneIn(2)) return random.pick(leaves);
  const inner = () => json(random, depth + 1);
  return random.oneIn(2) ? [inner(), inner()] : { k: inner(), [random.pick(texts) || "e"]: inner() };
}

type Loose = Type<unknown> & {
  readonly fields?: AnyMessage["fields"];
  readonly oneofs?: AnyMessage["oneofs"];
  readonly numbers?: object;
  readonly of?: readonly AnyMessage[];
};

/** A random value of a type; the deeper, the emptier. */
function generate(type: Loose, random: Random, depth: number): unknown {
  if (type.of) {
    const [first, ...others] = type.of;
    const picked = random.pick([first!, ...others]);
    return {
      "@type": `type.googleapis.com/${picked.name}`,
      ...generate(picked as Loose, random, depth + 1) as object,
    };
  }
  if (type.numbers) return random.pick(Object.keys(type.numbers) as [string]);
  if (!type.fields) return scalars[type.name]!(random);
  const left = new Set<string>();
  for (const group of (type.oneofs ?? []) as readonly (readonly [string, ...string[]])[]) {
    const kept = random.pick(group);
    for (const name of group) if (name !== kept) left.add(name);
  }
  const value: Record<string, unknown> = {};
  for (const name of random.shuffle(Object.keys(type.fields))) {
    if (left.has(name) || random.int(10) < Math.min(9, depth * 2)) continue;
    const field: Field<unknown> = type.fields[name];
    const one = () => generate(field.type as Loose, random, depth + 1);
    value[name] = field.kind === "repeated"
      ? [one(), ...random.list(2, one)]
      : field.kind === "map"
      ? Object.fromEntries([
        [random.pick(texts), one()],
        ...random.list(1, () => [random.pick(texts), one()]),
      ])
      : one();
  }
  return value;
}

/** The value as protobuf-es wants its JSON. */
function toProtobufJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (Array.isArray(value)) return value.map(toProtobufJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toProtobufJson(inner)]));
}

const types = [
  Bootstrap,
  Cluster,
  ClusterLoadAssignment,
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  Listener,
  RouteConfiguration,
  Secret,
] as const;

Deno.test("what the tables write protobuf-es reads, and what it writes the tables read", () => {
  let bytes = 0;
  for (const type of types as readonly AnyMessage[]) {
    const random = seeded(type.name.length), schema = registry.getMessage(type.name)!;
    for (let i = 0; i < 100; i++) {
      const value = generate(type as Loose, random, 0);
      const written = encode<unknown>(type, value);
      bytes += written.length;
      const theirs = fromJson(schema, toProtobufJson(value) as JsonValue, { registry });
      const wanted = toJson(schema, theirs, { registry });
      assertEquals(toJson(schema, fromBinary(schema, written), { registry }), wanted, type.name);
      assertEquals(decode<unknown>(type, written), value, type.name);
      const again = encode<unknown>(type, decode<unknown>(type, toBinary(schema, theirs)));
      assertEquals(toJson(schema, fromBinary(schema, again), { registry }), wanted, type.name);
    }
  }
  assert(bytes > 500_000, `${bytes} bytes`);
});
