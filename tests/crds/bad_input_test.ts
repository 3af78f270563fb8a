/**
 * Input that does not get past the schema, told in the words of a Kubernetes API server: which field, what is wrong with
 * which value, and how it has to be.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { gateway, httpRoute, listenerSet } from "../../crds/mod.ts";
import { validate } from "../../crds/validate.ts";
import { noHeaderNames, noHostnames, wrongWildcards } from "../support/bad_names.ts";

type Json = { readonly [field: string]: unknown };

const apiVersion = "gateway.networking.k8s.io/v1";
const metadata = { name: "a", namespace: "default" };

const routeErrors = (spec: Json) =>
  validate(httpRoute, "v1", { apiVersion, kind: "HTTPRoute", metadata, spec }).errors;
const words = (errors: ReturnType<typeof routeErrors>) =>
  errors.map(({ field, message }) => `${field}: ${message}`);
const ruleWords = (rule: Json) => words(routeErrors({ rules: [rule] }));

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const precise = `^${label}(\\.${label})*$`, withWildcard = `^(\\*\\.)?${label}(\\.${label})*$`;

const mismatch = (field: string, value: string, pattern: string) =>
  `${field}: Invalid value: ${JSON.stringify(value)}: ${field} in body should match '${pattern}'`;

Deno.test("bad input: hostnames that are none are refused by field, value and pattern", () => {
  for (const hostname of [...noHostnames, ...wrongWildcards]) {
    assertEquals(words(routeErrors({ hostnames: ["fine.example.com", hostname] })), [
      mismatch("spec.hostnames[1]", hostname, withWildcard),
    ]);
    const listeners = [{ name: "l", port: 80, protocol: "HTTP", hostname }];
    const field = "spec.listeners[0].hostname";
    const ofGateway = { apiVersion, kind: "Gateway", metadata, spec: { gatewayClassName: "c", listeners } };
    assertEquals(words(validate(gateway, "v1", ofGateway).errors), [mismatch(field, hostname, withWildcard)]);
    const ofSet = {
      apiVersion,
      kind: "ListenerSet",
      metadata,
      spec: { parentRef: { name: "g" }, listeners },
    };
    assertEquals(words(validate(listenerSet, "v1", ofSet).errors), [mismatch(field, hostname, withWildcard)]);
  }
  for (const hostname of [...noHostnames, ...wrongWildcards, "*.example.com"]) {
    for (
      const [type, filter] of [["RequestRedirect", "requestRedirect"], ["URLRewrite", "urlRewrite"]] as const
    ) {
      assertEquals(ruleWords({ filters: [{ type, [filter]: { hostname } }] }), [
        mismatch(`spec.rules[0].filters[0].${filter}.hostname`, hostname, precise),
      ]);
    }
  }
});

Deno.test("bad input: hostnames that are empty or too long are refused, addresses and long labels are not", () => {
  assertEquals(words(routeErrors({ hostnames: [""] })), [
    'spec.hostnames[0]: Invalid value: "": spec.hostnames[0] in body should be at least 1 chars long',
  ]);
  assertEquals(words(routeErrors({ hostnames: [`${"a".repeat(251)}.bc`] })), [
    "spec.hostnames[0]: Too long: may not be more than 253 bytes",
  ]);
  const hostnames = [
    "192.0.2.1",
    `${"a".repeat(64)}.b`,
    `${"a".repeat(251)}.b`,
    "*.b",
    "xn--bcher-kva.example",
  ];
  assertEquals(words(routeErrors({ hostnames })), []);
});

Deno.test("bad input: expressions of 10,000 characters are refused where there can be one", () => {
  const value = "a".repeat(10_000), type = "RegularExpression";
  const tooLong = (field: string, most: number) =>
    `spec.rules[0].matches[0].${field}.value: Too long: may not be more than ${most} bytes`;
  const path = { type: "PathPrefix", value: "/" };
  assertEquals(ruleWords({ matches: [{ path: { type, value } }] }), [tooLong("path", 1024)]);
  assertEquals(ruleWords({ matches: [{ path, headers: [{ type, name: "a", value }] }] }), [
    tooLong("headers[0]", 4096),
  ]);
  assertEquals(ruleWords({ matches: [{ path, queryParams: [{ type, name: "a", value }] }] }), [
    tooLong("queryParams[0]", 1024),
  ]);
});

Deno.test("bad input: a route has no more than 16 rules, a rule than 64 matches, and both together than 128", () => {
  const rules = (count: number, matches: number) =>
    Array.from({ length: count }, (_, rule) => ({
      matches: Array.from({ length: matches }, (_, match) => ({
        path: { type: "PathPrefix", value: `/${rule}/${match}` },
      })),
    }));
  assertEquals(words(routeErrors({ rules: rules(2, 64) })), []);
  assertEquals(words(routeErrors({ rules: rules(17, 1) })), [
    "spec.rules: Too many: 17: must have at most 16 items",
  ]);
  assertEquals(words(routeErrors({ rules: rules(1, 65) })), [
    "spec.rules[0].matches: Too many: 65: must have at most 64 items",
  ]);
  assertEquals(words(routeErrors({ rules: rules(16, 64) })), [
    "spec.rules: Invalid value: While 16 rules and 64 matches per rule are allowed, the total number of matches across " +
    "all rules in a route must be less than 128",
  ]);
});

Deno.test("bad input: header names that proxies refuse are refused by field", () => {
  const pattern = "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$";
  for (const name of noHeaderNames) {
    for (const change of ["set", "add"] as const) {
      const requestHeaderModifier = { [change]: [{ name, value: "v" }] };
      assertEquals(ruleWords({ filters: [{ type: "RequestHeaderModifier", requestHeaderModifier }] }), [
        mismatch(`spec.rules[0].filters[0].requestHeaderModifier.${change}[0].name`, name, pattern),
      ]);
    }
    const path = { type: "PathPrefix", value: "/" };
    assertEquals(ruleWords({ matches: [{ path, headers: [{ name, value: "v" }] }] }), [
      mismatch("spec.rules[0].matches[0].headers[0].name", name, pattern),
    ]);
  }
});
