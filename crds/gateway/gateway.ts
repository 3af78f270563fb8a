/**
 * Gateway: where traffic comes in.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { conditions, labelSelector, pending } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { experimental, experimentalSince17 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { gatewaySpecAddress, gatewayStatusAddress } from "./address.ts";
import { listenerRules, listenerShape, listenerStatus } from "./listener.ts";
import { annotationValue, gatewayGroup, objectName, port } from "./names.ts";
import { localObjectReference, objectReference, secretObjectReference } from "./references.ts";

const columns: readonly Column[] = [
  { name: "Class", type: "string", jsonPath: ".spec.gatewayClassName" },
  { name: "Address", type: "string", jsonPath: ".status.addresses[*].value" },
  { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
  age,
];

const listener = k.object(listenerShape, {
  rules: [{
    message: "filters may only be set when protocol is HTTP or HTTPS",
    holds: (one) => one.filters === undefined || one.protocol === "HTTP" || one.protocol === "HTTPS",
    in: experimentalSince17,
  }],
});
export type Listener = Infer<typeof listener>;

const key =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;

/** What keys of labels and annotations have to be. `[0]` of a key without a prefix is the key itself. */
const keyRules = (Kind: string, name: string): Rule<{ readonly [name: string]: string }>[] => [
  {
    message:
      `${Kind} keys must be in the form of an optional DNS subdomain prefix followed by a required name ` +
      "segment of up to 63 characters.",
    holds: (entries) => Object.keys(entries).every((one) => key.test(one)),
  },
  {
    message:
      `If specified, the ${name} key's prefix must be a DNS subdomain not longer than 253 characters in total.`,
    holds: (entries) => Object.keys(entries).every((one) => one.split("/")[0]!.length < 253),
  },
];

const infrastructure = k.object({
  labels: k.optional(
    k.map(
      k.string({ minLength: 0, maxLength: 63, pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$" }),
      { maxProperties: 8, rules: keyRules("Label", "label") },
    ),
    "Labels for everything that is made for the Gateway.",
  ),
  annotations: k.optional(
    k.map(annotationValue, { maxProperties: 16, rules: keyRules("Annotation", "annotation") }),
    "Annotations for everything that is made for the Gateway.",
  ),
  parametersRef: k.optional(localObjectReference, "How the Gateway is run."),
});
export type GatewayInfrastructure = Infer<typeof infrastructure>;

const frontendTLS = k.object({
  validation: k.optional(
    k.object({
      caCertificateRefs: k.required(
        k.list(objectReference, {
          minItems: 1,
          maxItems: 16,
          rules: [{
            message: "ClusterTrustBundle references must not specify namespace",
            holds: (refs) =>
              refs.every((ref) =>
                ref.group !== "certificates.k8s.io" || ref.kind !== "ClusterTrustBundle" ||
                ref.namespace === undefined
              ),
            in: experimentalSince17,
          }],
        }),
        "ConfigMaps with the certificates of the authorities to trust.",
      ),
      mode: k.defaulted(
        k.enumeration("AllowValidOnly", "AllowInsecureFallback"),
        "AllowValidOnly",
        "Whether a client without a valid certificate may pass.",
      ),
    }),
    "What clients' certificates have to be.",
  ),
});
export type FrontendTLSConfig = Infer<typeof frontendTLS>;

const gatewayTLS = k.object({
  backend: k.optional(
    k.object({
      clientCertificateRef: k.optional(
        secretObjectReference,
        "Secret with the certificate that backends are shown.",
      ),
    }),
    "How TLS is spoken with backends.",
  ),
  frontend: k.optional(
    k.object({
      default: k.required(frontendTLS, "For all ports of HTTPS listeners that perPort does not name."),
      perPort: k.optional(
        k.mapList(
          ["port"],
          k.object({
            port: k.required(port, "Port that this is for."),
            tls: k.required(frontendTLS, "How TLS is spoken there."),
          }),
          {
            maxItems: 64,
            rules: [{
              message: "Port for TLS configuration must be unique within the Gateway",
              holds: (ports) => new Set(ports.map((one) => one.port)).size === ports.length,
            }],
          },
        ),
        "For single ports.",
      ),
    }),
    "How TLS is spoken with clients.",
  ),
});
export type GatewayTLSConfig = Infer<typeof gatewayTLS>;

const uniqueValues = (type: string): Rule<readonly { readonly type: string; readonly value?: string }[]> => ({
  message: `${type} values must be unique`,
  holds: (addresses) => {
    const values = addresses.filter((one) => one.type === type && one.value !== undefined).map((one) =>
      one.value
    );
    return new Set(values).size === values.length;
  },
});

const allowedListeners = k.object({
  namespaces: k.defaulted(
    k.object({
      from: k.defaulted(
        k.enumeration("All", "Selector", "Same", "None"),
        "None",
        "Namespaces of ListenerSets that may attach.",
      ),
      selector: k.optional(labelSelector, "For Selector: labels of the namespaces."),
    }),
    { from: "None" },
    "Where ListenerSets may come from.",
  ),
});

const start = [pending("Accepted"), pending("Programmed")];

const schema = resource("Gateway", {
  spec: k.required(
    k.object({
      gatewayClassName: k.required(objectName, "Name of the GatewayClass."),
      listeners: k.required(
        k.mapList(["name"], listener, { minItems: 1, maxItems: 64, rules: listenerRules }),
        "Ports, hostnames and protocols that traffic comes in by.",
      ),
      addresses: k.optional(
        k.list(gatewaySpecAddress, {
          maxItems: 16,
          rules: [uniqueValues("IPAddress"), uniqueValues("Hostname")],
        }),
        "Addresses to use; the implementation chooses if absent.",
      ),
      infrastructure: k.optional(infrastructure, "What is made for the Gateway."),
      allowedListeners: k.optional(allowedListeners, "ListenerSets that may attach."),
      tls: k.optional(gatewayTLS, "How TLS is spoken, on all listeners."),
      defaultScope: k.optional(
        k.enumeration("All", "None"),
        "Whether routes that take any Gateway get this one.",
        experimental,
      ),
    }),
    "What is desired.",
  ),
  status: k.initially(
    k.object({
      addresses: k.optional(k.list(gatewayStatusAddress, { maxItems: 16 }), "Addresses that are in use."),
      conditions: k.initially(conditions, start, "How the Gateway fares."),
      listeners: k.optional(k.mapList(["name"], listenerStatus, { maxItems: 64 }), "How its listeners fare."),
      attachedListenerSets: k.optional(k.integer({ format: "int32" }), "How many ListenerSets are attached."),
    }),
    { conditions: start },
    "What controllers found.",
  ),
});

export type Gateway = ObjectOf<typeof schema>;

export const gateway = defineKind<Gateway>(
  {
    group: gatewayGroup,
    kind: "Gateway",
    plural: "gateways",
    shortNames: ["gtw"],
    categories: ["gateway-api"],
  },
  version("v1", schema, { columns }),
  version("v1beta1", schema, { columns }),
);
