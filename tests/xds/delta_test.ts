/**
 * The rules of the delta protocol one by one, on scripted streams.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ResourceId } from "../../controllers/ir/mod.ts";
import { blame } from "../../xds/delta/nack.ts";
import { type DeltaResponse, DeltaStream, type Patience } from "../../xds/delta/stream.ts";
import type { XdsResource } from "../../xds/types.ts";
import type { DeltaDiscoveryRequest } from "../../xds/wire/envoy/discovery.ts";
import { ack, nack, request, resource } from "./support/fake_envoy.ts";

const patience: Patience = { dependency: 100, removal: 1_000, acknowledgement: 5_000 };

/** What a response says, short: `cluster a@1 b@1 -c`. */
function short({ type, resources, removed }: DeltaResponse): string {
  return [
    type,
    ...resources.map(({ name, version }) => `${name}@${version}`),
    ...removed.map((name) => `-${name}`),
  ].join(" ");
}

/** A stream with the resources that it serves, and the responses that are yet to be answered. */
class Script {
  readonly target = new Map<ResourceId, XdsResource>();
  readonly stream = new DeltaStream(this.target, patience);
  now = 0;

  put(...resources: readonly XdsResource[]): this {
    const changes = new Map(resources.map(({ id }) => [id, this.target.get(id)]));
    for (const one of resources) this.target.set(one.id, one);
    this.stream.changed(changes);
    return this;
  }

  drop(...ids: readonly ResourceId[]): this {
    const changes = new Map(ids.map((id) => [id, this.target.get(id)]));
    for (const id of ids) this.target.delete(id);
    this.stream.changed(changes);
    return this;
  }

  /** Everything that is sent now. */
  sent(): readonly DeltaResponse[] {
    const responses: DeltaResponse[] = [];
    for (let next = this.stream.next(this.now); next; next = this.stream.next(this.now)) responses.push(next);
    return responses;
  }

  receive(...requests: readonly DeltaDiscoveryRequest[]) {
    return requests.flatMap((one) => this.stream.receive(one));
  }

  /** Sends, acknowledges everything, and so on until there is nothing more. Gives what was sent. */
  drain(): readonly string[] {
    const all: string[] = [];
    for (let responses = this.sent(); responses.length > 0; responses = this.sent()) {
      all.push(...responses.map(short));
      for (const response of responses) this.receive(ack(response));
    }
    return all;
  }
}

const cluster = (name: string, version = "1") => resource(`cluster:${name}`, version);
const endpoints = (name: string, version = "1") => resource(`endpoints:${name}`, version);
const routes = (version: string, ...clusters: readonly string[]) =>
  resource("routes:r", version, clusters.map((name): ResourceId => `cluster:${name}`));
const listener = resource("listener:l", "1", ["routes:r"]);

/** A stream whose proxy has cluster `a` with routes to it. */
function established(): Script {
  const script = new Script().put(cluster("a"), endpoints("a"), listener, routes("1", "a"));
  script.receive(request("cluster"));
  script.drain();
  script.receive(request("endpoints", { resource_names_subscribe: ["a"] }), request("listener"));
  script.drain();
  script.receive(request("routes", { resource_names_subscribe: ["r"] }));
  script.drain();
  return script;
}

Deno.test("the first configuration: clusters, endpoints, listeners and routes, each when asked for", () => {
  const script = new Script().put(
    listener,
    routes("1", "a", "b"),
    endpoints("b"),
    cluster("b"),
    endpoints("a"),
    cluster("a"),
  );
  assertEquals(script.sent(), []);
  script.receive(request("cluster"), request("listener"));
  assertEquals(script.drain(), ["cluster b@1 a@1"], "no listener before its clusters have endpoints");
  script.receive(request("endpoints", { resource_names_subscribe: ["a", "b"] }));
  assertEquals(script.drain(), ["endpoints b@1 a@1", "listener l@1"]);
  script.receive(request("routes", { resource_names_subscribe: ["r"] }));
  assertEquals(script.drain(), ["routes r@1"]);
  assertEquals(script.stream.deadline, undefined);
});

Deno.test("a Gateway without anything is told so", () => {
  const script = new Script();
  script.receive(request("cluster"), request("listener"));
  assertEquals(script.drain(), ["cluster", "listener"]);
});

