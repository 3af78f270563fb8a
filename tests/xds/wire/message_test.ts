/**
 * What the protobuf engine says about values that do not fit, and what it does with those that do.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Cluster } from "../../../xds/wire/envoy/cluster.ts";
import * as cluster from "../../../xds/wire/envoy/cluster.ts";
import type { Filter } from "../../../xds/wire/envoy/listener.ts";
import type { Route } from "../../../xds/wire/envoy/route.ts";
import * as route from "../../../xds/wire/envoy/route.ts";
import {
  decode,
  encode,
  field,
  type Infer,
  message,
  repeated,
  SchemaError,
  string,
  uint32,
} from "../../../xds/wire/mod.ts";

const tcp = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";

Deno.test("types: a value reads as in Envoy's YAML, and mistakes do not compile", () => {
  const seconds = 1.5;
  const good: Route = {
    name: "r",
    match: { path_separated_prefix: "/a", headers: [{ name: "x", string_match: { exact: "y" } }] },
    route: { weighted_clusters: { clusters: [{ name: "c", weight: 3 }] }, timeout: `${seconds}s` },
  };
  // @ts-expect-error: there is no such field.
  const unknown: Route = { match: { prefx: "/" } };
  // @ts-expect-error: not a string.
  const wrong: Route = { match: { prefix: 1 } };
  // @ts-expect-error: not a duration.
  const timeless: Route = { route: { timeout: "15" } };
  // @ts-expect-error: there is no such enum value.
  const misspelt: Cluster = { type: "ESD" };
  // @ts-expect-error: a field of another message than that in the Any.
  const mixed: Filter = { typed_config: { "@type": tcp, codec_type: "AUTO" } };
  const fixed = () => {
    // @ts-expect-error: values do not change.
    good.name = "x";
  };
  assert([good, unknown, wrong, timeless, misspelt, mixed, fixed].every(Boolean));
});

Deno.test("a value that does not fit is named by its path", () => {
  const problem = (run: () => unknown) => assertThrows(run, SchemaError).message;
  const encodeRoute = (value: unknown) => encode<unknown>(route.Route, value);
  assertEquals(
    problem(() => encodeRoute({ match: { headers: [{ name: "a" }, { name: 1 }] } })),
    "match.headers[1].name: expected string, got 1",
  );
  assertEquals(
    problem(() => encodeRoute({ match: { prefx: "/" } })),
    "match.prefx: not a field of envoy.config.route.v3.RouteMatch",
  );
  assertEquals(
    problem(() => encodeRoute({ match: { prefix: "/", path: "/" } })),
    "match: only one of prefix and path may be set in envoy.config.route.v3.RouteMatch",
  );
  assertEquals(
    problem(() => encodeRoute({ route: { timeout: "15" } })),
    'route.timeout: expected a duration like "1.5s", got "15"',
  );
  assertEquals(
    problem(() => encodeRoute({ match: [] })),
    "match: expected envoy.config.route.v3.RouteMatch, got a list",
  );
  assertEquals(
    problem(() => encodeRoute({ match: { headers: {} } })),
    "match.headers: expected a list, got an object",
  );
  assertEquals(
    problem(() =>
      encode<unknown>(cluster.Cluster, { typed_extension_protocol_options: { x: { "@type": "y" } } })
    ),
    'typed_extension_protocol_options["x"]: expected an @type among ' +
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions, got "y"',
  );
  assertEquals(
    problem(() => encode<unknown>(cluster.Cluster, { lb_policy: "BEST" })).slice(0, 32),
    "lb_policy: expected one of ROUND",
  );
});

Deno.test("a failed write leaves nothing behind", () => {
  const good = { name: "a", type: "EDS" } as const;
  const before = encode(cluster.Cluster, { ...good });
  assertThrows(() => encode<unknown>(cluster.Cluster, { name: "b", type: "NONE" }), SchemaError);
  assertEquals(encode(cluster.Cluster, { ...good }), before);
});

Deno.test("an object is encoded once where its message is memoized", () => {
  let writes = 0;
  const counted = {
    ...string,
    write: (...args: Parameters<typeof string.write>) => (writes++, string.write(...args)),
  };
  const Inner = message("Inner", { text: field(1, counted) }, { memo: true });
  const Outer = message("Outer", { inner: repeated(1, Inner), n: field(2, uint32) });
  const inner: Infer<typeof Inner> = { text: "hello" };
  const first = encode(Outer, { inner: [inner, inner] });
  assertEquals(encode(Outer, { inner: [inner, inner] }), first);
  assertEquals(writes, 1);
  assertEquals(decode(Outer, first), { inner: [{ text: "hello" }, { text: "hello" }] });
});

Deno.test("repeated fields concatenate, which is what virtual hosts are spliced by", () => {
  const part = (name: string) => encode(route.RouteConfiguration, { virtual_hosts: [{ name }] });
  const whole = encode(route.RouteConfiguration, {
    name: "r",
    virtual_hosts: [{ name: "a" }, { name: "b" }],
  });
  const spliced = new Uint8Array([
    ...encode(route.RouteConfiguration, { name: "r" }),
    ...part("a"),
    ...part("b"),
  ]);
  assertEquals(decode(route.RouteConfiguration, spliced), decode(route.RouteConfiguration, whole));
  assertEquals(spliced, whole);
});
