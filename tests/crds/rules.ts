/**
 * One object that keeps each rule of Gateway API, and one that breaks it.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Kind, type Surface } from "../../crds/mod.ts";

type Json = { readonly [field: string]: unknown };

export interface RuleCase {
  readonly kinds: readonly string[];
  readonly message: string;
  /** Where the rule is reported. */
  readonly field: string;
  /** Specs, or whole objects without apiVersion, kind and metadata where there is a `status`. */
  readonly keeps: Json;
  readonly breaks: Json;
  /** The spec that is replaced by `keeps` and `breaks`. */
  readonly old?: Json;
  readonly surface?: Partial<Surface>;
  readonly version?: string;
  /** Other errors that cannot be kept apart from this one. */
  readonly also?: readonly string[];
}

const routes = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];
const listenerKinds = ["Gateway", "ListenerSet"];
const requestRoutes = ["HTTPRoute", "GRPCRoute"];
const standard = { channel: "standard" } as const;
const v16 = { release: "1.6" } as const;

const rule = (parts: Json): Json => ({ rules: [parts] });
const backend: Json = { name: "web", port: 80 };

function cases(
  kinds: readonly string[],
  field: string,
  make: (parts: never) => Json,
  table: readonly (readonly [message: string, keeps: unknown, breaks: unknown, also?: readonly string[]])[],
  more: Partial<RuleCase> = {},
): RuleCase[] {
  const of = make as (parts: unknown) => Json;
  return table.map(([message, keeps, breaks, also]) => ({
    kinds,
    message,
    field,
    keeps: of(keeps),
    breaks: of(breaks),
    ...(also ? { also } : {}),
    ...more,
  }));
}

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

const mirror = (filter: Json): Json => ({
  type: "RequestMirror",
  requestMirror: { backendRef: backend, ...filter },
});
const headers: Json = { set: [{ name: "x", value: "y" }] };
const requestHeaders: Json = { type: "RequestHeaderModifier", requestHeaderModifier: headers };
const responseHeaders: Json = { type: "ResponseHeaderModifier", responseHeaderModifier: headers };
const redirect = (path?: Json): Json => ({ type: "RequestRedirect", requestRedirect: path ? { path } : {} });
const rewrite = (path?: Json): Json => ({ type: "URLRewrite", urlRewrite: path ? { path } : {} });
const cors: Json = { type: "CORS", cors: {} };
const extension: Json = { group: "example.com", kind: "Filter", name: "f" };
const grpcAuth: Json = { protocol: "GRPC", backendRef: backend, grpc: {} };

/** The members of a union of filters: for each a filter that has it, and the type of another. */
const unions: readonly (readonly [kinds: readonly string[], type: string, field: string, settings: Json])[] =
  [
    [requestRoutes, "RequestHeaderModifier", "requestHeaderModifier", headers],
    [requestRoutes, "ResponseHeaderModifier", "responseHeaderModifier", headers],
    [requestRoutes, "RequestMirror", "requestMirror", { backendRef: backend }],
    [requestRoutes, "ExtensionRef", "extensionRef", extension],
    [["HTTPRoute"], "CORS", "cors", {}],
    [["HTTPRoute"], "RequestRedirect", "requestRedirect", {}],
    [["HTTPRoute"], "URLRewrite", "urlRewrite", {}],
    [["HTTPRoute"], "ExternalAuth", "externalAuth", grpcAuth],
  ];

function unionCases(
  kinds: readonly string[],
  type: string,
  field: string,
  settings: Json,
  at: string,
  make: (filter: Json) => Json,
  other: Json,
): RuleCase[] {
  return cases(kinds, at, make as (parts: never) => Json, [
    [
      `filter.${field} must be nil if the filter.type is not ${type}`,
      other,
      { ...other, [field]: settings },
    ],
    [`filter.${field} must be specified for ${type} filter.type`, { type, [field]: settings }, { type }],
  ]);
}