Deno.test("acknowledgements and removals are reported", () => {
  const script = new Script().put(cluster("a"));
  script.receive(request("cluster"));
  const [first] = script.sent();
  assertEquals(script.receive(ack(first!)), [{ type: "acked", id: "cluster:a", version: "1" }]);
  assertEquals(script.receive(ack(first!)), [], "a nonce counts once");
  script.drop("cluster:a");
  const [second] = script.sent();
  assertEquals(short(second!), "cluster -a");
  assertEquals(script.receive(ack(second!)), [{ type: "acked", id: "cluster:a" }]);
});

Deno.test("a cluster that is added or changed is followed by its endpoints, unasked", () => {
  const script = established().put(cluster("a", "2"), endpoints("a", "2"));
  assertEquals(script.drain(), ["cluster a@2", "endpoints a@2"]);
  script.put(cluster("a", "3"));
  assertEquals(script.drain(), ["cluster a@3", "endpoints a@2"], "even if those are what they were");
  script.put(cluster("b"), endpoints("b"));
  assertEquals(script.drain(), ["cluster b@1", "endpoints b@1"]);
});

Deno.test("endpoints wait for a newer version of their cluster that is not sent yet", () => {
  const script = established().put(cluster("a", "2"), endpoints("a", "2"));
  const [first, second] = script.sent();
  script.put(cluster("a", "3"), endpoints("a", "3"));
  script.receive(ack(second!));
  assertEquals(script.sent(), [], "cluster 2 is in flight");
  script.receive(ack(first!));
  assertEquals(script.drain(), ["cluster a@3", "endpoints a@3"]);
});

Deno.test("every later subscription is answered, whatever the proxy has; also for what does not exist", () => {
  const script = established();
  script.receive(request("endpoints", { resource_names_subscribe: ["a", "none"] }));
  assertEquals(script.drain(), ["endpoints a@1 -none"]);
  script.receive(request("routes", { resource_names_subscribe: ["r"] }));
  assertEquals(script.drain(), ["routes r@1"]);
  script.receive(request("routes", { resource_names_subscribe: ["none"] }));
  assertEquals(script.drain(), ["routes -none"]);
});

Deno.test("routes wait for clusters that they name, until those have been asked for and acknowledged", () => {
  const script = established().put(cluster("b"), endpoints("b"), routes("2", "a", "b"));
  const [first, second, ...others] = script.sent();
  assertEquals([short(first!), short(second!), others], ["cluster b@1", "endpoints b@1", []]);
  script.receive(ack(first!), ack(second!));
  assertEquals(script.sent(), [], "the proxy has not asked for the endpoints yet");
  script.receive(request("endpoints", { resource_names_subscribe: ["b"] }));
  const [third, ...rest] = script.sent();
  assertEquals([short(third!), rest], ["endpoints b@1", []]);
  script.receive(ack(third!));
  assertEquals(script.drain(), ["routes r@2"]);
});

Deno.test("a cluster that does not get ready delays what names it once, and nothing else", () => {
  const script = established();
  script.put(resource("routes:other", "1", ["cluster:a"]), cluster("b"), endpoints("b"), routes("2", "b"));
  script.receive(request("routes", { resource_names_subscribe: ["other"] }));
  assertEquals(script.drain(), ["cluster b@1", "endpoints b@1", "routes other@1"]);
  assertEquals(script.stream.deadline, 100);
  script.now = 99;
  assertEquals(script.drain(), []);
  script.now = 100;
  assertEquals(script.drain(), ["routes r@2"]);
  script.put(routes("3", "b"));
  assertEquals(script.drain(), ["routes r@3"]);
  assertEquals(script.stream.deadline, undefined);
});

Deno.test("a cluster goes once no routes of the proxy name it any more", () => {
  const script = established().put(cluster("b"), endpoints("b"));
  script.drain();
  script.receive(request("endpoints", { resource_names_subscribe: ["b"] }));
  script.drain();
  script.drop("cluster:a", "endpoints:a").put(routes("2", "b"));
  const [first, ...others] = script.sent();
  assertEquals([short(first!), others], ["routes r@2", []]);
  script.receive(ack(first!));
  assertEquals(script.drain(), ["cluster -a"]);
});

Deno.test("a cluster that routes keep naming goes after a while", () => {
  const script = established();
  script.drop("cluster:a", "endpoints:a").put(routes("2"));
  const [first] = script.sent();
  script.receive(nack(first!, "bad"));
  assertEquals(script.drain(), []);
  assertEquals(script.stream.deadline, 1_000);
  script.now = 1_000;
  assertEquals(script.drain(), ["cluster -a"]);
});

