/**
 * A Gateway and routes that refer to objects of others: certificates, authorities, Services, and the grants that these take. Each
 * object can be in several states, or be absent. What has to come of them is in `expectations.ts`.
 *
 * @module
 */
import { createAuthority, type KeyPair } from "../../../controllers/runtime/pki.ts";
import { type ApiObject, type Kind, kindFor } from "../../../crds/mod.ts";
import type { Draft } from "../../../kube/types.ts";
import { gatewayNamed, routeNamed } from "../../e2e/gateway.ts";
import { tlsSecret } from "../../support/tls_secret.ts";
import { certificate, validity } from "../../translate/secured.ts";

const gatewayApi = "gateway.networking.k8s.io";

/** An object that changes. */
export interface Part {
  readonly kind: Kind;
  /** By their names; in state `absent` it is not there. */
  readonly states: { readonly [state: string]: Draft | undefined };
}

/** What comes and goes. */
export type Name =
  | "gateway"
  | "listenerSet"
  | "plainRoute"
  | "innerRoute"
  | "service"
  | "policy"
  | "nearSecret"
  | "farSecret"
  | "setSecret"
  | "shownSecret"
  | "clientAuthorities"
  | "backendAuthorities"
  | "certificateGrant"
  | "setGrant"
  | "authoritiesGrant"
  | "routeGrant";

export type Parts = { readonly [N in Name]: Part };

/** The states in which an object does what others refer to it for. */
export const fine: ReadonlySet<string> = new Set(["all", "there", "one", "two", "first"]);

/** The state of each part. */
export type States = { readonly [N in Name]: string };

/** Who has which certificate. */
export interface People {
  readonly first: KeyPair;
  readonly second: KeyPair;
  /** Of the listeners that are always fine. */
  readonly healthy: KeyPair;
  /** Of the backend that speaks TLS. */
  readonly inner: KeyPair;
  readonly client: KeyPair;
}

/** Makes the authorities `first` and `second`; the first one has signed everything else. */
export async function people(): Promise<People> {
  const [first, second] = await Promise.all([
    createAuthority({ commonName: "first", ...validity }),
    createAuthority({ commonName: "second", ...validity }),
  ]);
  const [healthy, inner, client] = await Promise.all([
    certificate(["healthy.example.com", "strict.example.com"], {}, first),
    certificate(["inner.example.com"], {}, first),
    certificate(["client"], {}, first),
  ]);
  return { first, second, healthy, inner, client };
}

/** What is there all the time: one listener with TLS and one without, a route, and what needs others. */
export function permanent(
  { healthy }: People,
  ports: { readonly echo: number; readonly inner: number },
): readonly Draft[] {
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const toEcho = [{ backendRefs: [{ name: "echo", port: 80 }] }];
  return [
    namespace("vault"),
    namespace("team"),
    tlsSecret("default", "healthy", healthy),
    service("default", "echo"),
    slice("default", "echo", ports.echo),
    slice("team", "app", ports.echo),
    service("team", "inner"),
    slice("team", "inner", ports.inner),
    gatewayNamed("web", permanentListeners),
    routeNamed("healthy", toEcho),
    routeWith("secured", {
      parentRefs: [{ name: "web" }],
      hostnames: ["near.example.com", "far.example.com", "strict.example.com"],
      rules: toEcho,
    }),
    routeWith("set", { parentRefs: [{ kind: "ListenerSet", name: "set" }], rules: toEcho }),
  ];
}

