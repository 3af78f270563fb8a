/**
 * The small rules, as tables.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { RouteMatch } from "../../controllers/ir/mod.ts";
import { translate } from "../../controllers/translate/batch.ts";
import { join } from "../../controllers/translate/conditions.ts";
import { stamp } from "../../controllers/translate/due.ts";
import { milliseconds } from "../../controllers/translate/durations.ts";
import { endpointsOf } from "../../controllers/translate/endpoints.ts";
import { granted } from "../../controllers/translate/grants.ts";
import { covering, covers, intersect } from "../../controllers/translate/hostnames.ts";
import { matchesSelector } from "../../controllers/translate/labels.ts";
import { compare, matchesAll, rankOf } from "../../controllers/translate/matches.ts";
import {
  headerFault,
  hostnameFault,
  hostnamePatternFault,
  literalFault,
  nameFault,
  pathFault,
  regexFault,
} from "../../controllers/translate/validate.ts";
import { random } from "../support/random.ts";
import { route, service, slice, small, to } from "./cluster.ts";

Deno.test("hostnames: what two have in common", () => {
  const table: readonly (readonly [string, string, string | undefined])[] = [
    ["*", "*", "*"],
    ["*", "a.com", "a.com"],
    ["a.com", "a.com", "a.com"],
    ["a.com", "b.com", undefined],
    ["*.a.com", "x.a.com", "x.a.com"],
    ["*.a.com", "x.y.a.com", "x.y.a.com"],
    ["*.a.com", "a.com", undefined],
    ["*.a.com", "xa.com", undefined],
    ["*.a.com", "*.x.a.com", "*.x.a.com"],
    ["*.a.com", "*.com", "*.a.com"],
    ["*.a.com", "*.b.com", undefined],
    ["*.x.a.com", "x.a.com", undefined],
  ];
  for (const [a, b, common] of table) {
    assertEquals(intersect(a, b), common, `${a} and ${b}`);
    assertEquals(intersect(b, a), common, `${b} and ${a}`);
  }
});

Deno.test("hostnames: everything that covers one, the most specific first", () => {
  assertEquals(covering("a.b.com"), ["a.b.com", "*.b.com", "*.com", "*"]);
  assertEquals(covering("*.b.com"), ["*.b.com", "*.com", "*"]);
  assertEquals(covering("localhost"), ["localhost", "*"]);
  assertEquals(covering("*"), ["*"]);
  for (const name of ["a.b.c.com", "*.b.c.com"]) {
    for (const other of covering(name)) assertEquals(covers(other, name), true, `${other} covers ${name}`);
  }
});

Deno.test("labels: selectors", () => {
  const labels = { team: "blue", tier: "" };
  const expression = (key: string, operator: string, ...values: string[]) =>
    matchesSelector({ matchExpressions: [{ key, operator, values }] }, labels);
  assertEquals(matchesSelector({}, {}), true);
  assertEquals(matchesSelector({ matchLabels: { team: "blue" } }, labels), true);
  assertEquals(matchesSelector({ matchLabels: { team: "red" } }, labels), false);
  assertEquals(matchesSelector({ matchLabels: { constructor: "x" } }, labels), false);
  assertEquals(expression("team", "In", "red", "blue"), true);
  assertEquals(expression("none", "In", ""), false);
  assertEquals(expression("team", "NotIn", "blue"), false);
  assertEquals(expression("none", "NotIn", "blue"), true);
  assertEquals(expression("tier", "Exists"), true);
  assertEquals(expression("none", "Exists"), false);
  assertEquals(expression("none", "DoesNotExist"), true);
  assertEquals(expression("tier", "DoesNotExist"), false);
  // As metav1.LabelSelectorAsSelector has it, these are none at all.
  assertEquals(expression("team", "NotIn"), false);
  assertEquals(expression("team", "In"), false);
  assertEquals(expression("team", "Exists", "blue"), false);
  assertEquals(expression("none", "DoesNotExist", "blue"), false);
  assertEquals(expression("the team", "NotIn", "red"), false);
  assertEquals(expression("example.com/", "DoesNotExist"), false);
  assertEquals(expression("-.com/none", "DoesNotExist"), false);
  assertEquals(expression("none", "NotIn", "-"), false);
  assertEquals(expression("none", "NotIn", "x".repeat(64)), false);
  assertEquals(expression("example.com/none", "NotIn", "x".repeat(63), ""), true);
  assertEquals(expression("team", "Like", "blue"), false, "an operator that is new to us lets nobody in");
});

Deno.test("grants: every part of a reference has to be granted by one grant", () => {
  const grant = (from: object, to: object) => ({
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant" as const,
    metadata: { name: "g", namespace: "b" },
    spec: {
      from: [{ group: "g", kind: "R", namespace: "a", ...from }],
      to: [{ group: "", kind: "Service", ...to }],
    },
  });
  const reference = {
    from: { group: "g", kind: "R", namespace: "a" },
    to: { group: "", kind: "Service", name: "s" },
  };
  const by = (...grants: ReturnType<typeof grant>[]) =>
    granted(reference, new Map(grants.map((g, i) => [String(i), g])));
  assertEquals(granted(reference, undefined), false);
  assertEquals(by(grant({}, {})), true);
  assertEquals(by(grant({}, { name: "s" })), true);
  assertEquals(by(grant({}, { name: "t" })), false);
  assertEquals(by(grant({ namespace: "c" }, {})), false);
  assertEquals(by(grant({ group: "h" }, {})), false);
  assertEquals(by(grant({ kind: "S" }, {})), false);
  assertEquals(by(grant({}, { kind: "Secret" })), false);
  assertEquals(by(grant({}, { group: "x" })), false);
  assertEquals(by(grant({ namespace: "c" }, {}), grant({}, { name: "t" })), false, "not half by each");
});

Deno.test("matches: precedence is a total order", () => {
  const rnd = random(1);
  const values = (n: number) => rnd.list(n, (i) => ({ name: `n${i}`, type: "exact" as const, value: "v" }));
  const entries = Array.from({ length: 60 }, (_, i) => {
    const match: RouteMatch = {
      path: { type: rnd.pick(["exact", "prefix", "regex"]), value: rnd.pick(["/", "/a", "/b", "/ab"]) },
      ...rnd.oneIn(2) && { method: "GET" },
      headers: values(2),
      queryParams: values(2),
    };
    const key = `default/r${rnd.int(3)}`;
    return {
      route: { name: `${i}`, origin: key, match, action: { kind: "respond", status: 500 } } as const,
      rank: rankOf(match, { created: rnd.pick(["1", "2"]), key }, rnd.int(2), i, rnd.oneIn(4)),
    };
  });
  for (const a of entries) {
    for (const b of entries) {
      assertEquals(Math.sign(compare(a, b)) || 0, -Math.sign(compare(b, a)) || 0);
      assertEquals(compare(a, b) === 0, a === b);
      for (const c of entries) {
        if (compare(a, b) < 0 && compare(b, c) < 0) assertEquals(compare(a, c) < 0, true);
      }
    }
  }
});

Deno.test("matches: only what nothing gets past hides the rest", () => {
  const everything: RouteMatch = { path: { type: "prefix", value: "/" }, headers: [], queryParams: [] };
  const value = { name: "a", type: "exact", value: "b" } as const;
  assertEquals(matchesAll(everything), true);
  assertEquals(matchesAll({ ...everything, path: { type: "exact", value: "/" } }), false);
  assertEquals(matchesAll({ ...everything, path: { type: "prefix", value: "/a" } }), false);
  assertEquals(matchesAll({ ...everything, path: { type: "regex", value: "/" } }), false);
  assertEquals(matchesAll({ ...everything, method: "GET" }), false);
  assertEquals(matchesAll({ ...everything, headers: [value] }), false);
  assertEquals(matchesAll({ ...everything, queryParams: [value] }), false);
});

Deno.test("validation: regular expressions and headers", () => {
  for (
    const fine of [
      "a|b",
      "(((a{10}){10}){10})",
      "[^]{}]\\{9999}",
      "\\x{ff}",
      ".{1000}".repeat(9),
      "[a-z]+\\d{2,3}",
      "(?i)x",
      "\\p{Greek}",
      "(?P<name>x)",
    ]
  ) {
    assertEquals(regexFault(fine), undefined, fine);
  }
  for (const bad of ["(", "[", "a**", "(?=x)", "(?!x)", "\\1", "x{1001}", "(?<!x)y"]) {
    assertEquals(regexFault(bad)?.startsWith(`RE2 refuses the regular expression "${bad}" (`), true, bad);
  }
  const long = regexFault("(" + "a".repeat(9_999))!;
  assertEquals([
    long.startsWith(`RE2 refuses the regular expression "(${"a".repeat(199)}…" (`),
    long.length < 500,
  ], [
    true,
    true,
  ]);
  const tooMuch: readonly (readonly [pattern: string, problem: string])[] = [
    ["", "an empty regular expression is not supported"],
    ["\\x{10ffff}", `"\\x{10ffff}" is not supported`],
    ["\\pL{1000}".repeat(100), "of some 110100 instructions is not supported"],
    [`(${"abcd".repeat(1000)}){1000}`, "of some 4000000 instructions is not supported"],
    ["a".repeat(10_001), "of some 10001 instructions is not supported"],
  ];
  for (const [pattern, problem] of tooMuch) {
    assertEquals(regexFault(pattern)?.includes(problem), true, `${regexFault(pattern)}`);
  }
  // In one pass, however many brackets are opened and not closed; each property counts, wherever it is named.
  for (const open of ["[", "[\\", "(?:["]) assertEquals(regexFault(open.repeat(4_000)) !== undefined, true);
  assertEquals(
    regexFault(`[${"\\pL".repeat(1000)}]`)?.includes("of some 100751 instructions is not supported"),
    true,
  );
  const taken = { size: 0 };
  assertEquals([regexFault("a".repeat(6_000), taken), taken.size], [undefined, 6_000]);
  assertEquals(
    regexFault("b".repeat(4_001), taken),
    "more than some 10000 instructions of regular expressions in one route are not supported, divide it",
  );
  assertEquals(headerFault("set", "X-Fine", "with\ttab and ümlaut"), undefined);
  assertEquals(headerFault("set", "Host", "x"), undefined);
  for (const bad of ["", "a b", "a:b", ":path", "ä", "a\n"]) {
    assertEquals(headerFault("set", bad, "x")?.includes("is not a header name"), true, bad);
  }
  for (const bad of ["a\r\nb", "\0", "\x7f"]) {
    assertEquals(headerFault("add", "a", bad)?.includes("control characters"), true, bad);
  }
  assertEquals(headerFault("add", "Host", "x")?.includes("it can only be set"), true);
  assertEquals(headerFault("remove", "hOST", "")?.includes("it can only be set"), true);
  for (
    const framing of [
      "Connection",
      "content-length",
      "Keep-Alive",
      "Proxy-Connection",
      "TRANSFER-ENCODING",
      "upgrade",
    ]
  ) {
    const problem = `header "${framing}" is for proxies alone to set, remove it`;
    assertEquals([headerFault("set", framing, "5"), headerFault("add", framing, "5")], [problem, problem]);
    assertEquals(headerFault("remove", framing, ""), undefined);
  }
});

Deno.test("validation: names, paths and hostnames", () => {
  const check = (
    fault: (text: string) => string | undefined,
    fine: readonly string[],
    bad: readonly string[],
  ) => {
    assertEquals(fine.filter((text) => fault(text) !== undefined), []);
    assertEquals(bad.filter((text) => fault(text) === undefined), []);
  };
  check(nameFault, ["a", "A-1", "x_y", "~", "x".repeat(256)], [
    "",
    " ",
    "a b",
    ":path",
    "é",
    "a\n",
    "x".repeat(257),
  ]);
  check(literalFault, ["/", "/a/", "/%20", "/*"], ["", "a", " /", "/a?b", "/#", "/a\nb"]);
  check(pathFault, ["", "/", "/a\\1", "/%41"], ["/a\nb", "/\0", "\r", "new", "?a", " /", "example.com/"]);
  check(hostnameFault, ["a", "a.b-c.d", "1.2"], [
    "",
    "*.a",
    "A.b",
    "a..b",
    ".a",
    "a.",
    "-a",
    "a-",
    "a b",
    "a:80",
    "192.0.2.1",
  ]);
  check(hostnameFault, [`${"x".repeat(251)}.a`], [`${"x".repeat(252)}.a`]);
  check(hostnamePatternFault, ["a", "a.b-c.d", "*.a", "*.a.b", "xn--bcher-kva.example", "192.0.2.256"], [
    "",
    "192.0.2.1",
    "*.192.0.2.1",
    "*",
    "*.",
    "*a.b",
    "*.*.b",
    "a.*.b",
    "*.b.*",
    "A.b",
    "a..b",
    ".a",
    "a.",
    "-a",
    "a-",
    "a_b",
    "a b",
    "a,b",
    "a/b",
    "a:80",
    "[::1]",
    "%",
    "bücher.example",
    "a\nb",
    "a\0b",
    `*.${"x".repeat(252)}`,
  ]);
});

Deno.test("endpoints: an endpoint in two slices counts once, and as usable if one of them says so", () => {
  const cluster = { name: "default/app/80", protocol: "http1", service: "default/app", port: 80 } as const;
  const ready = slice("app", "10.0.0.1");
  const leaving = {
    ...ready,
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false, serving: true, terminating: true } }],
  };
  for (const slices of [[ready, leaving], [leaving, ready]]) {
    const group = new Map(slices.map((s, i) => [String(i), s]));
    assertEquals(endpointsOf(cluster, service("app"), group).localities, [
      { zone: "", endpoints: [{ address: "10.0.0.1", port: 8080, draining: false }] },
    ]);
  }
  assertEquals(endpointsOf(cluster, service("app"), undefined), { cluster: cluster.name, localities: [] });
});

Deno.test("due: the time of transition is put in where it is missing, and nowhere else", () => {
  const condition = { type: "T", status: "True", reason: "R", message: "" };
  const old = { ...condition, lastTransitionTime: "2020-01-01T00:00:00Z" };
  const test = { op: "test", path: "/metadata/resourceVersion", value: "1" } as const;
  const other = { type: "IPAddress", value: "192.0.2.1" };
  const now = new Date("2026-01-02T03:04:05.678Z");
  assertEquals(
    stamp([
      test,
      { op: "add", path: "/status", value: { conditions: [condition, old], addresses: [other] } },
      { op: "remove", path: "/status/parents/0" },
    ], now),
    [
      test,
      {
        op: "add",
        path: "/status",
        value: {
          conditions: [{ ...condition, lastTransitionTime: "2026-01-02T03:04:05Z" }, old],
          addresses: [other],
        },
      },
      { op: "remove", path: "/status/parents/0" },
    ],
  );
});

Deno.test("conditions: messages are joined without repetition and stay within the API's limit", () => {
  assertEquals(join(["a", "b", "a"]), "a; b");
  const long = join(Array.from({ length: 10_000 }, (_, i) => `message ${i}`));
  assertEquals(new TextEncoder().encode(long).length < 32_768, true);
  assertEquals(long.endsWith("…"), true);
});

Deno.test("batch: an object of another group's kind of the same name is left alone", () => {
  const stranger = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "web", namespace: "default" },
    spec: { selector: {} },
  };
  const { ignored, graph, gateways } = translate([stranger]);
  assertEquals([ignored, graph.stats.failing, gateways.size], [[stranger], 0, 0]);
});

Deno.test("due: no more parents than the API takes, whoever put them there", () => {
  const parents = Array.from({ length: 31 }, (_, i) => ({
    parentRef: { name: `theirs${i}` },
    controllerName: "example.com/other",
    conditions: [],
  }));
  const crowded = {
    ...route("a", {
      parentRefs: [{ name: "web", sectionName: "http" }, { name: "web", port: 80 }],
      rules: [to("app")],
    }),
    status: { parents },
  };
  const { due } = translate(small(crowded));
  assertEquals(due.get("HTTPRoute/default/a")!.patch.map(({ op, path }) => `${op} ${path}`), [
    "test /metadata/resourceVersion",
    "add /status/parents/-",
  ]);
});

Deno.test("durations: as GEP-2257 has them", () => {
  const table = {
    "0s": 0,
    "1h": 3_600_000,
    "1m30s": 90_000,
    "500ms": 500,
    "1s1ms": 1001,
    "1h1m1s1ms": 3_661_001,
  };
  for (const [text, value] of Object.entries(table)) assertEquals(milliseconds(text), value, text);
  for (const text of ["", "1", "1.5s", "-1s", "1d", "100000s", "1s1s1s1s1s", " 1s", "1S"]) {
    assertEquals(milliseconds(text), NaN, text);
  }
});