const filters: RuleCase[] = [
  ...unions.flatMap(([kinds, type, field, settings]) =>
    unionCases(
      kinds,
      type,
      field,
      settings,
      "spec.rules[0].filters[0]",
      (filter) => rule({ filters: [filter] }),
      type === "RequestMirror" ? requestHeaders : mirror({}),
    )
  ),
  ...[
    [requestRoutes, requestHeaders],
    [requestRoutes, responseHeaders],
    [["HTTPRoute"], cors],
    [["HTTPRoute"], redirect()],
    [["HTTPRoute"], rewrite()],
  ].map(([kinds, filter]): RuleCase => ({
    kinds: kinds as string[],
    message: `${(filter as Json).type} filter cannot be repeated`,
    field: "spec.rules[0].filters",
    keeps: rule({ filters: [filter, mirror({}), mirror({})] }),
    breaks: rule({ filters: [filter, filter] }),
  })),
  {
    kinds: ["HTTPRoute"],
    message:
      "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
    field: "spec.rules[0].backendRefs[0].filters",
    keeps: rule({ backendRefs: [{ ...backend, filters: [redirect()] }] }),
    breaks: rule({ backendRefs: [{ ...backend, filters: [redirect(), rewrite()] }] }),
  },
  ...cases(
    requestRoutes,
    "spec.rules[0].filters[0].requestMirror",
    (parts: Json) => rule({ filters: [mirror(parts)] }),
    [[
      "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
      { percent: 0 },
      { percent: 50, fraction: { numerator: 1 } },
    ]],
  ),
  ...cases(
    requestRoutes,
    "spec.rules[0].filters[0].requestMirror.fraction",
    (fraction: Json) => rule({ filters: [mirror({ fraction })] }),
    [[
      "numerator must be less than or equal to denominator",
      { numerator: 100 },
      { numerator: 3, denominator: 2 },
    ]],
  ),
  ...cases(
    ["HTTPRoute"],
    "spec.rules[0].filters[0].requestRedirect.path",
    (path: Json) => rule({ filters: [redirect(path)] }),
    [
      [
        "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
        { type: "ReplaceFullPath", replaceFullPath: "" },
        { type: "ReplaceFullPath" },
      ],
      [
        "type must be 'ReplaceFullPath' when replaceFullPath is set",
        { type: "ReplacePrefixMatch", replacePrefixMatch: "/x" },
        { type: "ReplacePrefixMatch", replacePrefixMatch: "/x", replaceFullPath: "/" },
      ],
      [
        "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'",
        { type: "ReplacePrefixMatch", replacePrefixMatch: "" },
        { type: "ReplacePrefixMatch" },
      ],
      [
        "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set",
        { type: "ReplaceFullPath", replaceFullPath: "/x" },
        { type: "ReplaceFullPath", replaceFullPath: "/x", replacePrefixMatch: "/" },
      ],
    ],
  ),
  ...([
    ["allowOrigins", "AllowOrigins cannot contain '*' alongside other origins", "https://example.com"],
    ["allowMethods", "AllowMethods cannot contain '*' alongside other methods", "GET"],
    ["allowHeaders", "AllowHeaders cannot contain '*' alongside other methods", "x-a"],
  ] as const).map(([field, message, value]): RuleCase => ({
    kinds: ["HTTPRoute"],
    message,
    field: `spec.rules[0].filters[0].cors.${field}`,
    keeps: rule({ filters: [{ type: "CORS", cors: { [field]: ["*"] } }] }),
    breaks: rule({ filters: [{ type: "CORS", cors: { [field]: ["*", value] } }] }),
  })),
];

const auth = (externalAuth: Json): Json => ({ type: "ExternalAuth", externalAuth });

const authTable = [
  ["grpc must be specified when protocol is set to 'GRPC'", grpcAuth, {
    protocol: "GRPC",
    backendRef: backend,
  }],
  [
    "protocol must be 'GRPC' when grpc is set",
    { protocol: "HTTP", backendRef: backend, http: {} },
    { protocol: "HTTP", backendRef: backend, http: {}, grpc: {} },
  ],
  [
    "http must be specified when protocol is set to 'HTTP'",
    { protocol: "HTTP", backendRef: backend, http: { path: "/auth" } },
    { protocol: "HTTP", backendRef: backend },
  ],
  ["protocol must be 'HTTP' when http is set", grpcAuth, { ...grpcAuth, http: {} }],
] as const;

const prefix: Json = { type: "ReplacePrefixMatch", replacePrefixMatch: "/x" };
const exact: Json = { path: { type: "Exact", value: "/" } };

