/**
 * TLSRoute: which TLS connections go to which backends, by the name that the client asks for.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { isIP, subdomainPattern } from "../schema/formats.ts";
import { alpha, oneRule, routeStatusField, severalRules } from "./l4_route.ts";
import { gatewayGroup, hostname } from "./names.ts";
import { commonRouteShape } from "./route.ts";

const subdomain = new RegExp(subdomainPattern);

const serverNames = k.list(hostname, {
  minItems: 1,
  maxItems: 1024,
  rules: [
    { message: "Hostnames cannot contain an IP", holds: (names) => !names.some(isIP) },
    {
      message: "Hostnames must be valid based on RFC-1123",
      holds: (names) => names.every((name) => name.includes("*") || subdomain.test(name)),
    },
    {
      message:
        "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on RFC-1123",
      holds: (names) =>
        names.every((name) => !name.includes("*") || name.startsWith("*.") && subdomain.test(name.slice(2))),
    },
  ],
});

const doc = "Names that clients ask for (SNI).";

const body = <H extends typeof namesField | typeof alphaNames, R extends typeof oneRule>(
  hostnames: H,
  rules: R,
) =>
  resource("TLSRoute", {
    spec: k.required(k.object({ ...commonRouteShape, hostnames, rules }), "What is desired."),
    status: routeStatusField,
  });

const namesField = k.required(serverNames, doc);
const alphaNames = k.optional(k.list(hostname, { maxItems: 1024 }), doc);

const schema = body(namesField, oneRule);

export type TLSRoute = ObjectOf<typeof schema>;

export const tlsRoute = defineKind<TLSRoute>(
  { group: gatewayGroup, kind: "TLSRoute", plural: "tlsroutes", categories: ["gateway-api"] },
  version("v1", schema),
  version("v1alpha3", schema, alpha),
  version("v1alpha2", body(alphaNames, severalRules), alpha),
);
