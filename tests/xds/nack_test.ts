/**
 * What Envoy refuses does no harm to anything else, and whoever wrote it is told in Envoy's words.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { ask, backend, load } from "./support/http.ts";
import { anyPath, endpointsOf, forward } from "./support/ir.ts";
import { gateway, type Mini, type MiniRoute } from "./support/mini.ts";
import { miniRig } from "./support/rig.ts";
import { freePort } from "../support/free_port.ts";

/** A regular expression that no compiler takes. */
const bad = {
  match: { ...anyPath, path: { type: "regex" as const, value: "/(" } },
  action: forward("a/b/80"),
};

const origin = (i: number) => `HTTPRoute/default/r${i}`, host = (i: number) => `r${i}.example.com`;

function good(i: number, generation = 1): MiniRoute {
  return { hostname: host(i), generation, rules: [{ action: forward("a/b/80") }] };
}

/** What all tests start from: a listener and a cluster. */
function furnish({ listeners, clusters, endpoints, proxies }: Mini, port: number, backend: number): void {
  const name = `${gateway}/${port}`;
  listeners.set(name, { gateway, name, addresses: ["127.0.0.1"], port, protocol: "http", routes: name });
  clusters.set("a/b/80", { name: "a/b/80", protocol: "http1" });
  endpoints.set("a/b/80", endpointsOf("a/b/80", backend));
  proxies.set(gateway, [{ id: "proxy" }]);
}

Deno.test("a refused rule becomes a 500 with Envoy's text, its neighbours go on, and fixing it lifts the rejection", async () => {
  const port = freePort();
  await using rig = await miniRig(port);
  await using web = backend("web");
  const { mini } = rig;
  furnish(mini, port, web.port);
  for (let i = 0; i < 8; i++) mini.routes.set(origin(i), good(i));
  rig.settle();
  await rig.envoy();
  const verdict = (i: number) => mini.verdicts.get(`${gateway}|${origin(i)}`);
  await rig.until(
    "all are programmed",
    () => [0, 1, 2, 3, 4, 5, 6, 7].every((i) => verdict(i)?.state === "programmed"),
  );

  // Four change in one settle, two of them for the worse.
  for (const i of [1, 2, 3, 4]) {
    mini.routes.set(origin(i), {
      ...good(i, 2),
      rules: [
        { ...good(i).rules[0]!, match: { ...anyPath, path: { type: "prefix", value: "/v2" } } },
        ...i % 2 ? [] : [bad],
      ],
    });
  }
  rig.settle();
  await rig.until(
    "verdicts on all four",
    () => [1, 2, 3, 4].every((i) => verdict(i)?.generation === 2 && verdict(i)?.state !== "pending"),
  );
  assertEquals([1, 2, 3, 4].map((i) => verdict(i)?.state), [
    "programmed",
    "rejected",
    "programmed",
    "rejected",
  ]);
  assertMatch(verdict(2)?.message ?? "", /missing \)/);
  assertEquals(verdict(0)?.state, "programmed");
  assertEquals((await ask(port, "/", { host: host(0) })).status, 200);
  assertEquals((await ask(port, "/v2", { host: host(1) })).status, 200);
  assertEquals((await ask(port, "/v2", { host: host(2) })).status, 200);
  assertEquals((await ask(port, "/other", { host: host(2) })).status, 500);

  mini.routes.set(origin(2), good(2, 3));
  rig.settle();
  await rig.until(
    "the fixed one is programmed",
    () => verdict(2)?.generation === 3 && verdict(2)?.state === "programmed",
  );
  assertEquals((await ask(port, "/other", { host: host(2) })).status, 200);
  assertEquals([...mini.rejections.entries()].map(([key]) => key), [`${gateway}|${origin(4)}/rule/1`]);
});

Deno.test("a new operator finds the culprit again, and the neighbours do not notice", async () => {
  const port = freePort();
  await using first = await miniRig(port);
  await using web = backend("web");
  const fill = ({ mini }: { readonly mini: Mini }) => {
    furnish(mini, port, web.port);
    for (let i = 0; i < 50; i++) mini.routes.set(origin(i), i === 7 ? { ...good(i), rules: [bad] } : good(i));
  };
  const judged = ({ mini }: { readonly mini: Mini }) => () => {
    const states = Array.from({ length: 50 }, (_, i) => mini.verdicts.get(`${gateway}|${origin(i)}`)?.state);
    return states.every((state, i) => state === (i === 7 ? "rejected" : "programmed"));
  };
  fill(first);
  first.settle();
  await first.envoy();
  await first.until("all are judged", judged(first));

  await using traffic = load(2, (turn) => ask(port, "/", { host: host([0, 3, 6, 8, 20, 49][turn % 6]!) }));
  await using second = await miniRig(port);
  fill(second);
  second.settle();
  await second.succeed(first);
  await second.until("all are judged again", judged(second));
  await traffic.more(2);
  await traffic.stop();
  assertEquals([...traffic.counts.keys()], [200]);
  assertEquals(Object.keys(Object.fromEntries(second.mini.rejections.entries())), [
    `${gateway}|${origin(7)}/rule/0`,
  ]);
});
