/**
 * Where the API server of standalone answers differently, on purpose. Its README tells users the same.
 *
 * Each difference says what becomes of kube-apiserver's answer, so that all the rest of it has to be the same.
 *
 * @module
 */

import { inOrder, type Json } from "./side.ts";

export interface Difference {
  readonly why: string;
  /** Whether the answer to a request of a scenario is different for this reason. */
  of(scenario: string, request: string): boolean;
  /** What standalone answers where kube-apiserver gives this answer. */
  instead(answer: Json, request: string): Json;
}

const failure = (code: number, rest: object): Json => ({
  apiVersion: "v1",
  kind: "Status",
  metadata: {},
  status: "Failure",
  code,
  ...rest,
});
const notFound = failure(404, { reason: "NotFound" });
const badRequest = failure(400, { reason: "BadRequest" });

/** One answer instead of another one, each as a whole. */
const answers = (theirs: Json, ours: Json) => (answer: Json): Json =>
  JSON.stringify(inOrder(answer)) === JSON.stringify(inOrder({ ...answer, ...theirs }))
    ? { ...answer, ...ours }
    : answer;

/** Without warnings that begin like this. */
const unwarned = (...starts: readonly string[]) => ({ warnings = [], ...answer }: Json): Json => {
  const rest = warnings.filter((text: string) => !starts.some((start) => text.startsWith(start)));
  return { ...answer, ...rest.length > 0 && { warnings: rest } };
};

/** Without causes that begin like this, in a refusal. */
const uncaused = (start: RegExp) => (answer: Json): Json => {
  const { details } = answer.body, causes = details?.causes?.filter((cause: string) => !start.test(cause));
  return causes ? { ...answer, body: { ...answer.body, details: { ...details, causes } } } : answer;
};

/** Other causes instead of some, in a refusal. */
const causes = (theirs: readonly string[], ours: readonly string[]) => ({ body, ...answer }: Json): Json => ({
  ...answer,
  body: JSON.stringify(body.details?.causes) === JSON.stringify(theirs)
    ? { ...body, details: { ...body.details, causes: ours } }
    : body,
});

/** The object that a request has brought. */
const sent = (request: string): Json => JSON.parse(request.slice(request.indexOf(" {") + 1));

/** An Event without nulls, and without what is empty and was not in what was sent. */
function lean(event: Json, given: Json): Json {
  const kept = Object.entries(event).filter(([name, value]) =>
    value !== null && (JSON.stringify(value) !== "{}" || name in given || name === "involvedObject")
  );
  return Object.fromEntries(kept);
}

const written = "what is found out when core kinds are written";

