/**
 * Objects of the core kinds, each with one like it that Kubernetes refuses.
 *
 * @module
 */
import {
  configMap,
  endpointSlice,
  event,
  eventsEvent,
  lease,
  namespace,
  secret,
  serviceAccount,
} from "../../../crds/mod.ts";
import type { Json } from "./case.ts";
import { type CoreCase, label, of, type Row } from "./core_case.ts";
import { serviceCases } from "./services.ts";

export { coreObject } from "./core_case.ts";

/** An EndpointSlice with one endpoint. */
const slice = (addressType: string, ...addresses: readonly string[]): Json => ({
  addressType,
  endpoints: [{ addresses }],
  ports: [{ port: 80 }],
});
const endpoint = (fields: Json): Json => ({
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.0.0.1", "10.0.0.1"], ...fields }],
});
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `a${i}` }));
/** Addresses that endpoints cannot have. */
const special = (type: string, good: string, bad: string, range: string): Row => [
  `endpoints[0].addresses[0]: Invalid value: ${JSON.stringify(bad)}: may not be ${range}`,
  slice(type, good),
  slice(type, bad),
];
const wrongAddress = (type: string, address: string) =>
  `endpoints[0].addresses[0]: Invalid value: ${JSON.stringify(address)}: must be of address type ${type}`;
const malformed = (type: string, good: string, ...bad: readonly string[]): readonly Row[] =>
  bad.map((address) => [wrongAddress(type, address), slice(type, good), slice(type, address)]);

