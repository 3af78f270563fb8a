/**
 * Random objects as a cluster could hold them, from a world small enough that they meet.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import type { Random } from "../support/random.ts";

// deno-lint-ignore no-explicit-any -- raw objects, as they come from an API server
export type Raw = any;

export const controllerName = "gatehouse.dev/gateway-controller";
const namespaces = ["a", "b", "c"] as const;

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2027-01-01") };
const authority = await createAuthority({ commonName: "authority", ...validity });
const pairFor = (name: string) =>
  issue(authority, { commonName: name, dnsNames: [name], usages: ["server"], ...validity });
const pairs = await Promise.all(
  [pairFor("www.example.com"), pairFor("*.example.com"), pairFor("other.net")] as const,
);

/** Moments before, while and after the certificates are valid. */
export const moments = [
  Date.parse("2025-06-01"),
  Date.parse("2026-06-01"),
  Date.parse("2026-06-02"),
  Date.parse("2027-06-01"),
] as const;
const hostnames = [
  "example.com",
  "www.example.com",
  "deep.www.example.com",
  "*.example.com",
  "*.www.example.com",
  "*.com",
  "other.net",
  "*.net",
] as const;
const paths = ["/", "/a", "/a/", "/a/b", "/ab", "/longer/path"] as const;
const time = (rnd: Random) => `2026-01-0${1 + rnd.int(3)}T00:00:00Z`;

/** A hostname, or none. */
export function hostname(rnd: Random): string | undefined {
  return rnd.oneIn(4) ? undefined : rnd.pick(hostnames);
}

function meta(rnd: Random, kind: string, namespace: string | undefined, name: string): Raw {
  return {
    name,
    ...namespace && { namespace },
    uid: `${kind}/${namespace}/${name}`,
    generation: 1 + rnd.int(3),
    // Two versions of an object with one resource version do not exist.
    resourceVersion: String(1 + rnd.int(1_000_000_000)),
    creationTimestamp: time(rnd),
  };
}

const gatewayGroup = "gateway.networking.k8s.io/v1";

function gatewayClass(rnd: Random): Raw {
  const name = rnd.pick(["ours", "ours", "second", "theirs"]);
  return {
    apiVersion: gatewayGroup,
    kind: "GatewayClass",
    metadata: meta(rnd, "GatewayClass", undefined, name),
    spec: {
      controllerName: name === "theirs" || rnd.oneIn(8) ? "example.com/other" : controllerName,
      ...rnd.oneIn(8) && { parametersRef: { group: "example.com", kind: "X", name: "x" } },
      ...rnd.oneIn(10) && {
        parametersRef: { ...parametersRef(rnd), ...!rnd.oneIn(8) && { namespace: rnd.pick(namespaces) } },
      },
    },
  };
}

function parametersRef(rnd: Random): Raw {
  return { group: "gatehouse.dev", kind: "EnvoyFleet", name: rnd.pick(["f1", "f1", "f2", "missing"]) };
}

function fleet(rnd: Random): Raw {
  return {
    apiVersion: "gatehouse.dev/v1alpha1",
    kind: "EnvoyFleet",
    metadata: meta(rnd, "EnvoyFleet", rnd.pick(namespaces), rnd.pick(["f1", "f2"])),
    spec: {
      ...rnd.oneIn(2) &&
        { workload: rnd.pick<Raw>([{ replicas: 2 }, { autoscaling: {} }, { kind: "DaemonSet" }]) },
      ...rnd.oneIn(2) && {
        accessLog: rnd.pick<Raw>([{}, { enabled: false }, { fields: { a: "%PROTOCOL%" } }, { text: "a" }]),
      },
      ...rnd.oneIn(2) && {
        tracing: {
          collector: rnd.pick<Raw>([{ host: "otel.example.com" }, { service: { name: "otel" } }]),
          ...rnd.oneIn(2) && { sampling: { numerator: 1, denominator: 10 } },
        },
      },
      ...rnd.oneIn(8) && { logLevel: "unheard of" },
    },
    ...rnd.oneIn(2) && { status: { conditions: conditions(rnd) } },
  };
}

export function listener(rnd: Random, i: number): Raw {
  const host = hostname(rnd), secure = rnd.oneIn(3);
  return {
    name: `l${i}`,
    port: rnd.pick(secure ? [443, 443, 443, 80] : [80, 80, 8080]),
    protocol: secure ? "HTTPS" : rnd.oneIn(8) ? rnd.pick(["TLS", "TCP", "UDP", "example.com/X"]) : "HTTP",
    ...secure && {
      tls: {
        certificateRefs: rnd.list(2, () => ({
          name: rnd.pick(["c1", "c1", "c2", "c2", "missing"]),
          ...rnd.oneIn(4) && { namespace: rnd.pick(namespaces) },
          ...rnd.oneIn(10) && { kind: "ConfigMap" },
        })),
      },
    },
    ...host && { hostname: host },
    allowedRoutes: {
      namespaces: rnd.pick([
        { from: "All" },
        { from: "All" },
        { from: "Same" },
        { from: "Selector", selector: { matchLabels: { team: "blue" } } },
      ]),
      ...rnd.oneIn(6) && { kinds: [{ kind: rnd.pick(["HTTPRoute", "TCPRoute"]) }] },
    },
  };
}