Deno.test("one response is in flight per resource, and what is superseded is not sent", () => {
  const script = established().put(routes("2", "a"), endpoints("a", "2"));
  const [first, second] = script.sent();
  assertEquals([short(first!), short(second!)], ["endpoints a@2", "routes r@2"]);
  for (const version of ["3", "4", "5"]) script.put(routes(version, "a"), endpoints("a", version));
  assertEquals(script.sent(), []);
  script.receive(ack(second!));
  assertEquals(script.drain(), ["routes r@5"]);
  script.receive(ack(first!));
  assertEquals(script.drain(), ["endpoints a@5"]);
  script.put(routes("6", "a")).put(routes("5", "a"));
  assertEquals(script.drain(), [], "back to what it was");
});

Deno.test("each route configuration has a response of its own", () => {
  const script = established();
  script.put(resource("routes:other", "1"), routes("2", "a"));
  script.receive(request("routes", { resource_names_subscribe: ["other"] }));
  assertEquals(script.drain().toSorted(), ["routes other@1", "routes r@2"]);
});

Deno.test("a proxy that reconnects is sent only what it does not have, and reported to have the rest", () => {
  const script = new Script().put(cluster("a"), endpoints("a"), listener, routes("2", "a"));
  const outcomes = script.receive(
    request("cluster", { initial_resource_versions: { a: "1", old: "1" } }),
    request("endpoints", { resource_names_subscribe: ["a"], initial_resource_versions: { a: "1" } }),
    request("listener", { initial_resource_versions: { l: "1" } }),
  );
  assertEquals(outcomes, [
    { type: "acked", id: "cluster:a", version: "1" },
    { type: "acked", id: "cluster:old", version: "1" },
    { type: "acked", id: "endpoints:a", version: "1" },
    { type: "acked", id: "listener:l", version: "1" },
    { type: "listed" },
  ]);
  assertEquals(script.drain(), [], "its routes may name the old cluster");
  script.receive(
    request("routes", { resource_names_subscribe: ["r"], initial_resource_versions: { r: "1" } }),
  );
  assertEquals(script.drain(), ["routes r@2", "cluster -old"]);
});

Deno.test("a proxy that reconnects with everything is sent nothing", () => {
  const script = new Script().put(cluster("a"), endpoints("a"), listener, routes("1", "a"));
  script.receive(
    request("cluster", { initial_resource_versions: { a: "1" } }),
    request("endpoints", { resource_names_subscribe: ["a"], initial_resource_versions: { a: "1" } }),
    request("listener", { initial_resource_versions: { l: "1" } }),
    request("routes", { resource_names_subscribe: ["r"], initial_resource_versions: { r: "1" } }),
  );
  assertEquals(script.drain(), []);
  script.put(routes("2", "a"));
  assertEquals(script.drain(), ["routes r@2"]);
});

Deno.test("a refused resource is not sent again before it changes; the others of the response are taken", () => {
  const script = new Script().put(cluster("ns/a/80"), cluster("ns/a/8"));
  script.receive(request("cluster"));
  const [first] = script.sent();
  assertEquals(script.receive(nack(first!, "Error adding/updating cluster(s) ns/a/80: no good")), [
    { type: "nacked", id: "cluster:ns/a/80", version: "1", message: "no good" },
    { type: "acked", id: "cluster:ns/a/8", version: "1" },
  ]);
  // Envoy has it, but would not tell the next stream so.
  assertEquals(script.drain(), ["cluster ns/a/8@1"]);
  script.put(cluster("ns/a/80", "2"));
  assertEquals(script.drain(), ["cluster ns/a/80@2"]);
});

Deno.test("whom a complaint that is cut off does not name may be refused as well, and is sent by itself", () => {
  const script = new Script().put(cluster("a"), cluster("b"), cluster("c"));
  script.receive(request("cluster"));
  const [first] = script.sent();
  const complaint = "Error adding/updating cluster(s) a: no good, b: no go...(truncated)";
  assertEquals(script.receive(nack(first!, complaint)), [
    { type: "nacked", id: "cluster:a", version: "1", message: "no good" },
    { type: "nacked", id: "cluster:b", version: "1", message: "no go...(truncated)" },
  ]);
  const [second, ...others] = script.sent();
  assertEquals([short(second!), others], ["cluster c@1", []]);
  assertEquals(script.receive(nack(second!, "no good either")), [
    { type: "nacked", id: "cluster:c", version: "1", message: "no good either" },
  ]);
});