const replacing: RuleCase[] = [
  ...cases(["HTTPRoute"], "spec.rules[0]", (parts: Json) => rule(parts), [
    [
      "RequestRedirect filter must not be used together with backendRefs",
      { filters: [redirect()] },
      { filters: [redirect()], backendRefs: [backend] },
    ],
    ...([["RequestRedirect", redirect(prefix)], ["URLRewrite", rewrite(prefix)]] as const).flatMap((
      [type, filter],
    ) => {
      const what =
        `using ${type} filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified`;
      const within = `Within backendRefs, ${type === "URLRewrite" ? "When" : "when"} ${what}`;
      const backendRefs = [{ ...backend, filters: [filter] }];
      return [
        [`When ${what}`, { filters: [filter] }, { filters: [filter], matches: [exact] }],
        [within, { backendRefs }, { backendRefs, matches: [{}, {}] }],
      ] as const;
    }),
  ]),
];

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

const http: Json = { name: "a", port: 80, protocol: "HTTP" };
const secret: Json = { certificateRefs: [{ name: "s" }] };
const listeners = (list: readonly Json[]): Json => ({ listeners: list });
const httpsUnique = "Combination of port, protocol and hostname must be unique for each listener";

const listener: RuleCase[] = [
  ...cases(listenerKinds, "spec.listeners", listeners, [
    [
      "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
      [{ ...http, protocol: "HTTPS", tls: secret }],
      [{ ...http, tls: secret }],
    ],
    [
      "tls mode must be Terminate for protocol HTTPS",
      [{ ...http, protocol: "HTTPS" }],
      [{ ...http, protocol: "HTTPS", tls: { mode: "Passthrough" } }],
    ],
    [
      "tls mode must be set for protocol TLS",
      [{ ...http, protocol: "TLS", tls: { mode: "Passthrough" } }],
      [{ ...http, protocol: "TLS" }],
    ],
    [
      "hostname must not be specified for protocols ['TCP', 'UDP']",
      [{ ...http, protocol: "TCP" }],
      [{ ...http, protocol: "UDP", hostname: "a.example.com" }],
    ],
    [
      "Listener name must be unique within the Gateway",
      [http, { ...http, name: "b", port: 81 }],
      [http, { ...http, port: 81 }],
      ['Duplicate value: {"name":"a"}'],
    ],
    [
      httpsUnique,
      [{ ...http, hostname: "a.example.com" }, { ...http, name: "b" }],
      [http, { ...http, name: "b" }],
    ],
  ]),
  ...cases(
    listenerKinds,
    "spec.listeners[0].tls",
    (tls: Json) => listeners([{ ...http, protocol: "HTTPS", tls }]),
    [[
      "certificateRefs or options must be specified when mode is Terminate",
      { options: { a: "b" } },
      { certificateRefs: [] },
    ]],
  ),
  {
    kinds: ["Gateway"],
    message: "filters may only be set when protocol is HTTP or HTTPS",
    field: "spec.listeners[0]",
    keeps: listeners([{ ...http, filters: {} }]),
    breaks: listeners([{ ...http, protocol: "TCP", filters: {} }]),
  },
  ...([["ExternalAuth", "externalAuth", grpcAuth], ["ExtensionRef", "extensionRef", extension]] as const)
    .flatMap((
      [type, field, settings],
    ) =>
      unionCases(
        listenerKinds,
        type,
        field,
        settings,
        "spec.listeners[0].filters.requests[0]",
        (filter) => listeners([{ ...http, filters: { requests: [filter] } }]),
        type === "ExternalAuth" ? { type: "ExtensionRef", extensionRef: extension } : auth(grpcAuth),
      )
    ),
  ...cases(
    listenerKinds,
    "spec.listeners[0].filters.requests[0].externalAuth",
    (parts: Json) => listeners([{ ...http, filters: { requests: [auth(parts)] } }]),
    authTable,
  ),
  ...cases(
    listenerKinds,
    "spec.listeners[0].filters.requests[0].externalAuth.backendRef",
    (ref: Json) => listeners([{ ...http, filters: { requests: [auth({ ...grpcAuth, backendRef: ref })] } }]),
    [
      ["Must have port for Service reference", backend, { name: "web" }],
      ["Must not have port for Backend reference", {
        name: "b",
        group: "gateway.networking.x-k8s.io",
        kind: "XBackend",
      }, {
        name: "b",
        group: "gateway.networking.x-k8s.io",
        kind: "XBackend",
        port: 1,
      }],
    ],
  ),
];

