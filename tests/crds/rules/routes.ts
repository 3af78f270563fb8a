/**
 * Rules about routes, but for their filters.
 *
 * @module
 */
import {
  anyHost,
  backend,
  cases,
  type Json,
  requestRoutes,
  routes,
  rule,
  type RuleCase,
  standard,
  v16,
} from "./case.ts";

const refs = (...parentRefs: readonly Json[]): Json => ({ parentRefs });
const a: Json = { name: "a" };

const parents: RuleCase[] = [
  ...cases(routes, "spec.parentRefs", (list: readonly Json[]) => refs(...list), [
    [
      "sectionName must be specified when parentRefs includes 2 or more references to the same parent",
      [{ ...a, sectionName: "x" }, { ...a, sectionName: "y" }],
      [a, { ...a, sectionName: "y" }],
    ],
    [
      "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
      [a, { ...a, namespace: "other" }],
      [{ ...a, sectionName: "x", port: 1 }, { ...a, sectionName: "x", port: 2 }],
    ],
  ], { surface: standard }),
  ...cases(routes, "spec.parentRefs", (list: readonly Json[]) => refs(...list), [
    [
      "sectionName or port must be specified when parentRefs includes 2 or more references to the same parent",
      [{ ...a, port: 1 }, { ...a, port: 2 }],
      [a, { ...a, port: 2 }],
    ],
    [
      "sectionName or port must be unique when parentRefs includes 2 or more references to the same parent",
      [{ ...a, sectionName: "x", port: 1 }, { ...a, sectionName: "x", port: 2 }],
      [a, { name: "b" }, a],
    ],
  ]),
];

const backends: RuleCase[] = cases(
  routes,
  "spec.rules[0].backendRefs[0]",
  (ref: Json) => rule({ backendRefs: [ref] }),
  [
    ["Must have port for Service reference", { name: "web", kind: "Other", group: "example.com" }, {
      name: "web",
    }],
    [
      "Must not have port for Backend reference",
      { name: "web", group: "gateway.networking.x-k8s.io", kind: "XBackend" },
      { name: "web", group: "gateway.networking.x-k8s.io", kind: "XBackend", port: 80 },
    ],
  ],
);

const pathTypes = "when type one of ['Exact', 'PathPrefix']";
const characters = "^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$";

