/**
 * Event, in both of its groups.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { isQualifiedName, objectMeta } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { int32, microTime, objectReference, text, time } from "./values.ts";

const columns = (object: string, note: string, last: string): readonly Column[] => [
  { name: "Last Seen", type: "date", jsonPath: last },
  { name: "Type", type: "string", jsonPath: ".type" },
  { name: "Reason", type: "string", jsonPath: ".reason" },
  { name: "Kind", type: "string", jsonPath: `${object}.kind` },
  { name: "Object", type: "string", jsonPath: `${object}.name` },
  { name: "Message", type: "string", jsonPath: note },
];

const source = k.object({
  component: k.optional(text, "Part that reports."),
  host: k.optional(text, "Node that it runs on."),
});

const series = k.optional(
  k.object({
    count: k.optional(int32, "How often it happened so far."),
    lastObservedTime: k.optional(microTime, "When it last happened."),
  }),
  "If it happens again and again.",
);

const metadata = objectMeta();

/** What Kubernetes asks of Events of either group. */
interface Told {
  readonly namespace: string | undefined;
  readonly about: { readonly namespace?: string } | undefined;
  readonly eventTime: string | undefined;
  readonly reporter: readonly [field: string, name: string | undefined];
  readonly reportingInstance: string | undefined;
  readonly action: string | undefined;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** Events without a precise time are of the old sort, of which little is asked. */
function* faults(event: Told): Generator<Fault> {
  const wrong = (path: readonly string[], detail: string, value: unknown = ""): Fault => ({
    reason: "Invalid",
    path,
    value,
    detail,
  });
  const { namespace = "default", about } = event;
  const elsewhere = about?.namespace === undefined
    ? namespace !== "default" && !(event.eventTime !== undefined && namespace === "kube-system")
    : event.eventTime === undefined && about.namespace !== namespace;
  if (elsewhere) {
    yield wrong(["involvedObject", "namespace"], "does not match event.namespace", about?.namespace);
  }
  if (event.eventTime === undefined) return;
  const [field, name = ""] = event.reporter;
  if (!isQualifiedName(name)) yield wrong([field], "must be a name, perhaps with a DNS prefix", name);
  const { reportingInstance, action, reason } = event;
  for (
    const [field, value] of Object.entries({ [event.reporter[0]]: name, reportingInstance, action, reason })
  ) {
    if (!value) yield { reason: "Required", path: [field] };
    else if (value.length > 128 && value !== name) yield wrong([field], "can have at most 128 characters");
  }
  if ((event.message ?? "").length > 1024) yield wrong(["message"], "can have at most 1024 characters");
}

const wholeCoreEvent = resource("Event", {
  involvedObject: k.defaulted(objectReference, {}, "The object that it is about."),
  reason: k.optional(text, "Why, in one word."),
  message: k.optional(text, "What happened, for people."),
  source: k.defaulted(source, {}, "Who reports."),
  firstTimestamp: k.optional(time, "When it first happened."),
  lastTimestamp: k.optional(time, "When it last happened."),
  count: k.optional(int32, "How often it happened."),
  type: k.optional(text, "Normal or Warning."),
  eventTime: k.optional(microTime, "When it first happened, to the microsecond."),
  series,
  action: k.optional(text, "What was done."),
  related: k.optional(objectReference, "Another object that has to do with it."),
  reportingComponent: k.defaulted(text, "", "Controller that reports."),
  reportingInstance: k.defaulted(text, "", "Which of its instances."),
}, metadata);
const coreSchema = k.object(wholeCoreEvent.shape, {
  faults: ({ metadata, involvedObject, reportingComponent, ...event }) => [
    ...faults({
      namespace: metadata.namespace,
      about: involvedObject,
      eventTime: event.eventTime,
      reporter: ["reportingComponent", reportingComponent],
      reportingInstance: event.reportingInstance,
      action: event.action,
      reason: event.reason,
      message: event.message,
    }),
  ],
});

/** `Event` of the core group. */
export type Event = ObjectOf<typeof coreSchema>;

export const event = defineKind<Event>(
  { group: "", kind: "Event", plural: "events", shortNames: ["ev"], hasStatus: false },
  version("v1", coreSchema, { columns: columns(".involvedObject", ".message", ".lastTimestamp") }),
);

const wholeNewEvent = resource("Event", {
  eventTime: k.required(microTime, "When it first happened, to the microsecond."),
  series,
  reportingController: k.optional(text, "Controller that reports."),
  reportingInstance: k.optional(text, "Which of its instances."),
  action: k.optional(text, "What was done."),
  reason: k.optional(text, "Why, in one word."),
  regarding: k.optional(objectReference, "The object that it is about."),
  related: k.optional(objectReference, "Another object that has to do with it."),
  note: k.optional(text, "What happened, for people."),
  type: k.optional(text, "Normal or Warning."),
  deprecatedSource: k.optional(source, "Who reports; as in the core group."),
  deprecatedFirstTimestamp: k.optional(time, "When it first happened; as in the core group."),
  deprecatedLastTimestamp: k.optional(time, "When it last happened; as in the core group."),
  deprecatedCount: k.optional(int32, "How often it happened; as in the core group."),
}, metadata);
const newSchema = k.object(wholeNewEvent.shape, {
  faults: ({ metadata, regarding, ...event }) => [
    ...faults({
      namespace: metadata.namespace,
      about: regarding,
      eventTime: event.eventTime,
      reporter: ["reportingController", event.reportingController],
      reportingInstance: event.reportingInstance,
      action: event.action,
      reason: event.reason,
      message: event.note,
    }),
    ...newFaults(event),
  ],
});

/** What is asked of this group's Events alone; in the words of the core group, as Kubernetes has it. */
function* newFaults(event: {
  readonly type?: string;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly deprecatedFirstTimestamp?: string;
  readonly deprecatedLastTimestamp?: string;
  readonly deprecatedCount?: number;
  readonly deprecatedSource?: { readonly component?: string; readonly host?: string };
}): Generator<Fault> {
  const wrong = (field: string, detail: string): Fault => ({
    reason: "Invalid",
    path: [field],
    value: "",
    detail,
  });
  if (event.series) {
    if ((event.series.count ?? 0) < 2) yield wrong("series.count", "should be at least 2");
    if (!event.series.lastObservedTime) yield { reason: "Required", path: ["series", "lastObservedTime"] };
  }
  if (event.type !== "Normal" && event.type !== "Warning") yield wrong("type", "must be Normal or Warning");
  if (event.deprecatedFirstTimestamp) yield wrong("firstTimestamp", "needs to be unset");
  if (event.deprecatedLastTimestamp) yield wrong("lastTimestamp", "needs to be unset");
  if (event.deprecatedCount) yield wrong("count", "needs to be unset");
  if (event.deprecatedSource?.component || event.deprecatedSource?.host) {
    yield wrong("source", "needs to be unset");
  }
}

/** `Event` of events.k8s.io. */
export type EventsEvent = ObjectOf<typeof newSchema>;

export const eventsEvent = defineKind<EventsEvent>(
  { group: "events.k8s.io", kind: "Event", plural: "events", shortNames: ["ev"], hasStatus: false },
  version("v1", newSchema, { columns: columns(".regarding", ".note", ".deprecatedLastTimestamp") }),
);