const anyHost = String.raw`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`;
const addressMessage =
  "Routability must be empty, Cluster, or an implementation-specific prefixed path; k8s.io and " +
  "its subdomains are reserved";
const keyForm =
  "keys must be in the form of an optional DNS subdomain prefix followed by a required name segment of " +
  "up to 63 characters.";
const keyPrefix = (name: string) =>
  `If specified, the ${name} key's prefix must be a DNS subdomain not longer than 253 characters in total.`;
const longKey = `${"a.".repeat(126)}a/c`;
const bundle: Json = { group: "certificates.k8s.io", kind: "ClusterTrustBundle", name: "x" };
const validated = (caCertificateRefs: readonly Json[]): Json => ({ validation: { caCertificateRefs } });

const gateways: RuleCase[] = [
  ...cases(["Gateway"], "spec.addresses", (addresses: readonly Json[]) => ({ addresses }), [
    [
      "IPAddress values must be unique",
      [{ value: "10.0.0.1" }, { value: "10.0.0.2" }, {}, {}],
      [{ value: "10.0.0.1" }, { value: "10.0.0.1" }],
    ],
    [
      "Hostname values must be unique",
      [{ type: "Hostname", value: "a" }, { type: "Hostname", value: "b" }],
      [{ type: "Hostname", value: "a" }, { type: "Hostname", value: "a" }],
    ],
  ]),
  ...cases(["Gateway"], "spec.addresses[0]", (address: Json) => ({ addresses: [address] }), [[
    `Hostname value must be empty or contain only valid characters (matching ${anyHost})`,
    { type: "Hostname" },
    { type: "Hostname", value: "A_b" },
  ]]),
  ...cases(
    ["Gateway"],
    "status.addresses[0]",
    (address: Json) => ({ spec: listeners([http]), status: { addresses: [address] } }),
    [[
      `Hostname value must only contain valid characters (matching ${anyHost})`,
      { type: "Hostname", value: "*.a.example.com" },
      { type: "Hostname", value: "A_b" },
    ]],
  ),
  ...cases(
    ["Gateway"],
    "spec.addresses[0].routability",
    (routability: string) => ({ addresses: [{ routability }] }),
    [
      [addressMessage, "example.com/private", "internal.k8s.io/x"],
      [addressMessage, "", "Internet"],
    ],
  ),
  ...cases(["Gateway"], "spec.infrastructure.labels", (labels: Json) => ({ infrastructure: { labels } }), [
    [`Label ${keyForm}`, { "example.com/a.b_c-d": "" }, { "-a": "" }],
    [keyPrefix("label"), { [`${"a.".repeat(125)}aa/c`]: "" }, { [longKey]: "" }],
  ]),
  ...cases(
    ["Gateway"],
    "spec.infrastructure.annotations",
    (annotations: Json) => ({ infrastructure: { annotations } }),
    [
      [`Annotation ${keyForm}`, { "example.com/a.b_c-d": "" }, { "a/b/c": "" }],
      [keyPrefix("annotation"), { a: "" }, { [longKey]: "" }],
    ],
  ),
  ...cases(
    ["Gateway"],
    "spec.tls.frontend.perPort",
    (ports: readonly number[]) => ({
      tls: { frontend: { default: {}, perPort: ports.map((port) => ({ port, tls: {} })) } },
    }),
    [[
      "Port for TLS configuration must be unique within the Gateway",
      [1, 2],
      [1, 1],
      ['Duplicate value: {"port":1}'],
    ]],
  ),
  ...cases(
    ["Gateway"],
    "spec.tls.frontend.default.validation.caCertificateRefs",
    (list: readonly Json[]) => ({ tls: { frontend: { default: validated(list) } } }),
    [["ClusterTrustBundle references must not specify namespace", [bundle], [{ ...bundle, namespace: "x" }]]],
  ),
];

const immutable: RuleCase[] = ([["field is immutable", "1.7"], ["Value is immutable", "1.6"]] as const).map((
  [message, release],
) => ({
  kinds: ["GatewayClass"],
  message,
  field: "spec.controllerName",
  keeps: { description: "new" },
  breaks: { controllerName: "example.com/other" },
  old: { controllerName: "example.com/controller" },
  surface: { release },
}));