function gateway(rnd: Random): Raw {
  const namespace = rnd.pick(namespaces), name = rnd.pick(["g1", "g2"]);
  return {
    apiVersion: gatewayGroup,
    kind: "Gateway",
    metadata: {
      ...meta(rnd, "Gateway", namespace, name),
      ...rnd.oneIn(8) && { deletionTimestamp: time(rnd) },
    },
    spec: {
      gatewayClassName: rnd.pick(["ours", "ours", "ours", "second", "theirs", "missing"]),
      listeners: Array.from({ length: 1 + rnd.int(4) }, (_, i) => listener(rnd, i)),
      ...!rnd.oneIn(3) && { allowedListeners: allowedListeners(rnd) },
      ...rnd.oneIn(2) && { tls: gatewayTls(rnd) },
      ...rnd.oneIn(8) &&
        { addresses: [{ type: rnd.pick(["IPAddress", "NamedAddress"]), value: "192.0.2.1" }] },
      ...rnd.oneIn(8) && { infrastructure: { parametersRef: parametersRef(rnd) } },
    },
    ...rnd.oneIn(2) && { status: { conditions: conditions(rnd) } },
  };
}

/** Where routes or ListenerSets may come from. */
function allowedListeners(rnd: Random): Raw {
  return {
    namespaces: rnd.pick([
      { from: "All" },
      { from: "All" },
      { from: "Same" },
      { from: "None" },
      { from: "Selector", selector: { matchLabels: { team: "blue" } } },
    ]),
  };
}

function listenerSet(rnd: Random): Raw {
  const namespace = rnd.pick(namespaces), name = rnd.pick(["t1", "t2"]);
  return {
    apiVersion: gatewayGroup,
    kind: "ListenerSet",
    metadata: {
      ...meta(rnd, "ListenerSet", namespace, name),
      ...rnd.oneIn(10) && { deletionTimestamp: time(rnd) },
    },
    spec: {
      parentRef: {
        name: rnd.pick(["g1", "g2"]),
        ...!rnd.oneIn(3) && { namespace: rnd.pick(namespaces) },
        ...rnd.oneIn(10) && { kind: "Service", group: "" },
      },
      listeners: Array.from({ length: 1 + rnd.int(3) }, (_, i) => listener(rnd, i)),
    },
    ...rnd.oneIn(2) && { status: { conditions: conditions(rnd) } },
  };
}

function gatewayTls(rnd: Random): Raw {
  const tls = () => ({
    validation: {
      caCertificateRefs: [{
        group: "",
        kind: rnd.oneIn(2) ? "Secret" : "ConfigMap",
        name: rnd.pick(["m1", "m2", "missing"]),
        ...rnd.oneIn(4) && { namespace: rnd.pick(namespaces) },
      }],
      mode: rnd.pick(["AllowValidOnly", "AllowInsecureFallback"]),
    },
  });
  return {
    ...rnd.oneIn(2) &&
      { frontend: { default: rnd.oneIn(2) ? {} : tls(), perPort: [{ port: 443, tls: tls() }] } },
    ...rnd.oneIn(2) && { backend: { clientCertificateRef: { name: rnd.pick(["c1", "missing"]) } } },
  };
}

export function match(rnd: Random): Raw {
  return {
    ...!rnd.oneIn(4) && {
      path: {
        type: rnd.pick(["PathPrefix", "PathPrefix", "Exact"]),
        value: rnd.pick(paths),
      },
    },
    ...rnd.oneIn(4) && { method: rnd.pick(["GET", "POST"]) },
    headers: rnd.list(2, (i) => ({ type: "Exact", name: rnd.pick(["H1", "h2"]), value: `v${i}` })),
    queryParams: rnd.list(1, () => ({ type: "Exact", name: "q", value: rnd.pick(["1", "2"]) })),
  };
}

