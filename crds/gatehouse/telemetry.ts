/**
 * What proxies tell of what they do: access logs, statistics, traces.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import { hostPattern, labelPattern } from "../schema/formats.ts";
import type { Infer } from "../schema/types.ts";
import { formatRule } from "./access_log_format.ts";

/** A text with Envoy's command operators, such as `%REQ(USER-AGENT)%`. */
const format = k.string({ maxLength: 1024, rules: [formatRule] });

export const accessLog = k.object({
  enabled: k.optional(k.boolean(), "Whether there is one. On if absent."),
  fields: k.optional(
    k.map(format, { maxProperties: 64 }),
    'Fields of a line of JSON, in Envoy\'s notation, such as `agent: "%REQ(USER-AGENT)%"`. They are added to the ' +
      "default ones; one of the same name takes its place, and an empty text leaves it out.",
  ),
  text: k.optional(
    k.string({ minLength: 1, maxLength: 4096, rules: [formatRule] }),
    "A line of text in Envoy's notation, in place of JSON. A line break is added.",
  ),
}, {
  rules: [{
    rule: "!(has(self.fields) && has(self.text))",
    message: "fields and text exclude one another: a line is JSON or text",
    holds: (log) => log.fields === undefined || log.text === undefined,
  }],
});
export type AccessLogSpec = Infer<typeof accessLog>;

export const stats = k.object({
  all: k.optional(
    k.boolean(),
    "Whether Envoy keeps every statistic that it has. Off if absent: it keeps those that somebody looks at, at a " +
      "fraction of the memory.",
  ),
  prefixes: k.optional(
    k.set(k.string({ minLength: 1, maxLength: 253 }), { maxItems: 32 }),
    "Beginnings of the names of further statistics to keep, such as `cluster.`.",
  ),
});

const port = k.integer({ format: "int32", minimum: 1, maximum: 65535 });

const collector = k.object({
  service: k.optional(
    k.object({
      name: k.required(
        k.string({ minLength: 1, maxLength: 63, pattern: labelPattern }),
        "Name of the Service.",
      ),
      namespace: k.optional(
        k.string({ minLength: 1, maxLength: 63, pattern: labelPattern }),
        "Namespace of the Service; that of the EnvoyFleet if absent.",
      ),
    }),
    "A Service of the cluster.",
  ),
  host: k.optional(
    k.string({ minLength: 1, maxLength: 253, pattern: hostPattern }),
    "A DNS name or an IP address.",
  ),
  port: k.optional(port, "Port that it listens on; 4317 if absent."),
}, {
  rules: [{
    rule: "has(self.service) != has(self.host)",
    message: "exactly one of service and host must be set",
    holds: (one) => (one.service === undefined) !== (one.host === undefined),
  }],
});

const sampling = k.object({
  numerator: k.required(k.integer({ format: "int32", minimum: 0 }), "How many of them."),
  denominator: k.defaulted(
    k.integer({ format: "int32", minimum: 1, maximum: 1_000_000 }),
    100,
    "Of how many.",
  ),
}, {
  rules: [{
    rule: "self.numerator <= self.denominator",
    message: "numerator must be less than or equal to denominator",
    holds: ({ numerator, denominator }) => numerator <= denominator,
  }],
});

export const tracing = k.object({
  enabled: k.optional(k.boolean(), "Whether requests are traced. On if absent, where there is a collector."),
  collector: k.optional(collector, "Where spans are sent, by OTLP over gRPC."),
  sampling: k.optional(
    sampling,
    "Share of the requests that are traced, if the client has not decided: all if absent.",
  ),
  attributes: k.optional(
    k.map(k.string({ maxLength: 1024 }), { maxProperties: 32 }),
    "Attributes of every span by name, such as `deployment.environment: production`.",
  ),
  headers: k.optional(
    k.map(k.string({ minLength: 1, maxLength: 256 }), { maxProperties: 32 }),
    "Attributes of spans by name, with the request header that each is taken from.",
  ),
  serviceName: k.optional(
    k.string({ minLength: 1, maxLength: 253 }),
    "The name by which traces know the proxies; `NAME.NAMESPACE` of the Gateway if absent.",
  ),
});
export type TracingSpec = Infer<typeof tracing>;
