/**
 * Where the API server of standalone answers differently, on purpose. Its README tells users the same.
 *
 * @module
 */

import type { Json } from "./side.ts";

export interface Difference {
  readonly why: string;
  /** Whether the answer to a request of a scenario is different for this reason. */
  of(scenario: string, request: string): boolean;
  /** What of an answer has to be the same all the same; nothing if absent. */
  rest?(answer: Json): unknown;
}

/** An answer without fields of the object's metadata. */
const withoutMetadata = (...names: readonly string[]) => (answer: Json): unknown => {
  const { metadata, ...body } = answer.body;
  const kept = Object.entries(metadata ?? {}).filter(([name]) => !names.includes(name));
  return { ...answer, body: { ...body, metadata: Object.fromEntries(kept) } };
};

/** An answer about an EndpointSlice, without lists that it lacks. */
function withoutEmptyLists({ body, ...answer }: Json): unknown {
  const { endpoints, ports, ...fields } = body;
  const lists = Object.entries({ endpoints, ports }).filter(([, list]) => list?.length > 0);
  return { ...answer, body: { ...fields, ...Object.fromEntries(lists) } };
}

export const differences: readonly Difference[] = [
  {
    why: "a resourceVersion in an object to be created is the client's mistake (400), not the server's (500)",
    of: (scenario, request) =>
      scenario.endsWith("from creation to deletion") && /^POST .*"resourceVersion"/.test(request),
  },
  {
    why: "so is a resourceVersion to watch from that is no number",
    of: (_, request) => request.startsWith("WATCH") && request.endsWith("&resourceVersion=x"),
  },
  {
    why: "an API group that is not served is refused with a Status, not with plain text",
    of: (_, request) => /^GET \/apis\/(example.com|gateway.networking.k8s.io\/v9)\//.test(request),
  },
  {
    why: "an object that is written back as it was read is not written, though its status has defaults",
    of: (scenario, request) =>
      scenario.endsWith("from creation to deletion") && request.startsWith("PUT") &&
      !request.includes("labels"),
    rest: withoutMetadata("resourceVersion", "generation"),
  },
  {
    why: "fields of the part that a request does not write, spec or status, are not looked at",
    of: (scenario, request) =>
      scenario.endsWith(": status") && /"spec":\{"not":"this"\}|"status":\{"conditions":\[\]\}/.test(request),
  },
  {
    why: "conditions in the status of a Service have to be complete",
    of: (scenario, request) => scenario === "Service v1: status" && request.includes('"type":"Bad"'),
  },
  {
    why: "answers are JSON, never YAML",
    of: (scenario, request) => scenario === "tables and metadata alone" && request.endsWith("httproutes/r"),
  },
  {
    why: "an object of another kind is refused for that alone, without a look at its fields",
    of: (scenario, request) => /^(TLS|TCP|UDP)Route/.test(scenario) && request.includes('"kind":"Other"'),
  },
  {
    why: "a Service without a selector and an address has one family, as the machine has",
    of: (_, request) => request.includes('"spec":{"clusterIP":"<address>","ports"'),
  },
  {
    why: "EndpointSlices may hold loopback addresses",
    of: (_, request) => /^POST \/apis\/discovery.k8s.io\/v1\/.*"127\./.test(request),
  },
  {
    why: "lists that an EndpointSlice lacks are not sent as null",
    of: (_, request) => request.startsWith("POST /apis/discovery.k8s.io/v1/"),
    rest: withoutEmptyLists,
  },
  {
    why: "nobody is warned that EndpointSlices of names are deprecated",
    of: (_, request) => /^POST \/apis\/discovery.k8s.io\/v1\/.*"FQDN"/.test(request),
    rest: ({ warnings: _, ...answer }) => withoutEmptyLists(answer),
  },
  {
    why: "nobody is warned that a TLS Secret does not hold certificates",
    of: (_, request) => /^POST .*"type":"kubernetes.io\/tls"/.test(request) && request.includes("tls.key"),
  },
  {
    why: "what is wrong with an item behind the last one that is allowed is not said",
    of: (scenario, request) =>
      scenario === "random variations of objects" && request.includes('"backendRefs":[""]'),
  },
];