/** Makes the states of all that comes and goes. */
export async function changing({ first, second }: People): Promise<Parts> {
  const secret = async (namespace: string, name: string): Promise<Part> => {
    const [one, two] = await Promise.all(
      ["one", "two"].map((turn) =>
        certificate([`${name}.example.com`], { commonName: `${name} ${turn}` }, first)
      ),
    ) as [KeyPair, KeyPair];
    return part({
      one: tlsSecret(namespace, name, one),
      two: tlsSecret(namespace, name, two),
      // Half of a renewal.
      torn: tlsSecret(namespace, name, { certificate: one.certificate, key: two.key }),
      garbage: tlsSecret(namespace, name, { certificate: "garbage", key: one.key }),
    });
  };
  const route = (name: string, backend: string): Part =>
    part({ there: routeNamed(name, [{ backendRefs: [{ namespace: "team", name: backend, port: 80 }] }]) });
  return {
    gateway: {
      kind: kindFor(gatewayNamed("web") as ApiObject)!,
      states: {
        few: gatewayNamed("web", permanentListeners),
        all: withTls(gatewayNamed("web", [...permanentListeners, ...referringListeners])),
      },
    },
    listenerSet: part({
      there: {
        apiVersion: `${gatewayApi}/v1`,
        kind: "ListenerSet",
        metadata: { namespace: "default", name: "set" },
        spec: { parentRef: { name: "web" }, listeners: [https("set", "vault", "set")] },
      },
    }),
    plainRoute: route("plain", "app"),
    innerRoute: route("inner", "inner"),
    service: part({ there: service("team", "app"), otherPort: service("team", "app", 81) }),
    policy: part({
      there: {
        apiVersion: `${gatewayApi}/v1`,
        kind: "BackendTLSPolicy",
        metadata: { namespace: "team", name: "inner" },
        spec: {
          targetRefs: [{ group: "", kind: "Service", name: "inner" }],
          validation: {
            hostname: "inner.example.com",
            caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "authorities" }],
          },
        },
      },
    }),
    nearSecret: await secret("default", "near"),
    farSecret: await secret("vault", "far"),
    setSecret: await secret("vault", "set"),
    shownSecret: await secret("vault", "shown"),
    clientAuthorities: authorities("vault", { first, second }),
    backendAuthorities: authorities("team", { first, second }),
    certificateGrant: grant("vault", "Gateway", "Secret", "far"),
    setGrant: grant("vault", "ListenerSet", "Secret", "set"),
    authoritiesGrant: grant("vault", "Gateway", "ConfigMap", "authorities"),
    routeGrant: grant("team", "HTTPRoute", "Service", "app"),
  };
}

function part(states: { readonly [state: string]: Draft }): Part {
  const [draft] = Object.values(states);
  return { kind: kindFor(draft as ApiObject)!, states: { absent: undefined, ...states } };
}

/** A ReferenceGrant for objects of namespace `default`: `named` is for one name alone, the last ones are for something else. */
function grant(namespace: string, from: string, to: string, only: string): Part {
  const having = (fromMore: object = {}, toMore: object = {}) => ({
    apiVersion: `${gatewayApi}/v1`,
    kind: "ReferenceGrant",
    metadata: { namespace, name: `${from}-${to}`.toLowerCase() },
    spec: {
      from: [{ group: gatewayApi, kind: from, namespace: "default", ...fromMore }],
      to: [{ group: "", kind: to, ...toMore }],
    },
  });
  return part({
    all: having(),
    named: having({}, { name: only }),
    forOthers: having({ namespace: "team" }),
    forOtherKinds: having({ kind: "TCPRoute" }),
    ofAnother: having({}, { name: "another" }),
  });
}

function authorities(namespace: string, { first, second }: Pick<People, "first" | "second">): Part {
  const data = { first: first.certificate, second: second.certificate, garbage: "garbage", blank: "" };
  return part(Object.fromEntries(
    Object.entries(data).map(([state, ca]) => [state, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "authorities" },
      data: { "ca.crt": ca },
    }]),
  ));
}

function service(namespace: string, name: string, port = 80): Draft {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: { ports: [{ name: "http", port }] },
  };
}

function slice(namespace: string, service: string, port: number): Draft {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name: `${service}-1`, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  };
}

function routeWith(name: string, spec: object): Draft {
  return { ...routeNamed(name, []), spec };
}

function https(name: string, namespace: string, secret: string, port = 443) {
  return {
    name,
    port,
    protocol: "HTTPS",
    hostname: `${name}.example.com`,
    tls: { certificateRefs: [{ namespace, name: secret }] },
  };
}

const permanentListeners = [
  { name: "http", port: 80, protocol: "HTTP" },
  https("healthy", "default", "healthy"),
];

/** Those of port 8443 ask clients for certificates. */
const referringListeners = [
  https("near", "default", "near"),
  https("far", "vault", "far"),
  https("strict", "default", "healthy", 8443),
];

function withTls(gateway: Draft): Draft {
  const { spec } = gateway as Draft & { readonly spec: object };
  const caCertificateRefs = [{ group: "", kind: "ConfigMap", namespace: "vault", name: "authorities" }];
  const tls = {
    frontend: { default: {}, perPort: [{ port: 8443, tls: { validation: { caCertificateRefs } } }] },
    backend: { clientCertificateRef: { namespace: "vault", name: "shown" } },
  };
  return { ...gateway, spec: { ...spec, allowedListeners: { namespaces: { from: "Same" } }, tls } };
}
