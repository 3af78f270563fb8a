/**
 * Rules about BackendTLSPolicies.
 *
 * @module
 */
import { cases, type Json, type RuleCase, standard, target, v16 } from "./case.ts";

const san = (name: Json): Json => ({
  validation: { hostname: "a", wellKnownCACertificates: "System", subjectAltNames: [name] },
});
const ca: Json = { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }] };
const system: Json = { wellKnownCACertificates: "System" };
const trust = (parts: Json): Json => ({ validation: { hostname: "a", ...parts } });

const policies: RuleCase[] = [
  ...cases(["BackendTLSPolicy"], "spec.targetRefs", (targetRefs: readonly Json[]) => ({ targetRefs }), [
    [
      "sectionName must be specified when targetRefs includes 2 or more references to the same target",
      [{ ...target, sectionName: "a" }, { ...target, sectionName: "b" }],
      [target, { ...target, sectionName: "b" }],
    ],
    [
      "sectionName must be unique when targetRefs includes 2 or more references to the same target",
      [target, { ...target, name: "other" }],
      [{ ...target, sectionName: "a" }, { ...target, sectionName: "a" }],
    ],
  ]),
  ...cases(["BackendTLSPolicy"], "spec.validation.subjectAltNames[0]", san, [
    [
      "SubjectAltName element must contain Hostname, if Type is set to Hostname",
      { type: "Hostname", hostname: "a" },
      { type: "Hostname" },
    ],
    [
      "SubjectAltName element must not contain Hostname, if Type is not set to Hostname",
      { type: "URI", uri: "spiffe://a" },
      { type: "URI", uri: "spiffe://a", hostname: "a" },
    ],
    ["SubjectAltName element must contain URI, if Type is set to URI", { type: "URI", uri: "spiffe://a" }, {
      type: "URI",
    }],
    [
      "SubjectAltName element must not contain URI, if Type is not set to URI",
      { type: "Hostname", hostname: "a" },
      { type: "Hostname", hostname: "a", uri: "spiffe://a" },
    ],
  ]),
  ...cases(["BackendTLSPolicy"], "spec.validation", trust, [[
    "exactly one of the fields in [caCertificateRefs wellKnownCACertificates] must be set",
    ca,
    { ...ca, ...system },
  ]]),
  ...[v16, standard].flatMap((surface) =>
    cases(["BackendTLSPolicy"], "spec.validation", trust, [
      [
        "must not contain both CACertificateRefs and WellKnownCACertificates",
        { caCertificateRefs: [], ...system },
        { ...ca, ...system },
      ],
      [
        "must specify either CACertificateRefs or WellKnownCACertificates",
        system,
        { caCertificateRefs: [] },
      ],
    ], { surface })
  ),
];

export const policyCases: readonly RuleCase[] = policies;