function rule(rnd: Random): Raw {
  return {
    matches: rnd.oneIn(4) ? [] : rnd.list(3, () => ({
      ...match(rnd),
      ...rnd.oneIn(4) && { path: { type: "RegularExpression", value: rnd.pick(["/[a-z]+", "/(", "/("]) } },
    })),
    ...rnd.oneIn(8) && { name: rnd.pick(["read", "0", "1"]) },
    ...rnd.oneIn(3) && { filters: rnd.list(3, () => filter(rnd)) },
    backendRefs: rnd.list(3, () => ({
      ...backend(rnd),
      weight: rnd.int(3),
      ...rnd.oneIn(8) && { filters: [filter(rnd)] },
    })),
    ...rnd.oneIn(4) && {
      timeouts: { request: rnd.pick(["0s", "1s", "1h"]), backendRequest: rnd.pick(["0s", "500ms", "2s"]) },
    },
    ...rnd.oneIn(4) && { retry: { codes: [500 + rnd.int(5)], attempts: rnd.int(3) } },
    ...rnd.oneIn(4) && {
      sessionPersistence: rnd.pick<Raw>([
        { type: "Cookie", cookie: {} },
        {
          type: "Cookie",
          absoluteTimeout: "1h",
          cookie: { lifetimeType: rnd.pick(["Session", "Permanent"]) },
        },
        { type: "Header", header: { name: "x-session" } },
      ]),
    },
  };
}

function backend(rnd: Random): Raw {
  return {
    name: rnd.pick(["s1", "s2", "missing"]),
    ...rnd.oneIn(4) && { namespace: rnd.pick(namespaces) },
    ...rnd.oneIn(10) && { kind: "Bucket", group: "example.com" },
    port: rnd.pick([80, 80, 80, 81]),
  };
}

function filter(rnd: Random): Raw {
  return rnd.pick<Raw>([
    { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "X", value: "y" }] } },
    { type: "RequestRedirect", requestRedirect: { hostname: "example.org" } },
    { type: "RequestMirror", requestMirror: { backendRef: backend(rnd), percent: rnd.pick([0, 1, 100]) } },
    { type: "CORS", cors: { allowOrigins: [rnd.pick(["*", "https://*.example.com", "ftp://x"])] } },
    { type: "ExtensionRef", extensionRef: { group: "example.com", kind: "X", name: "x" } },
  ]);
}

export function route(rnd: Random): Raw {
  const namespace = rnd.pick(namespaces), name = `r${rnd.int(4)}`;
  return {
    apiVersion: gatewayGroup,
    kind: "HTTPRoute",
    metadata: meta(rnd, "HTTPRoute", namespace, name),
    spec: {
      parentRefs: rnd.list(4, () => ({
        ...rnd.oneIn(4)
          ? { kind: "ListenerSet", name: rnd.pick(["t1", "t2"]) }
          : { name: rnd.pick(["g1", "g2"]) },
        ...!rnd.oneIn(3) && { namespace: rnd.pick(namespaces) },
        ...rnd.oneIn(3) && { sectionName: `l${rnd.int(4)}` },
        ...rnd.oneIn(5) && { port: rnd.pick([80, 8080]) },
        ...rnd.oneIn(10) && { kind: "Service", group: "" },
      })),
      hostnames: rnd.oneIn(3) ? [] : rnd.list(3, () => rnd.pick(hostnames)),
      rules: Array.from({ length: 1 + rnd.int(3) }, () => rule(rnd)),
    },
    ...rnd.oneIn(2) && { status: { parents: rnd.list(4, () => parentStatus(rnd)) } },
  };
}

function parentStatus(rnd: Random): Raw {
  return {
    parentRef: {
      name: rnd.pick(["g1", "g2"]),
      ...rnd.oneIn(2) && { namespace: rnd.pick(namespaces) },
      ...rnd.oneIn(4) && { sectionName: `l${rnd.int(4)}` },
    },
    controllerName: rnd.oneIn(2) ? controllerName : "example.com/other",
    conditions: conditions(rnd),
    ...rnd.oneIn(4) && { unknownField: rnd.int(9) },
  };
}

function conditions(rnd: Random): Raw[] {
  const types = rnd.shuffle([
    "Accepted",
    "Programmed",
    "ResolvedRefs",
    "PartiallyInvalid",
    "example.com/Theirs",
  ]);
  return types.slice(0, rnd.int(5)).map((type) => ({
    type,
    status: rnd.pick(["True", "False"]),
    reason: rnd.pick(["Accepted", "Programmed", "Other"]),
    message: rnd.pick(["", "The route is attached"]),
    observedGeneration: rnd.int(5),
    lastTransitionTime: time(rnd),
  }));
}

function service(rnd: Random): Raw {
  const namespace = rnd.pick(namespaces), name = rnd.pick(["s1", "s2"]);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: meta(rnd, "Service", namespace, name),
    spec: {
      ...rnd.oneIn(10) && { type: "ExternalName" },
      ports: [
        {
          name: "http",
          port: rnd.pick([80, 80, 81]),
          ...rnd.oneIn(4) && { appProtocol: "kubernetes.io/h2c" },
        },
      ],
    },
  };
}

