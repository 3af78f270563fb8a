/**
 * A small cluster to translate: one Gateway, Services with endpoints, and as many routes as a test wants.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { controllerName, type Raw } from "./random_objects.ts";

export type { Raw };

const issued = { resourceVersion: 0 };

/** Gives an object what an API server would. */
export function stored(object: Raw): Raw {
  const { metadata } = object;
  return {
    ...object,
    metadata: {
      namespace: "default",
      uid: `${object.kind}/${metadata.name}`,
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
      resourceVersion: String(++issued.resourceVersion),
    },
  };
}

export function gatewayClass(): Raw {
  const { metadata, ...rest } = stored({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: "gatehouse" },
    spec: { controllerName },
  });
  const { namespace: _, ...clusterScoped } = metadata;
  return { ...rest, metadata: clusterScoped };
}

export function gateway(name: string, listeners: readonly Raw[], more: Raw = {}): Raw {
  return stored({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name, ...more.metadata },
    spec: { gatewayClassName: "gatehouse", listeners, ...more.spec },
  });
}

export function route(name: string, spec: Raw, metadata: Raw = {}): Raw {
  return stored({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, ...metadata },
    spec: { parentRefs: [{ name: "web" }], ...spec },
  });
}

/** A rule that sends a path prefix to a Service. */
export function to(service: string, path = "/"): Raw {
  return {
    matches: [{ path: { type: "PathPrefix", value: path } }],
    backendRefs: [{ name: service, port: 80 }],
  };
}

export function service(name: string): Raw {
  return stored({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ name: "http", port: 80 }] },
  });
}

export function slice(service: string, ...addresses: readonly string[]): Raw {
  return stored({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${service}-1`, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  });
}

export const http = { name: "http", port: 80, protocol: "HTTP" };

/** A class, a Gateway `web` with one listener, and a Service `app` with one endpoint. */
export function small(...more: readonly Raw[]): ApiObject[] {
  return [gatewayClass(), gateway("web", [http]), service("app"), slice("app", "10.0.0.1"), ...more];
}
