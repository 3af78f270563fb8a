/**
 * The objects that benchmarks are made of, as a user would write them.
 *
 * @module
 */
import { type ApiObject, keyOf } from "../../../crds/kind.ts";
import { createAuthority, issue, type KeyPair } from "../../../controllers/runtime/pki.ts";

export const gatewayApi = "gateway.networking.k8s.io/v1";
export const namespace = "default";

function object(apiVersion: string, kind: string, name: string, body: object): ApiObject {
  return { apiVersion, kind, metadata: { name, namespace }, ...body };
}

/** The class of all Gateways. */
export function gatewayClass(): ApiObject {
  return {
    apiVersion: gatewayApi,
    kind: "GatewayClass",
    metadata: { name: "gatehouse" },
    spec: { controllerName: "gatehouse.dev/gateway-controller" },
  } as ApiObject;
}

/** The one Gateway; ListenerSets may add to it if it is `shared`. Without a hostname it takes all. */
export function gateway({ shared = false, hostname = undefined as string | undefined } = {}): ApiObject {
  return object(gatewayApi, "Gateway", "web", {
    spec: {
      gatewayClassName: "gatehouse",
      ...shared && { allowedListeners: { namespaces: { from: "Same" } } },
      listeners: [{
        name: "http",
        port: 80,
        protocol: "HTTP",
        ...hostname !== undefined && { hostname },
        allowedRoutes: { namespaces: { from: "Same" } },
      }],
    },
  });
}

/** A listener of HTTPS with a certificate of some Secrets. */
function https(hostname: string, secret: string) {
  const certificateRefs = [{ name: secret }];
  return {
    name: "https",
    port: 443,
    protocol: "HTTPS",
    hostname,
    tls: { mode: "Terminate", certificateRefs },
  };
}

export const setOf = (i: number): string => `set${i}`;

/** The domain of ListenerSet `i`. */
export const domainOf = (i: number): string => `d${i}.example.com`;

/** A ListenerSet with a domain of its own, by HTTP and by HTTPS; an edit gives it another. */
export function listenerSet(i: number, { edit = 0, secret = "tls" } = {}): ApiObject {
  const hostname = `*.${edit > 0 ? `edit${edit}.` : ""}${domainOf(i)}`;
  return object(gatewayApi, "ListenerSet", setOf(i), {
    spec: {
      parentRef: { name: "web" },
      listeners: [{ name: "http", port: 80, protocol: "HTTP", hostname }, https(hostname, secret)],
    },
  });
}

/** Makes certificates of an authority that nobody knows. */
export async function certificates(): Promise<(name: string) => Promise<KeyPair>> {
  const now = Date.now();
  const validity = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 86_400_000) };
  const authority = await createAuthority({ commonName: "bench", ...validity });
  return (name) => issue(authority, { commonName: name, dnsNames: [name], usages: ["server"], ...validity });
}

export function tlsSecret(name: string, { certificate, key }: KeyPair): ApiObject {
  return object("v1", "Secret", name, {
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(certificate), "tls.key": btoa(key) },
  });
}

/** The host that route `i` answers. */
export const hostOf = (i: number): string => `h${i}.example.com`;

/** A route of its own host to a Service; an edit is another path besides `/`. */
export function route(
  i: number,
  {
    services = 1,
    edit = 0,
    parent = { name: "web" } as { readonly kind?: string; readonly name: string },
    host = hostOf(i),
  } = {},
): ApiObject {
  const rule = (value: string) => ({
    matches: [{ path: { type: "PathPrefix", value } }],
    backendRefs: [{ name: serviceOf(i % services), port: 80, weight: 1 }],
  });
  return object(gatewayApi, "HTTPRoute", `r${i}`, {
    spec: {
      parentRefs: [parent],
      hostnames: [host],
      rules: [rule("/"), ...edit > 0 ? [rule(`/edit-${edit}`)] : []],
    },
  });
}

export const serviceOf = (i: number): string => `s${i}`;

export function service(i: number, edit = 0): ApiObject {
  return object("v1", "Service", serviceOf(i), {
    metadata: { name: serviceOf(i), namespace, ...edit > 0 && { annotations: { edit: `${edit}` } } },
    spec: { ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }] },
  });
}

/** The endpoints of a Service: `count` addresses, of which an edit replaces the last. */
export function endpointSlice(
  i: number,
  { count = 1, edit = 0, address = undefined as string | undefined, port = 8080 } = {},
): ApiObject {
  const addresses = address !== undefined ? [address] : Array.from(
    { length: count },
    (_, at) => `10.${at === count - 1 ? edit % 250 : at}.${Math.floor(i / 250)}.${i % 250 + 1}`,
  );
  return object("discovery.k8s.io/v1", "EndpointSlice", `${serviceOf(i)}-x`, {
    metadata: {
      name: `${serviceOf(i)}-x`,
      namespace,
      labels: { "kubernetes.io/service-name": serviceOf(i) },
    },
    addressType: "IPv4",
    endpoints: addresses.map((one) => ({ addresses: [one], conditions: { ready: true } })),
    ports: [{ name: "http", port, protocol: "TCP" }],
  });
}

/** What an API server would have made of an object; `edit` is its generation and its resource version. */
export function stored(object: ApiObject, edit = 1): ApiObject {
  return {
    ...object,
    metadata: {
      ...object.metadata,
      uid: `${object.kind}-${keyOf(object)}`,
      resourceVersion: `${edit}`,
      generation: edit,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
  };
}