const matches: RuleCase[] = [
  ...cases(
    ["HTTPRoute"],
    "spec.rules[0].matches[0].path",
    (path: Json) => rule({ matches: [{ path }] }),
    [
      [
        `value must be an absolute path and start with '/' ${pathTypes}`,
        { type: "RegularExpression", value: "a+" },
        { type: "Exact", value: "a" },
      ],
      [`must not contain '//' ${pathTypes}`, { value: "/a/b/" }, { value: "/a//b" }],
      [`must not contain '/./' ${pathTypes}`, { value: "/a.b/c" }, { value: "/a/./b" }],
      [`must not contain '/../' ${pathTypes}`, { value: "/a..b/c" }, { value: "/a/../b" }],
      [`must not contain '%2f' ${pathTypes}`, { value: "/%2e" }, { value: "/%2f" }],
      [`must not contain '%2F' ${pathTypes}`, { value: "/%2E" }, { value: "/%2F" }],
      [
        `must not contain '#' ${pathTypes}`,
        { type: "RegularExpression", value: "/#" },
        { value: "/#" },
        [`must only contain valid characters (matching ${characters}) for types ['Exact', 'PathPrefix']`],
      ],
      [`must not end with '/..' ${pathTypes}`, { value: "/a.." }, { value: "/a/.." }],
      [`must not end with '/.' ${pathTypes}`, { value: "/a." }, { value: "/a/." }],
      [
        `must only contain valid characters (matching ${characters}) for types ['Exact', 'PathPrefix']`,
        { value: "/a-Z9/._~!$&'()*+,;=:@%20" },
        { value: "/a b" },
      ],
    ],
  ),
  ...cases(requestRoutes, "spec.rules", (rules: readonly Json[]) => ({ rules }), [[
    "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route " +
    "must be less than 128",
    [64, 64].map((count) => ({ matches: Array(count).fill({}) })),
    [64, 64, 1].map((count) => ({ matches: Array(count).fill({}) })),
  ]]),
  ...cases(requestRoutes, "spec.rules", (rules: readonly Json[]) => ({ rules }), [[
    "Rule name must be unique within the route",
    [{}, {}, { name: "x" }, { name: "y" }],
    [{ name: "x" }, { name: "x" }],
  ]]),
  ...cases(
    ["TLSRoute", "TCPRoute", "UDPRoute"],
    "spec.rules",
    (rules: readonly Json[]) => ({ rules }),
    [[
      "Rule name must be unique within the route",
      [{ name: "x", backendRefs: [backend] }, { backendRefs: [backend] }],
      [{ name: "x", backendRefs: [backend] }, { name: "x", backendRefs: [backend] }],
    ]],
    { version: "v1alpha2" },
  ),
  ...cases(
    ["GRPCRoute"],
    "spec.rules[0].matches[0].method",
    (method: Json) => rule({ matches: [{ method }] }),
    [
      ["One or both of 'service' or 'method' must be specified", { service: "a" }, {}],
      [
        String
          .raw`service must only contain valid characters (matching ^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$)`,
        { service: ".Foo.bar_1" },
        { service: "foo/bar" },
      ],
      [
        "method must only contain valid characters (matching ^[A-Za-z_][A-Za-z_0-9]*$)",
        { type: "RegularExpression", method: "a-.*" },
        { method: "a-b" },
      ],
    ],
  ),
  ...cases(["HTTPRoute"], "spec.rules[0].timeouts", (timeouts: Json) => rule({ timeouts }), [[
    "backendRequest timeout cannot be longer than request timeout",
    { request: "0s", backendRequest: "1h" },
    { request: "1s500ms", backendRequest: "1501ms" },
  ]]),
];

const session = (parts: Json) => rule({ sessionPersistence: parts });
const at = "spec.rules[0].sessionPersistence";
const permanent: Json = { lifetimeType: "Permanent" };
const timeout = "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent";

const sessions: RuleCase[] = [
  ...cases(requestRoutes, at, session, [
    [timeout, { cookie: permanent, absoluteTimeout: "1h" }, { cookie: permanent }],
    ["cookie must be nil if type is not Cookie", { type: "Header", header: { name: "x" } }, {
      type: "Header",
      header: { name: "x" },
      cookie: {},
    }],
    ["cookie must be specified for Cookie type", { cookie: {} }, {}],
    ["header must be nil if type is not Header", { cookie: {} }, { cookie: {}, header: { name: "x" } }],
    ["header must be specified for Header type", { type: "Header", header: { name: "x" } }, {
      type: "Header",
    }],
  ]),
  ...cases(requestRoutes, at, session, [
    [timeout, { cookieConfig: permanent, absoluteTimeout: "1h" }, { cookieConfig: permanent }],
    [
      "cookieConfig can only be set with type Cookie",
      { cookieConfig: {} },
      { type: "Header", cookieConfig: {} },
    ],
  ], { surface: v16 }),
];

const names: RuleCase[] = cases(
  ["TLSRoute"],
  "spec.hostnames",
  (hostnames: readonly string[]) => ({ hostnames }),
  [
    ["Hostnames cannot contain an IP", ["a.example.com"], ["10.0.0.1"]],
    [
      "Hostnames must be valid based on RFC-1123",
      ["1.example.com"],
      ["-a.example.com"],
      [`Invalid value: "-a.example.com": spec.hostnames[0] in body should match '${anyHost}'`],
    ],
    [
      "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on RFC-1123",
      ["*.example.com"],
      ["a.*.example.com"],
      [`Invalid value: "a.*.example.com": spec.hostnames[0] in body should match '${anyHost}'`],
    ],
  ],
);

export const routeCases: readonly RuleCase[] = [...parents, ...backends, ...matches, ...sessions, ...names];
