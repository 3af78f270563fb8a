/**
 * Names that are none, through a real Envoy. Most of them do not get past the schema of an API server; one that validates
 * nothing may have them all the same. Envoy would refuse all routes of a port for a single one.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { noHeaderNames, noHostnames, wrongWildcards } from "../support/bad_names.ts";
import { gateway, type Raw, route, to } from "./cluster.ts";
import { conditionsOf, keepAsking } from "./neighbour.ts";
import { any, filtered, parentRefs, serving } from "./serving.ts";

const fine = route("neighbour", { parentRefs, rules: [to("app", "/fine")] });

/** Those of the schema's own tests, and what it lets through. The asterisk is what a route without hostnames has. */
const hostnames = [
  ...noHostnames,
  ...wrongWildcards.filter((name) => name !== "*"),
  "",
  "192.0.2.1",
  "x".repeat(254),
];

async function withNeighbour() {
  const served = await serving(any, [fine]);
  const neighbour = keepAsking(async () => (await served.ask("/fine")).status);
  return {
    ...served,
    async change(...objects: readonly Raw[]) {
      served.put(...objects);
      served.rig.settle();
      await served.rig.synced();
    },
    again: () => neighbour.again(),
    async [Symbol.asyncDispose]() {
      await neighbour[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

Deno.test("bad names: hostnames of routes are left out, one by one", async () => {
  await using served = await withNeighbour();
  const bad = (generation: number, ...hostnames: readonly string[]) =>
    route("bad", { parentRefs, hostnames, rules: [to("app", "/bad")] }, { generation });
  const answer = async (host: string) => (await served.ask("/bad", { headers: { host } })).status;
  for (const [i, name] of hostnames.entries()) {
    const title = JSON.stringify(name.slice(0, 20));
    await served.change(bad(2 * i + 1, name, "www.example.com"));
    const both = conditionsOf(served.statuses.get("HTTPRoute/default/bad"));
    assert(both.short.includes("Accepted True Accepted"), `${title}: ${both.short}`);
    assertEquals([title, await answer("www.example.com"), await answer("other.example.com")], [
      title,
      200,
      404,
    ]);
    await served.change(bad(2 * i + 2, name));
    const alone = conditionsOf(served.statuses.get("HTTPRoute/default/bad"));
    assert(alone.short.includes("Accepted False NoMatchingListenerHostname"), `${title}: ${alone.short}`);
    assertStringIncludes(alone.words, `spec.hostnames[0]: "${name}" is`);
    assertEquals([title, await answer("www.example.com")], [title, 404]);
    await served.again();
  }
});

Deno.test("bad names: a listener with a hostname that is none is not accepted, and those next to it are", async () => {
  await using served = await withNeighbour();
  const { port } = served, listener = { port, protocol: "HTTP" };
  // The empty hostname of a listener is none at all.
  for (const [i, hostname] of [...hostnames, "*"].filter((name) => name !== "").entries()) {
    const title = JSON.stringify(hostname.slice(0, 20));
    const listeners = [
      { ...listener, name: "http" },
      { ...listener, name: "bad", hostname },
      { ...listener, name: "good", hostname: "www.example.com" },
    ];
    await served.change(gateway("gw", listeners, { metadata: { generation: i + 2 } }));
    const status = served.statuses.get("Gateway/default/gw");
    const states = status?.kind === "Gateway"
      ? status.listeners.map(({ name, conditions }) => {
        const { status, reason, message } = conditions.find(({ type }) => type === "Accepted")!;
        return { name, accepted: `${status} ${reason}`, message };
      })
      : [];
    assertEquals([title, ...states.map(({ name, accepted }) => `${name} ${accepted}`)], [
      title,
      "http True Accepted",
      "bad False UnsupportedValue",
      "good True Accepted",
    ]);
    assertStringIncludes(states[1]!.message, `hostname: "${hostname}" is`);
    assertEquals((await served.ask("/fine", { headers: { host: "www.example.com" } })).status, 200, title);
    await served.again();
  }
});

Deno.test("bad names: rules with header names that are none answer 500, and the others go on", async () => {
  await using served = await withNeighbour();
  for (const [i, name] of ["", ...noHeaderNames].entries()) {
    const change = (type: "Request" | "Response", change: Raw) => ({
      type: `${type}HeaderModifier`,
      [`${type.toLowerCase()}HeaderModifier`]: change,
    });
    const value = [{ name, value: "v" }];
    const changes = (["Request", "Response"] as const).flatMap((type) => [
      change(type, { set: value }),
      change(type, { add: value }),
      change(type, { remove: [name] }),
    ]);
    const ofRules = changes.map((filter, n) => filtered(`/rule-${n}`, filter));
    const ofBackends = changes.map((filter, n) => ({
      ...to("app", `/backend-${n}`),
      backendRefs: [{ name: "app", port: 80, filters: [filter] }],
    }));
    const match = {
      ...to("app"),
      matches: [{ path: { type: "PathPrefix", value: "/match" }, headers: [{ name, value: "v" }] }],
    };
    const rules = [...ofRules, ...ofBackends, match];
    await served.change(
      route("bad", { parentRefs, rules: [...rules, to("app", "/next")] }, { generation: i + 1 }),
    );
    for (const { matches: [{ path: { value } }] } of rules) {
      assertEquals([name, value, (await served.ask(value)).status], [name, value, 500]);
    }
    assertEquals([name, (await served.ask("/next")).status], [name, 200]);
    const told = conditionsOf(served.statuses.get("HTTPRoute/default/bad"));
    assert(told.short.includes("PartiallyInvalid True UnsupportedValue"), `${name}: ${told.short}`);
    assertStringIncludes(told.words, `"${name}" is`);
    await served.again();
  }
});