Deno.test("endpoints of a cluster whose next version was refused and taken back go on", () => {
  const script = established();
  script.put(cluster("a", "2"));
  const [refused, second] = script.sent();
  assertEquals([short(refused!), short(second!)], ["cluster a@2", "endpoints a@1"]);
  script.receive(nack(refused!, "no good"), ack(second!));
  script.put(cluster("a", "1"), endpoints("a", "2"));
  assertEquals(script.drain(), ["endpoints a@2"]);
});

Deno.test("where the proxy does not say which resource it refuses, each is sent by itself", () => {
  const script = new Script();
  for (const name of ["a", "b", "c"]) script.put(cluster(name), endpoints(name));
  script.receive(request("cluster"));
  script.drain();
  script.receive(request("endpoints", { resource_names_subscribe: ["a", "b", "c"] }));
  const [first] = script.sent();
  assertEquals(short(first!), "endpoints a@1 b@1 c@1");
  assertEquals(script.receive(nack(first!, "malformed IP address: x")), []);
  const single = script.sent();
  assertEquals(single.map(short), ["endpoints a@1", "endpoints b@1", "endpoints c@1"]);
  assertEquals(
    single.flatMap((one, i) => script.receive(i === 1 ? nack(one, "malformed IP address: x") : ack(one))),
    [
      { type: "acked", id: "endpoints:a", version: "1" },
      { type: "nacked", id: "endpoints:b", version: "1", message: "malformed IP address: x" },
      { type: "acked", id: "endpoints:c", version: "1" },
    ],
  );
  for (const name of ["a", "b", "c"]) script.put(endpoints(name, "2"));
  assertEquals(script.drain(), ["endpoints a@2 c@2", "endpoints b@2"]);
  for (const name of ["a", "b", "c"]) script.put(endpoints(name, "3"));
  assertEquals(script.drain(), ["endpoints a@3 b@3 c@3"]);
});

Deno.test("what is never answered counts as lost after a while", () => {
  const script = established().put(routes("2", "a"));
  assertEquals(script.sent().map(short), ["routes r@2"]);
  script.put(routes("3", "a"));
  script.now = 4_999;
  assertEquals(script.sent(), []);
  assertEquals(script.stream.deadline, 5_000);
  script.now = 5_000;
  assertEquals(script.sent().map(short), ["routes r@3"]);
});

Deno.test("what a proxy lets go of is forgotten, and sent when it asks again", () => {
  const script = established();
  assertEquals(script.receive(request("routes", { resource_names_unsubscribe: ["r"] })), [
    { type: "acked", id: "routes:r" },
  ]);
  script.put(routes("2", "a"));
  assertEquals(script.drain(), []);
  script.receive(request("routes", { resource_names_subscribe: ["r"] }));
  assertEquals(script.drain(), ["routes r@2"]);
});

Deno.test("a listener is removed with whatever else changes about listeners", () => {
  const script = established();
  script.drop("listener:l", "routes:r").put(
    resource("listener:m", "1", ["routes:s"]),
    resource("routes:s", "1"),
  );
  assertEquals(script.drain(), ["listener m@1 -l"]);
});

Deno.test("large sets are sent in batches, and unknown types are ignored", () => {
  const script = new Script();
  for (let i = 0; i < 1_200; i++) script.put(cluster(`c${i}`));
  script.receive({ ...request("cluster"), type_url: "type.googleapis.com/unknown" });
  assertEquals(script.sent(), []);
  script.receive(request("cluster"));
  assertEquals(script.sent().map(({ resources }) => resources.length), [500, 500, 200]);
});

Deno.test("names are told apart in Envoy's words", () => {
  const words =
    "Error adding/updating cluster(s) a/b/80: broken: a/b/8 is odd, x/a/b/80: no, good: not a name";
  assertEquals(
    blame("cluster", ["a/b/8", "a/b/80", "b/80", "x/a/b/80"], words),
    new Map([["a/b/80", "broken: a/b/8 is odd"], ["x/a/b/80", "no, good: not a name"]]),
  );
  assertEquals(blame("cluster", ["a", "b"], "something else"), undefined);
  assertEquals(blame("endpoints", ["a", "b"], "a: no"), undefined);
  assertEquals(blame("routes", ["r"], "no"), new Map([["r", "no"]]));
});
