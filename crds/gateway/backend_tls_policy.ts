/**
 * BackendTLSPolicy: how TLS is spoken with a backend.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import { conditions } from "../meta.ts";
import * as k from "../schema/build.ts";
import { experimentalSince17, standardOrUntil16 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import {
  annotationValue,
  controllerName,
  gatewayGroup,
  hostname,
  preciseHostname,
  sectionName,
} from "./names.ts";
import { localObjectReference, parentReference, sectionRules } from "./references.ts";

const subjectAltName = k.object({
  type: k.required(k.enumeration("Hostname", "URI"), "Which of the two this is."),
  hostname: k.optional(hostname, "For type Hostname."),
  uri: k.optional(
    k.string({
      minLength: 1,
      maxLength: 253,
      pattern: String.raw`^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?`,
    }),
    "For type URI.",
  ),
}, {
  rules: [
    {
      message: "SubjectAltName element must contain Hostname, if Type is set to Hostname",
      holds: (name) => name.type !== "Hostname" || !!name.hostname,
    },
    {
      message: "SubjectAltName element must not contain Hostname, if Type is not set to Hostname",
      holds: (name) => name.type === "Hostname" || !name.hostname,
    },
    {
      message: "SubjectAltName element must contain URI, if Type is set to URI",
      holds: (name) => name.type !== "URI" || !!name.uri,
    },
    {
      message: "SubjectAltName element must not contain URI, if Type is not set to URI",
      holds: (name) => name.type === "URI" || !name.uri,
    },
  ],
});
export type SubjectAltName = Infer<typeof subjectAltName>;

const wellKnown = String.raw`^(System|([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/` +
  "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]))$";

const validation = k.object({
  caCertificateRefs: k.optional(
    k.varying(
      [experimentalSince17, k.list(localObjectReference, { minItems: 1, maxItems: 8 })],
      [standardOrUntil16, k.list(localObjectReference, { maxItems: 8 })],
    ),
    "ConfigMaps with the certificates of the authorities to trust.",
  ),
  wellKnownCACertificates: k.optional(
    k.string({ minLength: 1, maxLength: 253, pattern: wellKnown }),
    "A known set of authorities, such as System.",
  ),
  hostname: k.required(preciseHostname, "Name that is asked for (SNI) and that the certificate has to have."),
  subjectAltNames: k.optional(
    k.list(subjectAltName, { maxItems: 5 }),
    "Names of which the certificate has to have one, instead of the hostname.",
  ),
}, {
  rules: [
    {
      message: "must not contain both CACertificateRefs and WellKnownCACertificates",
      holds: (tls) => !(tls.caCertificateRefs?.length && tls.wellKnownCACertificates),
      in: standardOrUntil16,
    },
    {
      message: "must specify either CACertificateRefs or WellKnownCACertificates",
      holds: (tls) => !!(tls.caCertificateRefs?.length || tls.wellKnownCACertificates),
      in: standardOrUntil16,
    },
    {
      message: "exactly one of the fields in [caCertificateRefs wellKnownCACertificates] must be set",
      holds: (tls) => (tls.caCertificateRefs === undefined) !== (tls.wellKnownCACertificates === undefined),
      in: experimentalSince17,
    },
  ],
});

export const localPolicyTargetReference = k.object({
  ...localObjectReference.shape,
  sectionName: k.optional(
    sectionName,
    "Port of a Service, or part of another target, that the policy is for.",
  ),
});
export type LocalPolicyTargetReferenceWithSectionName = Infer<typeof localPolicyTargetReference>;

const policyAncestorStatus = k.object({
  ancestorRef: k.required(parentReference, "The Gateway, or other object, that this is about."),
  controllerName: k.required(controllerName, "Who wrote this."),
  conditions: k.required(
    k.mapList(["type"], conditions.element, { minItems: 1, maxItems: 8 }),
    "How the policy fares there.",
  ),
});
export type PolicyAncestorStatus = Infer<typeof policyAncestorStatus>;

export const policyStatus = k.object({
  ancestors: k.required(
    k.list(policyAncestorStatus, { maxItems: 16 }),
    "One entry per ancestor and controller.",
  ),
});
export type PolicyStatus = Infer<typeof policyStatus>;

const schema = resource("BackendTLSPolicy", {
  spec: k.required(
    k.object({
      targetRefs: k.required(
        k.list(localPolicyTargetReference, {
          minItems: 1,
          maxItems: 16,
          rules: sectionRules({
            specified:
              "sectionName must be specified when targetRefs includes 2 or more references to the same target",
            unique:
              "sectionName must be unique when targetRefs includes 2 or more references to the same target",
          }),
        }),
        "Backends that the policy is for.",
      ),
      validation: k.required(validation, "What the backend's certificate has to be."),
      options: k.optional(k.map(annotationValue, { maxProperties: 16 }), "Settings of the implementation."),
    }),
    "What is desired.",
  ),
  status: k.optional(policyStatus, "What controllers found."),
});

export type BackendTLSPolicy = ObjectOf<typeof schema>;

export const backendTLSPolicy = defineKind<BackendTLSPolicy>(
  {
    group: gatewayGroup,
    kind: "BackendTLSPolicy",
    plural: "backendtlspolicies",
    shortNames: ["btlspolicy"],
    categories: ["gateway-api"],
  },
  version("v1", schema),
  version("v1alpha3", schema, { channel: "experimental", deprecated: true, columns: [] }),
);
