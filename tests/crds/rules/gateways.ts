/**
 * Rules about Gateways, ListenerSets and GatewayClasses.
 *
 * @module
 */
import { anyHost, backend, cases, http, type Json, listenerKinds, type RuleCase } from "./case.ts";
import { auth, authTable, extension, grpcAuth, unionCases } from "./filter_parts.ts";

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

export const gatewayCases: readonly RuleCase[] = [...listener, ...gateways, ...immutable];
