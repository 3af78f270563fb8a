/**
 * Columns of `kubectl get` for the core kinds, which a printer column's JSONPath cannot express.
 *
 * Custom kinds bring their columns with them ({@linkcode Version.columns}).
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { age } from "./human_duration.ts";
import type { Unstructured } from "./resources.ts";

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly priority: number;
  readonly description?: string;
  cell(object: ApiObject, now: Date): unknown;
}

type Fields = { readonly [name: string]: unknown };

const at = (object: ApiObject, ...path: readonly string[]): unknown => {
  let value: unknown = object as Unstructured;
  for (const part of path) {
    value = typeof value === "object" && value !== null ? (value as Fields)[part] : undefined;
  }
  return value;
};
const list = (value: unknown): readonly Fields[] => Array.isArray(value) ? value : [];
const size = (value: unknown): number =>
  typeof value === "object" && value !== null ? Object.keys(value).length : 0;
const orNone = (text: string): string => text === "" ? "<none>" : text;

function column(
  name: string,
  cell: (object: ApiObject, now: Date) => unknown,
  options: { readonly priority?: number; readonly type?: string } = {},
): TableColumn {
  return { name, type: options.type ?? "string", priority: options.priority ?? 0, cell };
}

const ageColumn = column("Age", (object, now) => age(object.metadata.creationTimestamp, now));
const wide = { priority: 1 };

export const nameColumn = column("Name", (object) => object.metadata.name);

function ports(service: ApiObject): string {
  return list(at(service, "spec", "ports")).map(({ port, nodePort, protocol }) =>
    `${port}${nodePort ? `:${nodePort}` : ""}/${protocol ?? "TCP"}`
  ).join(",");
}

function externalIp(service: ApiObject): string {
  const external = list(at(service, "spec", "externalIPs")).join(",");
  const ingress = list(at(service, "status", "loadBalancer", "ingress"))
    .map(({ ip, hostname }) => ip ?? hostname).join(",");
  switch (at(service, "spec", "type")) {
    case "LoadBalancer":
      return [ingress, external].filter((text) => text !== "").join(",") || "<pending>";
    case "ExternalName":
      return String(at(service, "spec", "externalName") ?? "");
    default:
      return orNone(external);
  }
}

/** At most three, then how many more there are. */
function some(texts: readonly string[]): string {
  const more = texts.length - 3;
  return more > 0 ? `${texts.slice(0, 3).join(",")} + ${more} more...` : texts.join(",");
}

function slicePorts(slice: ApiObject): string {
  const found = list(at(slice, "ports")).map(({ port }) => port === undefined ? "*" : String(port));
  return found.length === 0 ? "<unset>" : some(found);
}

function sliceEndpoints(slice: ApiObject): string {
  const found = list(at(slice, "endpoints")).flatMap(({ addresses }) => addresses as readonly string[] ?? []);
  return found.length === 0 ? "<unset>" : some(found);
}

function lastSeen(event: ApiObject, now: Date): string {
  const series = at(event, "series", "lastObservedTime");
  const last = series ?? at(event, "lastTimestamp") ?? at(event, "eventTime");
  const first = at(event, "firstTimestamp") ?? at(event, "eventTime");
  const times = Number(at(event, "series", "count") ?? at(event, "count") ?? 1);
  const seen = age(last, now);
  return times > 1 ? `${seen} (x${times} over ${age(first, now)})` : seen;
}

function involved(event: ApiObject): string {
  const object = (at(event, "involvedObject") ?? at(event, "regarding") ?? {}) as Fields;
  return `${String(object["kind"] ?? "").toLowerCase()}/${object["name"] ?? ""}`;
}

const eventColumns: readonly TableColumn[] = [
  column("Last Seen", lastSeen),
  column("Type", (event) => at(event, "type")),
  column("Reason", (event) => at(event, "reason")),
  column("Object", involved),
  column("Subobject", (event) => at(event, "involvedObject", "fieldPath") ?? "", wide),
  column(
    "Source",
    (event) => at(event, "source", "component") ?? at(event, "reportingComponent") ?? "",
    wide,
  ),
  column("Message", (event) => String(at(event, "message") ?? at(event, "note") ?? "").trim()),
  column("First Seen", (event, now) => age(at(event, "firstTimestamp") ?? at(event, "eventTime"), now), wide),
  column("Count", (event) => at(event, "count") ?? 1, { priority: 1, type: "integer" }),
  { ...nameColumn, priority: 1 },
];

const byId: { readonly [id: string]: readonly TableColumn[] } = {
  namespaces: [nameColumn, column("Status", (object) => at(object, "status", "phase")), ageColumn],
  services: [
    nameColumn,
    column("Type", (object) => at(object, "spec", "type")),
    column("Cluster-IP", (object) => orNone(String(at(object, "spec", "clusterIP") ?? ""))),
    column("External-IP", externalIp),
    column("Port(s)", (object) => orNone(ports(object))),
    ageColumn,
    column("Selector", (object) =>
      orNone(
        Object.entries(at(object, "spec", "selector") as Fields ?? {}).map(([k, v]) => `${k}=${v}`).toSorted()
          .join(","),
      ), wide),
  ],
  secrets: [
    nameColumn,
    column("Type", (object) => at(object, "type")),
    column("Data", (object) => size(at(object, "data"))),
    ageColumn,
  ],
  configmaps: [
    nameColumn,
    column("Data", (object) => size(at(object, "data")) + size(at(object, "binaryData"))),
    ageColumn,
  ],
  serviceaccounts: [nameColumn, ageColumn],
  "endpointslices.discovery.k8s.io": [
    nameColumn,
    column("AddressType", (object) => at(object, "addressType")),
    column("Ports", slicePorts),
    column("Endpoints", sliceEndpoints),
    ageColumn,
  ],
  "leases.coordination.k8s.io": [
    nameColumn,
    column("Holder", (object) => at(object, "spec", "holderIdentity") ?? ""),
    ageColumn,
  ],
  "customresourcedefinitions.apiextensions.k8s.io": [
    nameColumn,
    column("Created At", (object) => object.metadata.creationTimestamp),
  ],
  events: eventColumns,
  "events.events.k8s.io": eventColumns,
};

/** The columns of a core kind; `undefined` for all others. */
export function printerOf(id: string): readonly TableColumn[] | undefined {
  return byId[id];
}