const slices = of(endpointSlice, [
  [
    'endpoints[0].addresses: Invalid value: "2001:db8::1": must be of address type IPv4',
    slice("IPv4", "10.0.0.1", "10.0.0.2"),
    slice("IPv4", "2001:db8::1"),
  ],
  [
    'endpoints[0].addresses: Invalid value: "10.0.0.1": must be of address type IPv6',
    slice("IPv6", "2001:db8::1:2", "1:2:3:4:5:6:7:8"),
    slice("IPv6", "10.0.0.1"),
  ],
  ...malformed("IPv4", "1.2.3.4", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.4 "),
  ...malformed(
    "IPv6",
    "2001:db8::",
    "1::2::3",
    ":1",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    ":::",
    "g::",
    "12345::",
  ),
  ...malformed("IPv6", "2001:db8::1", "2001:DB8::1", "2001:db8:0::1", "::ffff:10.0.0.1"),
  ...malformed("FQDN", "a.example.com.", "A_B", "a"),
  special("IPv4", "10.0.0.1", "0.0.0.0", "unspecified"),
  special("IPv4", "10.0.0.1", "169.254.0.1", "in the link-local range"),
  special("IPv4", "10.0.0.1", "224.0.0.1", "in the link-local multicast range"),
  special("IPv6", "2001:db8::1", "ff02::1", "in the link-local multicast range"),
  [
    'endpoints[0].addresses[0]: Invalid value: "fe80::1:2": may not be in the link-local range',
    slice("IPv6", "2001:db8::1"),
    slice("IPv6", "fe80::1:2"),
  ],
  [
    "endpoints[0].addresses: Required value: must contain at least 1 address",
    slice("IPv4", "10.0.0.1"),
    slice("IPv4"),
  ],
  ["addressType: Required value", { addressType: "IPv4" }, { endpoints: [] }],
  [
    'addressType: Unsupported value: "Nonsense": supported values: "FQDN", "IPv4", "IPv6"',
    { addressType: "IPv6", endpoints: [] },
    { addressType: "Nonsense", endpoints: [] },
  ],
  [
    'ports[0].name: Invalid value: "A_B": must be a lowercase RFC 1123 label',
    { addressType: "IPv4", endpoints: [], ports: [{ name: "a-b", port: 80 }] },
    { addressType: "IPv4", endpoints: [], ports: [{ name: "A_B", port: 80 }] },
  ],
  [
    'endpoints[0].nodeName: Invalid value: "A B": must be the name of a node',
    endpoint({ nodeName: "a.example", hostname: "a" }),
    endpoint({ nodeName: "A B" }),
  ],
  [
    'endpoints[0].hostname: Invalid value: "A": must be a lowercase RFC 1123 label',
    endpoint({ zone: "A B" }),
    endpoint({ hostname: "A" }),
  ],
  [
    'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
    endpoint({ hints: { forZones: [{ name: "a" }] } }),
    endpoint({ hints: { forZones: [{ name: "a" }, { name: "a" }] } }),
  ],
  [
    [
      'endpoints[0].hints.forNodes[0].name: Invalid value: "A b": must be the name of a node',
      'endpoints[0].hints.forNodes[2].name: Duplicate value: "a"',
    ],
    endpoint({ hints: { forNodes: [{ name: "a" }] } }),
    endpoint({ hints: { forNodes: [{ name: "A b" }, { name: "a" }, { name: "a" }] } }),
  ],
  [
    "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
    endpoint({ conditions: { ready: false, serving: true, terminating: true } }),
    endpoint({ hints: { forZones: many(9) } }),
  ],
  [
    "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    endpoint({ targetRef: { kind: "Pod", name: "a" }, deprecatedTopology: { a: "b" } }),
    endpoint({ addresses: many(101).map((_, i) => `10.0.0.${i}`) }),
  ],
  ['ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"', {
    addressType: "IPv4",
    ports: many(101),
  }, {
    addressType: "IPv4",
    ports: [{ port: 1, protocol: "" }],
  }],
  ["addressType: Required value", { addressType: "IPv4", ports: [] }, { addressType: "", endpoints: [] }],
  [
    'ports[0].appProtocol: Invalid value: "a b": must be a name, perhaps with a DNS prefix, such as "kubernetes.io/h2c"',
    { addressType: "IPv4", ports: [{}] },
    {
      addressType: "IPv4",
      ports: [{ port: 1, appProtocol: "a b" }],
    },
  ],
  [
    'ports[1].name: Duplicate value: ""',
    { addressType: "IPv4", endpoints: [], ports: [{ port: 1 }, { name: "b", port: 2 }] },
    { addressType: "IPv4", endpoints: [], ports: [{ port: 1 }, { port: 2 }] },
  ],
]);

const secrets = of(secret, [
  [
    "data[tls.key]: Required value",
    { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } },
    { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
  ],
  [["data[username]: Required value", "data[password]: Required value"], {
    type: "kubernetes.io/basic-auth",
    data: { username: "" },
  }, { type: "kubernetes.io/basic-auth" }],
  ["data[ssh-privatekey]: Required value", {
    type: "kubernetes.io/ssh-auth",
    data: { "ssh-privatekey": "YQ==" },
  }, {
    type: "kubernetes.io/ssh-auth",
    data: { "ssh-privatekey": "" },
  }],
  ["data[.dockercfg]: Invalid value: must be JSON", {
    type: "kubernetes.io/dockercfg",
    data: { ".dockercfg": "e30=" },
  }, {
    type: "kubernetes.io/dockercfg",
    data: { ".dockercfg": "YQ==" },
  }],
  ["data[.dockerconfigjson]: Required value", {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": "e30=" },
  }, {
    type: "kubernetes.io/dockerconfigjson",
    data: {},
  }],
  ["metadata.annotations[kubernetes.io/service-account.name]: Required value", {
    type: "kubernetes.io/service-account-token",
    metadata: { name: "x", annotations: { "kubernetes.io/service-account.name": "a" } },
  }, { type: "kubernetes.io/service-account-token" }],
  ["data.a: Invalid value: must be base64", { type: "", data: { a: "YR==", b: "Y\nQ==" } }, {
    data: { a: "YQ" },
  }],
  ["data[]: Invalid value: \"\": keys must have at most 253 characters of A-Z, a-z, 0-9, '-', '_' or '.'", {
    data: { ".a": "" },
  }, { data: { "": "" } }],
  ["data.a: Invalid value: must be base64", { data: { a: "aHVudGVyMg==" } }, { data: { a: "hunter2!" } }],
  [
    'data.a: Invalid value: "integer": data.a in body must be of type string: "integer"',
    { stringData: { a: "12345" } },
    { data: { a: 12345 } },
  ],
  [
    "data[a/b]: Invalid value: \"a/b\": keys must have at most 253 characters of A-Z, a-z, 0-9, '-', '_' or '.'",
    { data: { "a.b_c-D": "eA==" } },
    { data: { "a/b": "eA==" } },
  ],
  [
    "data: Too long: may not be more than 1048576 bytes",
    { data: { a: btoa("x".repeat(1024 * 1024)) } },
    { data: { a: btoa("x".repeat(1024 * 1024 + 3)) } },
  ],
]);

const configMaps = of(configMap, [
  [
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    { data: { a: "x" }, binaryData: { b: "eA==" }, immutable: true },
    { data: { a: "x" }, binaryData: { a: "eA==" } },
  ],
  ["[]: Too long: may not be more than 1048576 bytes", { binaryData: { a: btoa("x".repeat(1024 * 1024)) } }, {
    data: { a: "ä".repeat(512 * 1024 + 1) },
  }],
  [
    "data[..a]: Invalid value: \"..a\": keys must have at most 253 characters of A-Z, a-z, 0-9, '-', '_' or '.'",
    { data: { ".a": "" } },
    { data: { "..a": "" } },
  ],
  [
    "data[a b]: Invalid value: \"a b\": keys must have at most 253 characters of A-Z, a-z, 0-9, '-', '_' or '.'",
    { data: { "a-b": "1" } },
    { data: { "a b": "1" } },
  ],
  [
    'data.a: Invalid value: "integer": data.a in body must be of type string: "integer"',
    { data: { a: "1" } },
    { data: { a: 1 } },
  ],
  [
    "binaryData.a: Invalid value: must be base64",
    { binaryData: { a: "YQ==" } },
    { binaryData: { a: "not base64!" } },
  ],
]);

const leases = of(lease, [
  [
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    { spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-01-02T03:04:05.678901Z" } },
    { spec: { leaseDurationSeconds: 0 } },
  ],
  [
    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    { spec: { leaseTransitions: 0 } },
    { spec: { leaseTransitions: -1 } },
  ],
  [
    'spec.renewTime: Invalid value: "yesterday": spec.renewTime in body must be of type date-time: "yesterday"',
    { spec: { renewTime: "2026-01-02T03:04:05.000000Z" } },
    { spec: { renewTime: "yesterday" } },
  ],
  ['spec.renewTime: Invalid value: "2026-01-02T03:04:05Z": must have six digits behind the seconds', {}, {
    spec: { renewTime: "2026-01-02T03:04:05Z" },
  }],
]);

const namespaces = of(namespace, [
  [
    `metadata.name: Invalid value: "a.b": ${label}`,
    { metadata: { name: "a-b" }, spec: { finalizers: ["kubernetes"] } },
    { metadata: { name: "a.b" } },
  ],
  ['spec.finalizers: Invalid value: "a": must be a name with a DNS prefix', {
    spec: { finalizers: ["example.com/a"] },
  }, { spec: { finalizers: ["a"] } }],
]);

const then = "2026-01-02T03:04:05.678901Z", longText = "a".repeat(1025);
const reference = { kind: "Gateway", namespace: "default", name: "b", uid: "c", apiVersion: "d/v1" };
const oldEvent = {
  involvedObject: reference,
  reason: "A",
  message: "b",
  source: { component: "c" },
  firstTimestamp: "2026-01-02T03:04:05Z",
  lastTimestamp: "2026-01-02T03:04:05Z",
  count: 2,
  type: "Warning",
};
/** An ordinary Event, with what both of its groups have. */
export const preciseEvent = {
  ...oldEvent,
  eventTime: then,
  reportingComponent: "c",
  reportingInstance: "d",
  action: "e",
};
/** One of the new group. */
export const newEvent = {
  eventTime: then,
  series: { count: 2, lastObservedTime: then },
  reportingController: "a/b",
  reportingInstance: "c",
  action: "d",
  reason: "e",
  regarding: reference,
  note: "f",
  type: "Normal",
};

const events = [
  ...of(event, [
    ['involvedObject.namespace: Invalid value: "other": does not match event.namespace', oldEvent, {
      ...oldEvent,
      involvedObject: { ...reference, namespace: "other" },
    }],
    [
      [
        'reportingComponent: Invalid value: "": must be a name, perhaps with a DNS prefix',
        "reportingComponent: Required value",
        "reportingInstance: Required value",
        "action: Required value",
      ],
      { ...oldEvent, involvedObject: {} },
      { ...oldEvent, eventTime: then },
    ],
    [
      'eventTime: Invalid value: "2026-01-02T03:04:05Z": must have six digits behind the seconds',
      preciseEvent,
      { ...preciseEvent, eventTime: "2026-01-02T03:04:05Z" },
    ],
    ['action: Invalid value: "": can have at most 128 characters', preciseEvent, {
      ...preciseEvent,
      action: "a".repeat(129),
    }],
    ['message: Invalid value: "": can have at most 1024 characters', { ...oldEvent, message: longText }, {
      ...preciseEvent,
      message: longText,
    }],
  ]),
  ...of(eventsEvent, [
    ["eventTime: Required value", newEvent, { ...newEvent, eventTime: undefined }],
    ["action: Required value", newEvent, { ...newEvent, action: undefined }],
    ['reportingController: Invalid value: "a b": must be a name, perhaps with a DNS prefix', newEvent, {
      ...newEvent,
      reportingController: "a b",
    }],
    [
      [
        'reportingController: Invalid value: "": must be a name, perhaps with a DNS prefix',
        "reportingController: Required value",
      ],
      newEvent,
      { ...newEvent, reportingController: undefined },
    ],
    ['type: Invalid value: "": must be Normal or Warning', newEvent, { ...newEvent, type: "Nonsense" }],
    [
      ['series.count: Invalid value: "": should be at least 2', "series.lastObservedTime: Required value"],
      newEvent,
      { ...newEvent, series: { count: 1 } },
    ],
    ['count: Invalid value: "": needs to be unset', { ...newEvent, regarding: undefined }, {
      ...newEvent,
      deprecatedCount: 1,
    }],
    ['message: Invalid value: "": can have at most 1024 characters', newEvent, {
      ...newEvent,
      note: longText,
    }],
  ]),
];

const serviceAccounts = of(serviceAccount, [
  [
    'automountServiceAccountToken: Invalid value: "string": automountServiceAccountToken in body must be of type ' +
    'boolean: "string"',
    {
      imagePullSecrets: [{ name: "a" }],
      secrets: [{ kind: "Secret", name: "a" }],
      automountServiceAccountToken: false,
    },
    { automountServiceAccountToken: "no" },
  ],
]);

export const coreCases: readonly CoreCase[] = [
  ...serviceCases,
  ...slices,
  ...secrets,
  ...configMaps,
  ...leases,
  ...namespaces,
  ...events,
  ...serviceAccounts,
];
