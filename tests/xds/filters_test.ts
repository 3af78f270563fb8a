/**
 * What filters become in Envoy's terms, as tables.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { inTurn } from "../../xds/build/headers.ts";
import { buildMirror } from "../../xds/build/mirror.ts";
import { clustersOf } from "../../xds/build/route.ts";
import { buildSession } from "../../xds/build/session.ts";
import { buildTimeouts, idleTimeout } from "../../xds/build/timeouts.ts";

Deno.test("mirrors: shares are exact where Envoy can say them, and off by a millionth at most", () => {
  const table: readonly (readonly [numerator: number, denominator: number, share: unknown])[] = [
    [1, 1, undefined],
    [100, 100, undefined],
    [1, 2, { numerator: 50, denominator: "HUNDRED" }],
    [1, 8, { numerator: 1250, denominator: "TEN_THOUSAND" }],
    [1, 64, { numerator: 15_625, denominator: "MILLION" }],
    [2, 3, { numerator: 666_667, denominator: "MILLION" }],
    [2_147_483_646, 2_147_483_647, { numerator: 1_000_000, denominator: "MILLION" }],
    [1, 2_147_483_647, { numerator: 0, denominator: "MILLION" }],
  ];
  for (const [numerator, denominator, share] of table) {
    const { runtime_fraction } = buildMirror({ cluster: "c", share: { numerator, denominator } });
    assertEquals(runtime_fraction?.default_value, share, `${numerator} of ${denominator}`);
  }
});

Deno.test("timeouts: attempts have limits of their own once there may be several", () => {
  const retry = { attempts: 2, codes: [] };
  const never = { attempts: 0, codes: [503] };
  const limits = (...[timeouts, retries]: Parameters<typeof buildTimeouts>) => {
    const { timeout, retry_policy } = buildTimeouts(timeouts, retries);
    return [timeout, retry_policy?.per_try_timeout];
  };
  assertEquals(limits({}, undefined), ["0s", undefined]);
  assertEquals(limits({ request: 0, backendRequest: 0 }, retry), ["0s", undefined]);
  assertEquals(limits({ request: 3000, backendRequest: 1500 }, undefined), ["1.5s", undefined]);
  assertEquals(limits({ request: 3000, backendRequest: 1500 }, never), ["1.5s", undefined]);
  assertEquals(limits({ request: 3000, backendRequest: 1500 }, retry), ["3s", "1.5s"]);
  assertEquals(limits({ backendRequest: 1 }, retry), ["0s", "0.001s"]);
  assertEquals(limits({ request: 0, backendRequest: 1500 }, undefined), ["1.5s", undefined]);
  assertEquals(buildTimeouts({}, never), { timeout: "0s" });
});

Deno.test("timeouts: streams may idle for as long as is asked for, and no shorter than usual", () => {
  assertEquals(idleTimeout({}), {});
  assertEquals(idleTimeout({ request: 300_000, backendRequest: 1 }), {});
  assertEquals(idleTimeout({ request: 300_001 }), { idle_timeout: "300.001s" });
  assertEquals(idleTimeout({ backendRequest: 3_600_000 }), { idle_timeout: "3600s" });
  assertEquals(idleTimeout({ request: 0 }), { idle_timeout: "0s" });
});

Deno.test("sessions: cookies are secure where there is TLS, and names of our own tell rules apart", () => {
  const cookie = (id: string, scheme: "http" | "https") => {
    const state = buildSession({ id, carrier: { type: "cookie", path: "/" } }, scheme).stateful_session
      ?.session_state;
    const config = state?.typed_config;
    return config && "cookie" in config ? config.cookie : undefined;
  };
  const attributes = (scheme: "http" | "https") => cookie("a", scheme)?.attributes?.map(({ name }) => name);
  assertEquals([attributes("http"), attributes("https")], [["SameSite"], ["SameSite", "Secure"]]);
  const names = Array.from({ length: 100 }, (_, i) => cookie(`default/web/#${i}`, "http")?.name ?? "");
  for (const name of names) assertMatch(name, /^gatehouse-[a-z0-9]{22}$/);
  assertEquals(new Set(names).size, 100);
});

Deno.test("headers: two changes in turn are one", () => {
  const header = (name: string, value: string) => ({ name, value });
  const none = { set: [], add: [], remove: [] };
  const first = {
    set: [header("a", "1"), header("b", "1")],
    add: [header("c", "1"), header("d", "1")],
    remove: ["e", "f"],
  };
  const then = {
    set: [header("a", "2"), header("c", "2"), header("e", "2")],
    add: [header("d", "2")],
    remove: ["b", "f"],
  };
  assertEquals(inTurn(undefined, undefined), undefined);
  assertEquals(inTurn(first, undefined), first);
  assertEquals(inTurn(undefined, then), then);
  assertEquals(inTurn(first, none), first);
  assertEquals(inTurn(first, then), {
    set: [header("a", "2"), header("c", "2"), header("e", "2")],
    add: [header("d", "1"), header("d", "2")],
    remove: ["e", "f", "b"],
  });
});

Deno.test("routes: proxies have the clusters of backends and of mirrors before the route", () => {
  const clusters = clustersOf({
    kind: "forward",
    backends: [
      { weight: 1, target: { cluster: "a" } },
      { weight: 0, target: { cluster: "b" } },
      { weight: 1, target: { status: 500 } },
    ],
    mirrors: [{ cluster: "c", share: { numerator: 1, denominator: 2 } }],
  });
  assertEquals(clusters, ["a", "c"]);
  assertEquals(clustersOf({ kind: "respond", status: 500 }), []);
});
