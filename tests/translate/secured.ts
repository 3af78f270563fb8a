/**
 * Objects with TLS as traffic sees them: translated, served by the xDS server, obeyed by a real Envoy.
 *
 * @module
 */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { type ApiObject, keyOf } from "../../crds/kind.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { createAuthority, issue, type KeyPair, type Leaf } from "../../controllers/runtime/pki.ts";
import { type Config, createWorld, defaultConfig, deriveIr } from "../../controllers/translate/mod.ts";
import { sourceOf } from "../../controllers/translate/batch.ts";
import { backend } from "../xds/support/http.ts";
import type { XdsOptions } from "../../xds/build/mod.ts";
import { Rig } from "../xds/support/rig.ts";
import { gateway, gatewayClass, type Raw, service, slice, stored } from "./cluster.ts";
import { freePort } from "../support/free_port.ts";

const day = 24 * 3_600_000;

export const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + 30 * day) };

/** A certificate for some names, whose common name is the first; its authority is nobody's if none is given. */
export async function certificate(
  names: readonly string[],
  more: Partial<Leaf> = {},
  authority?: KeyPair,
): Promise<KeyPair> {
  return issue(authority ?? await createAuthority({ commonName: "authority", ...validity }), {
    commonName: names[0] ?? "nobody",
    dnsNames: names,
    usages: ["server", "client"],
    ...validity,
    ...more,
  });
}

/** A certificate with an RSA key for one name, which is its own authority. */
export async function rsaCertificate(name: string, commonName = name): Promise<KeyPair> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  } as const;
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate: `${made.toString("pem")}\n`,
    key: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`,
  };
}

/** A Secret of type `kubernetes.io/tls`. */
export function tlsSecret(name: string, pair: KeyPair, metadata: Raw = {}): Raw {
  return rawSecret(name, { "tls.crt": btoa(pair.certificate), "tls.key": btoa(pair.key) }, metadata);
}

export function rawSecret(name: string, data: Raw, metadata: Raw = {}): Raw {
  return stored({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, ...metadata },
    type: "kubernetes.io/tls",
    data,
  });
}

/** A ConfigMap with authorities. */
export function configMap(name: string, ca: string, metadata: Raw = {}): Raw {
  return stored({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    data: { "ca.crt": ca },
  });
}

/** A BackendTLSPolicy for Services, with the authorities of ConfigMap `ca` unless it says others. */
export function policy(
  name: string,
  targets: readonly (string | Raw)[],
  validation: Raw,
  metadata: Raw = {},
): Raw {
  return stored({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "BackendTLSPolicy",
    metadata: { name, ...metadata },
    spec: {
      targetRefs: targets.map((target) => ({
        group: "",
        kind: "Service",
        ...typeof target === "string" ? { name: target } : target,
      })),
      validation: {
        ...validation.wellKnownCACertificates ? {} : { caCertificateRefs: [ca("ca")] },
        hostname: "inner.example.com",
        ...validation,
      },
    },
  });
}

/** A reference to authorities. */
export const ca = (name: string, kind = "ConfigMap") => ({ group: "", kind, name });

/** An HTTPS listener. */
export function https(name: string, hostname: string | undefined, ...secrets: readonly string[]): Raw {
  return {
    name,
    protocol: "HTTPS",
    ...hostname && { hostname },
    tls: { mode: "Terminate", certificateRefs: secrets.map((name) => ({ name })) },
  };
}

export interface SecuredOptions {
  readonly config?: Config;
  /** Of the Gateway, besides its listeners. */
  readonly spec?: Raw;
  readonly xds?: XdsOptions;
  /** Ports of this machine by Service. */
  readonly endpoints?: { readonly [service: string]: number };
}

/** A Gateway with one Envoy; all listeners that name no port share one. The Service `app` tells what it was asked. */
export async function secured(
  listeners: readonly Raw[],
  objects: readonly Raw[],
  options: SecuredOptions = {},
) {
  const stack = new AsyncDisposableStack();
  const graph = new Graph(), world = createWorld(graph);
  const { ir, statuses } = deriveIr(graph, world, options.config ?? defaultConfig);
  const rig = stack.use(
    await Rig.start(graph, { ir, ledger: world, ...options.xds && { options: options.xds } }),
  );
  const port = freePort(), app = stack.use(backend("app"));
  const put = (...objects: readonly ApiObject[]) => {
    for (const object of objects) sourceOf(world, object.kind)!.set(keyOf(object), object);
  };
  const gatewayWith = (listeners: readonly Raw[], generation = 1) =>
    gateway("gw", listeners.map((listener) => ({ port, ...listener })), {
      metadata: { generation },
      spec: options.spec,
    });
  put(gatewayClass(), gatewayWith(listeners), ...objects);
  for (const [name, at] of Object.entries({ app: app.port, ...options.endpoints })) {
    put(service(name), { ...slice(name, "127.0.0.1"), ports: [{ name: "http", port: at }] });
  }
  world.addresses.set("default/gw", {
    assigned: [{ type: "IPAddress", value: "127.0.0.1" }],
    bind: ["127.0.0.1"],
  });
  world.proxies.set("default/gw", [{ id: "proxy" }]);
  rig.settle();
  const envoy = await rig.envoy();
  const served = async () => {
    await rig.synced();
    await envoy.warm();
  };
  await served();
  const conditionsOf = (listener: string): { readonly [type: string]: string } => {
    const status = statuses.get("Gateway/default/gw");
    const found = status?.kind === "Gateway"
      ? status.listeners.find(({ name }) => name === listener)
      : undefined;
    return Object.fromEntries(
      (found?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
    );
  };
  return {
    rig,
    port,
    put,
    world,
    ir,
    statuses,
    gatewayWith,
    conditionsOf,
    /** Settles and waits until the proxy serves everything. */
    async changed() {
      rig.settle();
      await served();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