const san = (name: Json): Json => ({
  validation: { hostname: "a", wellKnownCACertificates: "System", subjectAltNames: [name] },
});
const ca: Json = { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }] };
const system: Json = { wellKnownCACertificates: "System" };
const trust = (parts: Json): Json => ({ validation: { hostname: "a", ...parts } });
const target: Json = { group: "", kind: "Service", name: "web" };

const policies: RuleCase[] = [
  ...cases(["BackendTLSPolicy"], "spec.targetRefs", (targetRefs: readonly Json[]) => ({ targetRefs }), [
    [
      "sectionName must be specified when targetRefs includes 2 or more references to the same target",
      [{ ...target, sectionName: "a" }, { ...target, sectionName: "b" }],
      [target, { ...target, sectionName: "b" }],
    ],
    [
      "sectionName must be unique when targetRefs includes 2 or more references to the same target",
      [target, { ...target, name: "other" }],
      [{ ...target, sectionName: "a" }, { ...target, sectionName: "a" }],
    ],
  ]),
  ...cases(["BackendTLSPolicy"], "spec.validation.subjectAltNames[0]", san, [
    [
      "SubjectAltName element must contain Hostname, if Type is set to Hostname",
      { type: "Hostname", hostname: "a" },
      { type: "Hostname" },
    ],
    [
      "SubjectAltName element must not contain Hostname, if Type is not set to Hostname",
      { type: "URI", uri: "spiffe://a" },
      { type: "URI", uri: "spiffe://a", hostname: "a" },
    ],
    ["SubjectAltName element must contain URI, if Type is set to URI", { type: "URI", uri: "spiffe://a" }, {
      type: "URI",
    }],
    [
      "SubjectAltName element must not contain URI, if Type is not set to URI",
      { type: "Hostname", hostname: "a" },
      { type: "Hostname", hostname: "a", uri: "spiffe://a" },
    ],
  ]),
  ...cases(["BackendTLSPolicy"], "spec.validation", trust, [[
    "exactly one of the fields in [caCertificateRefs wellKnownCACertificates] must be set",
    ca,
    { ...ca, ...system },
  ]]),
  ...[v16, standard].flatMap((surface) =>
    cases(["BackendTLSPolicy"], "spec.validation", trust, [
      [
        "must not contain both CACertificateRefs and WellKnownCACertificates",
        { caCertificateRefs: [], ...system },
        { ...ca, ...system },
      ],
      [
        "must specify either CACertificateRefs or WellKnownCACertificates",
        system,
        { caCertificateRefs: [] },
      ],
    ], { surface })
  ),
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

export const ruleCases: readonly RuleCase[] = [
  ...parents,
  ...backends,
  ...filters,
  ...cases(
    ["HTTPRoute"],
    "spec.rules[0].filters[0].externalAuth",
    (parts: Json) => rule({ filters: [auth(parts)] }),
    authTable,
  ),
  ...replacing,
  ...matches,
  ...sessions,
  ...listener,
  ...gateways,
  ...immutable,
  ...policies,
  ...names,
];

/** What a spec needs besides what a case is about. */
const frames: { readonly [kind: string]: Json } = {
  GatewayClass: { controllerName: "example.com/controller" },
  Gateway: { gatewayClassName: "c", listeners: [http] },
  ListenerSet: { parentRef: { name: "g" }, listeners: [http] },
  HTTPRoute: {},
  GRPCRoute: {},
  TLSRoute: { hostnames: ["a.example.com"], rules: [{ backendRefs: [backend] }] },
  TCPRoute: { rules: [{ backendRefs: [backend] }] },
  UDPRoute: { rules: [{ backendRefs: [backend] }] },
  BackendTLSPolicy: {
    targetRefs: [target],
    validation: { hostname: "a", wellKnownCACertificates: "System" },
  },
};

/** The whole object of a case. */
export function objectOf(kind: Kind, parts: Json, version: string): ApiObject {
  const { status, spec = parts } = parts;
  return {
    apiVersion: apiVersion(kind, version),
    kind: kind.kind,
    metadata: { name: "x" },
    spec: { ...frames[kind.kind], ...spec as object },
    ...(status === undefined ? {} : { status }),
  } as ApiObject;
}
