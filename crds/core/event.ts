/**
 * Event, in both of its groups.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { objectMeta } from "../meta.ts";
import * as k from "../schema/build.ts";
import { int32, objectReference, text, time } from "./values.ts";

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
    lastObservedTime: k.optional(time, "When it last happened."),
  }),
  "If it happens again and again.",
);

const metadata = objectMeta();

const coreSchema = resource("Event", {
  involvedObject: k.required(objectReference, "The object that it is about."),
  reason: k.optional(text, "Why, in one word."),
  message: k.optional(text, "What happened, for people."),
  source: k.defaulted(source, {}, "Who reports."),
  firstTimestamp: k.optional(time, "When it first happened."),
  lastTimestamp: k.optional(time, "When it last happened."),
  count: k.optional(int32, "How often it happened."),
  type: k.optional(text, "Normal or Warning."),
  eventTime: k.optional(time, "When it first happened, to the microsecond."),
  series,
  action: k.optional(text, "What was done."),
  related: k.optional(objectReference, "Another object that has to do with it."),
  reportingComponent: k.defaulted(text, "", "Controller that reports."),
  reportingInstance: k.defaulted(text, "", "Which of its instances."),
}, metadata);

/** `Event` of the core group. */
export type Event = ObjectOf<typeof coreSchema>;

export const event = defineKind<Event>(
  { group: "", kind: "Event", plural: "events", shortNames: ["ev"], hasStatus: false },
  version("v1", coreSchema, { columns: columns(".involvedObject", ".message", ".lastTimestamp") }),
);

const newSchema = resource("Event", {
  eventTime: k.required(time, "When it first happened, to the microsecond."),
  series,
  reportingController: k.optional(text, "Controller that reports."),
  reportingInstance: k.optional(text, "Which of its instances."),
  action: k.optional(text, "What was done."),
  reason: k.optional(text, "Why, in one word."),
  regarding: k.optional(objectReference, "The object that it is about."),
  related: k.optional(objectReference, "Another object that has to do with it."),
  note: k.optional(k.string({ maxLength: 1024 }), "What happened, for people."),
  type: k.optional(text, "Normal or Warning."),
  deprecatedSource: k.optional(source, "Who reports; as in the core group."),
  deprecatedFirstTimestamp: k.optional(time, "When it first happened; as in the core group."),
  deprecatedLastTimestamp: k.optional(time, "When it last happened; as in the core group."),
  deprecatedCount: k.optional(int32, "How often it happened; as in the core group."),
}, metadata);

/** `Event` of events.k8s.io. */
export type EventsEvent = ObjectOf<typeof newSchema>;

export const eventsEvent = defineKind<EventsEvent>(
  { group: "events.k8s.io", kind: "Event", plural: "events", shortNames: ["ev"], hasStatus: false },
  version("v1", newSchema, { columns: columns(".regarding", ".note", ".deprecatedLastTimestamp") }),
);
