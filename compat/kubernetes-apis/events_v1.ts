/**
 * `@cloudydeno/kubernetes-apis/events.k8s.io/v1`.
 *
 * @module
 */
import { eventSourceCodec, objectReferenceCodec } from "./core.ts";
import type { ApiKind, JSONValue, RestClient } from "./deps.ts";
import { kind, type ListOf, listOf, objectMetaCodec } from "./meta.ts";
import {
  type AllNamespacesMethods,
  defineAllNamespaces,
  defineNamespaced,
  type NamespacedMethods,
  ownNamespace,
  Resource,
} from "./resource.ts";
import { microTime, num, opt, str, struct, time, type Value } from "./tables.ts";

const eventSeriesCodec = struct({ count: num, lastObservedTime: microTime });
/** An event that goes on. */
export interface EventSeries extends Value<typeof eventSeriesCodec> {}
export const toEventSeries: (input: JSONValue) => EventSeries = eventSeriesCodec.to;
export const fromEventSeries: (input: EventSeries) => JSONValue = eventSeriesCodec.from;

const eventFields = struct({
  action: opt(str),
  deprecatedCount: opt(num),
  deprecatedFirstTimestamp: opt(time),
  deprecatedLastTimestamp: opt(time),
  deprecatedSource: opt(eventSourceCodec),
  eventTime: microTime,
  metadata: opt(objectMetaCodec),
  note: opt(str),
  reason: opt(str),
  regarding: opt(objectReferenceCodec),
  related: opt(objectReferenceCodec),
  reportingController: opt(str),
  reportingInstance: opt(str),
  series: opt(eventSeriesCodec),
  type: opt(str),
});
/** Something that happened to an object, for people. */
export interface Event extends Value<typeof eventFields> {
  apiVersion?: "events.k8s.io/v1";
  kind?: "Event";
}
export interface EventList extends ListOf<Event> {
  apiVersion?: "events.k8s.io/v1";
  kind?: "EventList";
}

const eventCodec = kind<Event>("events.k8s.io/v1", "Event", eventFields);
export const toEvent: (input: JSONValue) => Event & ApiKind = eventCodec.to;
export const fromEvent: (input: Event) => JSONValue = eventCodec.from;
export const toEventList: (input: JSONValue) => EventList & ApiKind = listOf(
  "events.k8s.io/v1",
  "EventList",
  eventCodec,
);

function events(client: RestClient, path: string): Resource<Event, EventList> {
  return new Resource(client, `/apis/events.k8s.io/v1/${path}events`, eventCodec, toEventList);
}

export interface EventsV1Api extends AllNamespacesMethods<"Event", Event, EventList> {}
export class EventsV1Api {
  readonly #client: RestClient;
  constructor(client: RestClient) {
    this.#client = client;
    defineAllNamespaces(this, "Event", events(client, ""));
  }

  namespace(name: string): EventsV1NamespacedApi {
    return new EventsV1NamespacedApi(this.#client, name);
  }
  myNamespace(): EventsV1NamespacedApi {
    return this.namespace(ownNamespace(this.#client));
  }
}

export interface EventsV1NamespacedApi extends NamespacedMethods<"Event", Event, EventList> {}
export class EventsV1NamespacedApi {
  constructor(client: RestClient, namespace: string) {
    defineNamespaced(this, "Event", events(client, `namespaces/${namespace}/`));
  }
}