export const differences: readonly Difference[] = [
  {
    why: "a resourceVersion in an object to be created is the client's mistake (400), not the server's (500)",
    of: (scenario, request) =>
      scenario.endsWith("from creation to deletion") && /^POST .*"resourceVersion"/.test(request),
    instead: answers({
      status: 500,
      body: failure(500, { message: "resourceVersion should not be set on objects to be created" }),
    }, { status: 400, body: badRequest }),
  },
  {
    why: "so is a resourceVersion to watch from that is no number",
    of: (_, request) => request.startsWith("WATCH") && request.endsWith("&resourceVersion=x"),
    instead: answers({
      status: 500,
      body: [failure(500, {
        message: 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
      })],
    }, { status: 400, body: [badRequest] }),
  },
  {
    why: "an API group that is not served is refused with a Status, not with plain text",
    of: (_, request) => /^GET \/apis\/(example.com|gateway.networking.k8s.io\/v9)\//.test(request),
    instead: answers({ status: 404, body: "404 page not found\n" }, { body: notFound }),
  },
  {
    why: "an object that is written back as it was read is not written, though its status has defaults",
    of: (scenario, request) =>
      /^(GatewayClass|Gateway|ListenerSet) .*from creation to deletion$/.test(scenario) &&
      request.startsWith("PUT") && !/"labels"|"uid":"other"|"name":"(other|\S+-not-there)"/.test(request),
    instead: ({ body, ...answer }) => ({
      ...answer,
      body: { ...body, metadata: { ...body.metadata, resourceVersion: "<as before>" } },
    }),
  },
  {
    why: "fields of the part that a request does not write, spec or status, are not looked at",
    of: (scenario, request) =>
      scenario.endsWith(": status") && /"spec":\{"not":"this"\}|"status":\{"conditions":\[\]\}/.test(request),
    instead: unwarned('unknown field \\"spec.not', 'unknown field \\"status.conditions'),
  },
  {
    why: "conditions in the status of a Service have to be complete",
    of: (scenario, request) => scenario === "Service v1: status" && request.includes('"type":"Bad"'),
    instead: ({ status, body }) => {
      const [bad] = body.status.conditions, causes = Object.keys(bad).filter((field) => !bad[field]);
      if (status !== 200 || bad.type !== "Bad") return { status, body };
      const details = {
        kind: "Service",
        name: "x",
        causes: causes.map((field) => `status.conditions[0].${field} FieldValueRequired`),
      };
      return { status: 422, body: failure(422, { reason: "Invalid", details }) };
    },
  },
  {
    why: "answers are JSON, never YAML",
    of: (scenario, request) => scenario === "tables and metadata alone" && request.endsWith("httproutes/r"),
    instead: ({ status, body }) =>
      status === 200 && body.startsWith("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n")
        ? { status: 406, body: failure(406, { reason: "NotAcceptable" }) }
        : { status, body },
  },
  {
    why: "an object of another kind is refused for that alone, without a look at its fields",
    of: (scenario, request) => /^(TLS|TCP|UDP)Route/.test(scenario) && request.includes('"kind":"Other"'),
    instead: uncaused(/^spec\./),
  },
  {
    why: "server-side apply is not served",
    of: (_, request) => request.includes("(application/apply-patch+yaml)"),
    instead: ({ status, body, ...answer }) => {
      const theirs = status === 409 &&
        body.details.causes.every(({ reason }: Json) => reason === "FieldManagerConflict");
      const refused = { ...answer, status: 415, body: failure(415, { reason: "UnsupportedMediaType" }) };
      return theirs ? refused : { status, body };
    },
  },
  {
    why: "a POST to an object and a PUT to a collection are not allowed (405), whatever the kind",
    of: (scenario, request) =>
      scenario.endsWith(": options and forms of requests") &&
      /^(POST \/apis\/gateway\S+\/x|PUT \/apis\/gateway\S+s) /.test(request),
    instead: ({ status, body, ...answer }) =>
      status === 409 && body.reason === "AlreadyExists" || status === 400
        ? { ...answer, status: 405, body: failure(405, { reason: "MethodNotAllowed" }) }
        : { status, body },
  },
  {
    why: "a watch from a state that is yet to come is refused (504), it does not wait for it",
    of: (scenario, request) =>
      scenario.endsWith("yet to come") && /^WATCH \S+&resourceVersion=<version>$/.test(request),
    instead: answers({ status: 200, body: [] }, {
      status: 504,
      body: [failure(504, {
        reason: "Timeout",
        message: "Timeout: Too large resource version",
        details: {
          causes: [{ message: "Too large resource version", reason: "ResourceVersionTooLarge" }],
          retryAfterSeconds: 1,
        },
      })],
    }),
  },
  {
    why: "an object that lacks its name is refused for that alone",
    of: (_, request) => request.endsWith("(application/yaml) a: b"),
    instead: (answer) =>
      [["spec.clusterIPs FieldValueInvalid"], [
        "addressType FieldValueRequired",
        "metadata.name FieldValueRequired",
      ]]
        .reduce((answer, theirs) => causes(theirs, ["metadata.name FieldValueRequired"])(answer), answer),
  },
  {
    why: "a Service may have any address that is free",
    of: (_, request) => request.includes('"clusterIP":"1.2.3.4"'),
    instead: (answer, request) => {
      const { spec, ...service } = sent(request), metadata = { name: "x", namespace: "NS" };
      const details = { kind: "Service", name: "x", causes: ["spec.clusterIPs FieldValueInvalid"] };
      const theirs = { status: 422, body: failure(422, { reason: "Invalid", details }) };
      return answers(theirs, {
        status: 201,
        body: {
          ...service,
          metadata: { creationTimestamp: "<time>", ...metadata },
          spec: {
            ...spec,
            type: "ClusterIP",
            clusterIP: "<address>",
            clusterIPs: ["<address>"],
            internalTrafficPolicy: "Cluster",
            ipFamilies: ["IPv4"],
            ipFamilyPolicy: "SingleStack",
            ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
            sessionAffinity: "None",
          },
          status: { loadBalancer: {} },
        },
      })(answer);
    },
  },
  {
    why: "a port that has to be there is missing, not 0",
    of: (scenario, request) => scenario === written && request.includes('"ports":[{"name":"a"}]'),
    instead: causes(
      ["spec.ports[0].port FieldValueInvalid", "spec.ports[0].targetPort FieldValueInvalid"],
      ["spec.ports[0].port FieldValueRequired"],
    ),
  },
  {
    why: "nobody is warned of fields of Services that are deprecated",
    of: (scenario, request) =>
      !scenario.includes(": ") && request.startsWith("POST") && /"externalIPs"|"PreferClose"/.test(request) ||
      scenario.startsWith("Service of v1") && request.includes('"externalIPs"'),
    instead: unwarned("<deprecated>"),
  },
  {
    why: "a null in a map is nothing, not an empty text",
    of: (scenario, request) => scenario === written && request.includes('"data":{"a":null}'),
    instead: ({ body: { data: { a, ...data }, ...body }, ...answer }) => ({
      ...answer,
      body: { ...body, data: a === "" ? data : { a, ...data } },
    }),
  },
  {
    why: "Leases keep how their next holder is chosen",
    of: (scenario, request) => scenario === written && request.includes('"preferredHolder"'),
    instead: ({ body, ...answer }, request) => ({
      ...answer,
      body: { ...body, spec: { ...body.spec, ...sent(request).spec } },
    }),
  },
  {
    why: "a ServiceAccount names each of its Secrets once",
    of: (scenario, request) => scenario === written && request.includes("serviceaccounts"),
    instead: ({ status, body }) => {
      const details = { kind: "ServiceAccount", name: "x", causes: ["secrets[1] FieldValueDuplicate"] };
      return status === 201
        ? { status: 422, body: failure(422, { reason: "Invalid", details }) }
        : { status, body };
    },
  },
  {
    why: "that a Namespace's name makes a bad label is not said besides",
    of: (scenario, request) => scenario === written && request.startsWith("POST /api/v1/namespaces?"),
    instead: uncaused(/^metadata\.labels/),
  },
  {
    why: "times and parts that an Event lacks are not sent",
    of: (scenario) => scenario.startsWith("Event of "),
    instead: ({ body, ...answer }, request) => ({
      ...answer,
      body: body.status ? body : lean(body, sent(request)),
    }),
  },
  {
    why: "a refusal of an Event names the group that was asked",
    of: (scenario) => scenario.startsWith("Event of events.k8s.io"),
    instead: ({ body, ...answer }) => ({
      ...answer,
      body: body.details ? { ...body, details: { ...body.details, group: "events.k8s.io" } } : body,
    }),
  },
  {
    why: "EndpointSlices may hold loopback addresses",
    of: (_, request) => /^POST \/apis\/discovery.k8s.io\/v1\/.*"(127\.|::1")/.test(request),
    instead: (answer, request) => {
      const { metadata: { name }, endpoints, ...slice } = sent(request);
      const causes = ["endpoints[0].addresses[0] FieldValueInvalid"];
      const details = { group: "discovery.k8s.io", kind: "EndpointSlice", name, causes };
      const theirs = { status: 422, body: failure(422, { reason: "Invalid", details }) };
      return answers(theirs, {
        status: 201,
        body: {
          ...slice,
          metadata: { creationTimestamp: "<time>", generation: 1, name, namespace: "NS" },
          endpoints: endpoints.map((endpoint: Json) => ({ ...endpoint, conditions: {} })),
        },
      })(answer);
    },
  },
  {
    why: "lists that an EndpointSlice lacks are not sent as null",
    of: (_, request) => request.startsWith("POST /apis/discovery.k8s.io/v1/"),
    instead: ({ body: { endpoints, ports, ...body }, ...answer }) => ({
      ...answer,
      body: {
        ...body,
        ...endpoints !== undefined && { endpoints: endpoints ?? [] },
        ...ports && { ports },
      },
    }),
  },
  {
    why: "nobody is warned that EndpointSlices of names are deprecated",
    of: (_, request) => /^POST \/apis\/discovery.k8s.io\/v1\/.*"FQDN"/.test(request),
    instead: unwarned("<deprecated>"),
  },
  {
    why: "nobody is warned that a TLS Secret does not hold certificates",
    of: (_, request) => /^POST .*"type":"kubernetes.io\/tls"/.test(request) && request.includes("tls.key"),
    instead: unwarned("tls: failed to find any PEM data"),
  },
  {
    why: "what is wrong with an item behind the last one that is allowed is not said",
    of: (scenario, request) =>
      scenario === "random variations of objects" && request.includes('"backendRefs":[""]'),
    instead: uncaused(/^spec\.rules\[1\]/),
  },
];
