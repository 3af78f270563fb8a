/**
 * Listeners, of Gateways and of ListenerSets.
 *
 * @module
 */
import { conditions, labelSelector } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { subdomainPattern } from "../schema/formats.ts";
import { experimentalSince17 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { extensionRef, externalAuth, unionRules } from "./filters.ts";
import { annotationValue, gatewayGroup, group, hostname, kind, port, sectionName } from "./names.ts";
import { secretObjectReference } from "./references.ts";

export const routeGroupKind = k.object({
  group: k.defaulted(group, gatewayGroup, "Group of the route."),
  kind: k.required(kind, "Kind of the route."),
});
export type RouteGroupKind = Infer<typeof routeGroupKind>;

const allowedRoutes = k.object({
  namespaces: k.defaulted(
    k.object({
      from: k.defaulted(
        k.enumeration("All", "Selector", "Same"),
        "Same",
        "Namespaces of routes that may attach.",
      ),
      selector: k.optional(labelSelector, "For Selector: labels of the namespaces."),
    }),
    { from: "Same" },
    "Where routes may come from.",
  ),
  kinds: k.optional(
    k.list(routeGroupKind, { maxItems: 8 }),
    "Kinds of routes; those of the protocol if absent.",
  ),
});
export type AllowedRoutes = Infer<typeof allowedRoutes>;

const listenerTLS = k.object({
  mode: k.defaulted(
    k.enumeration("Terminate", "Passthrough"),
    "Terminate",
    "Whether TLS ends here or at the backend.",
  ),
  certificateRefs: k.optional(
    k.list(secretObjectReference, { maxItems: 64 }),
    "Secrets with the certificates that are shown.",
  ),
  options: k.optional(k.map(annotationValue, { maxProperties: 16 }), "Settings of the implementation."),
}, {
  rules: [{
    message: "certificateRefs or options must be specified when mode is Terminate",
    holds: (tls) =>
      tls.mode !== "Terminate" || !!tls.certificateRefs?.length || Object.keys(tls.options ?? {}).length > 0,
  }],
});
export type ListenerTLSConfig = Infer<typeof listenerTLS>;

const listenerFilter = k.object({
  type: k.required(k.enumeration("ExternalAuth", "ExtensionRef"), "Which one this is."),
  externalAuth: k.optional(externalAuth, "Asks a service whether a request may pass."),
  extensionRef: k.optional(extensionRef, "A filter of the implementation."),
}, {
  rules: unionRules({ ExternalAuth: { field: "externalAuth" }, ExtensionRef: { field: "extensionRef" } }),
});

/** A listener; kinds that have them put rules of their own on it. */
export const listenerShape = {
  name: k.required(sectionName, "Name of the listener, unique in its object."),
  hostname: k.optional(hostname, "Hostname that it answers for; any if absent."),
  port: k.required(port, "Port that it listens on."),
  protocol: k.required(
    k.string({
      minLength: 1,
      maxLength: 255,
      pattern: `^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|${subdomainPattern.slice(1, -1)}` +
        String.raw`\/[A-Za-z0-9]+$`,
    }),
    "HTTP, HTTPS, TLS, TCP, UDP or one of the implementation's.",
  ),
  tls: k.optional(listenerTLS, "How TLS is spoken with clients."),
  allowedRoutes: k.defaulted(allowedRoutes, { namespaces: { from: "Same" } }, "Routes that may attach."),
  filters: k.optional(
    k.object({
      requests: k.optional(k.list(listenerFilter, { maxItems: 16 }), "For requests, in this order."),
    }),
    "What is done with all that comes in here.",
    experimentalSince17,
  ),
};

interface ListenerParts {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly hostname?: string;
  readonly tls?: { readonly mode: string };
}

const each = (
  message: string,
  holds: (listener: ListenerParts) => boolean,
): Rule<readonly ListenerParts[]> => ({
  message,
  holds: (listeners) => listeners.every(holds),
});

const unique = (
  message: string,
  identity: (listener: ListenerParts) => string,
): Rule<readonly ListenerParts[]> => ({
  message,
  holds: (listeners) => new Set(listeners.map(identity)).size === listeners.length,
});

export const listenerRules: readonly Rule<readonly ListenerParts[]>[] = [
  each(
    "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    (one) => !["HTTP", "TCP", "UDP"].includes(one.protocol) || one.tls === undefined,
  ),
  each(
    "tls mode must be Terminate for protocol HTTPS",
    (one) => one.protocol !== "HTTPS" || one.tls === undefined || one.tls.mode === "Terminate",
  ),
  each("tls mode must be set for protocol TLS", (one) => one.protocol !== "TLS" || !!one.tls?.mode),
  each(
    "hostname must not be specified for protocols ['TCP', 'UDP']",
    (one) => !["TCP", "UDP"].includes(one.protocol) || !one.hostname,
  ),
  unique("Listener name must be unique within the Gateway", (one) => one.name),
  unique(
    "Combination of port, protocol and hostname must be unique for each listener",
    (one) => `${one.port}/${one.protocol}/${one.hostname ?? ""}`,
  ),
];

export const listenerStatus = k.object({
  name: k.required(sectionName, "The listener that this is about."),
  supportedKinds: k.optional(k.list(routeGroupKind, { maxItems: 8 }), "Kinds of routes that may attach."),
  attachedRoutes: k.required(k.integer({ format: "int32" }), "How many routes are attached."),
  conditions: k.required(conditions, "How the listener fares."),
});
export type ListenerStatus = Infer<typeof listenerStatus>;