function slice(rnd: Random): Raw {
  const namespace = rnd.pick(namespaces), name = rnd.pick(["s1", "s2"]);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...meta(rnd, "EndpointSlice", namespace, `${name}-${rnd.int(2)}`),
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: rnd.pick([8080, 8081]) }],
    endpoints: rnd.list(3, () => ({
      addresses: [`10.0.0.${rnd.int(4)}`],
      conditions: rnd.pick<Raw>([{}, { ready: true }, { ready: false }, {
        ready: false,
        serving: true,
        terminating: true,
      }]),
    })),
  };
}

function namespace(rnd: Random): Raw {
  const name = rnd.pick(namespaces);
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      ...meta(rnd, "Namespace", undefined, name),
      labels: rnd.oneIn(2) ? { team: "blue" } : {},
    },
  };
}

function grant(rnd: Random): Raw {
  return {
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: meta(rnd, "ReferenceGrant", rnd.pick(namespaces), "grant"),
    spec: {
      from: ["HTTPRoute", "Gateway", "ListenerSet"].map((kind) => ({
        group: "gateway.networking.k8s.io",
        kind,
        namespace: rnd.pick(namespaces),
      })),
      to: [
        { group: "", kind: "Service", ...rnd.oneIn(2) && { name: "s1" } },
        { group: "", kind: "Secret", ...rnd.oneIn(2) && { name: "c1" } },
        { group: "", kind: "ConfigMap" },
      ],
    },
  };
}

function secret(rnd: Random): Raw {
  const { certificate } = rnd.pick(pairs), { key } = rnd.pick(pairs), whole = rnd.pick(pairs);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: meta(rnd, "Secret", rnd.pick(namespaces), rnd.pick(["c1", "c2"])),
    type: "kubernetes.io/tls",
    data: rnd.oneIn(4)
      ? { "tls.crt": btoa(certificate), "tls.key": btoa(key) }
      : { "tls.crt": btoa(whole.certificate), "tls.key": btoa(whole.key) },
  };
}

function configMap(rnd: Random): Raw {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: meta(rnd, "ConfigMap", rnd.pick(namespaces), rnd.pick(["m1", "m2"])),
    data: { "ca.crt": rnd.oneIn(3) ? "rubbish" : rnd.pick([authority, ...pairs]).certificate },
  };
}

function policy(rnd: Random): Raw {
  return {
    apiVersion: gatewayGroup,
    kind: "BackendTLSPolicy",
    metadata: meta(rnd, "BackendTLSPolicy", rnd.pick(namespaces), rnd.pick(["p1", "p2", "p3"])),
    spec: {
      targetRefs: [{
        group: "",
        kind: "Service",
        name: rnd.pick(["s1", "s2"]),
        ...rnd.oneIn(2) && { sectionName: rnd.pick(["http", "other"]) },
      }],
      validation: {
        hostname: "inner.example.com",
        ...rnd.oneIn(4) ? { wellKnownCACertificates: rnd.pick(["System", "example.com/x"]) } : {
          caCertificateRefs: [{ group: "", kind: "ConfigMap", name: rnd.pick(["m1", "m2", "missing"]) }],
        },
      },
    },
    ...rnd.oneIn(2) && {
      status: {
        ancestors: rnd.list(3, () => ({
          ancestorRef: { name: rnd.pick(["g1", "g2"]), namespace: rnd.pick(namespaces) },
          controllerName: rnd.oneIn(2) ? controllerName : "example.com/other",
          conditions: conditions(rnd),
        })),
      },
    },
  };
}

/** Any object; routes and Gateways most often. */
export function object(rnd: Random): ApiObject {
  return rnd.pick([
    route,
    route,
    route,
    route,
    route,
    route,
    route,
    gateway,
    gateway,
    listenerSet,
    listenerSet,
    gatewayClass,
    service,
    service,
    slice,
    namespace,
    grant,
    secret,
    secret,
    configMap,
    policy,
    policy,
    fleet,
  ])(rnd);
}

/** What is there before the first change, so that most of what comes works. */
export function beginning(rnd: Random): readonly ApiObject[] {
  return [
    {
      apiVersion: gatewayGroup,
      kind: "GatewayClass",
      metadata: meta(rnd, "GatewayClass", undefined, "ours"),
      spec: { controllerName },
    } as ApiObject,
    ...[service, slice, secret, gateway, listenerSet, configMap, policy, fleet].flatMap((make) =>
      Array.from({ length: 10 }, () => make(rnd) as ApiObject)
    ),
    ...Array.from({ length: 30 }, () => object(rnd)),
  ];
}
