/** The watch protocol, and lists that hang together over many pages. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { type TestApi, testApi } from "./support.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const all = "/api/v1/configmaps";

async function put(api: TestApi, name: string, data: string, labels: Record<string, string> = {}) {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data: { data } };
  const answer = await api.call("POST", maps, body);
  return answer.status === 201 ? answer : await api.call("PUT", `${maps}/${name}`, body);
}

const named = (answer: { body: { items: { metadata: { name: string } }[] } }) =>
  answer.body.items.map((item) => item.metadata.name);

Deno.test("a watch from a list's resourceVersion misses nothing and repeats nothing", async () => {
  await using api = await testApi();
  await put(api, "a", "1");
  const { body: list } = await api.call("GET", maps);
  await put(api, "b", "1");
  await put(api, "a", "2");
  await using watch = await api.watch(`${maps}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
  await api.call("DELETE", `${maps}/a`);
  const [b, a, gone] = [await watch.next(), await watch.next(), await watch.next()];
  assertEquals([b?.type, b?.object.metadata.name], ["ADDED", "b"]);
  assertEquals([a?.type, a?.object.data], ["MODIFIED", { data: "2" }]);
  assertEquals([gone?.type, gone?.object.data], ["DELETED", { data: "2" }]);
  const versions = [b, a, gone].map((event) => Number(event?.object.metadata.resourceVersion));
  assertEquals(versions, [api.store.revision - 2, api.store.revision - 1, api.store.revision]);
});

Deno.test("a watch without a resourceVersion starts with what there is", async () => {
  await using api = await testApi();
  await put(api, "b", "1");
  await put(api, "a", "1");
  for (const query of ["watch=true", "watch=true&resourceVersion=0"]) {
    await using watch = await api.watch(`${all}?${query}`);
    assertEquals(await watch.names(2), ["ADDED a", "ADDED b"]);
  }
});

Deno.test("sendInitialEvents ends the beginning with a bookmark", async () => {
  await using api = await testApi();
  await put(api, "a", "1");
  const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  await using watch = await api.watch(`${maps}?${query}`);
  assertEquals(await watch.names(1), ["ADDED a"]);
  const bookmark = await watch.next();
  assertEquals(bookmark, {
    type: "BOOKMARK",
    object: {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: {
        resourceVersion: String(api.store.revision),
        annotations: { "k8s.io/initial-events-end": "true" },
      },
    },
  });
  await put(api, "b", "1");
  assertEquals(await watch.names(1), ["ADDED b"]);
  const refused = await api.call("GET", `${maps}?watch=1&sendInitialEvents=true`);
  assertEquals(refused.status, 422);
  assertStringIncludes(
    refused.body.message,
    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
  );
});

Deno.test("an object that a selector starts or stops to match is added or deleted for its watch", async () => {
  await using api = await testApi();
  await put(api, "a", "1", { on: "yes" });
  await using watch = await api.watch(`${maps}?watch=1&labelSelector=on%3Dyes`);
  assertEquals(await watch.names(1), ["ADDED a"]);
  await put(api, "b", "1", { on: "no" });
  await put(api, "a", "2", { on: "no" });
  await put(api, "b", "2", { on: "yes" });
  await put(api, "b", "3", { on: "yes" });
  const left = await watch.next();
  assertEquals([left?.type, left?.object.data.data], ["DELETED", "1"], "as it was last seen");
  assertEquals(
    left?.object.metadata.resourceVersion,
    String(api.store.revision - 2),
    "at the revision of its leaving",
  );
  assertEquals(await watch.names(2), ["ADDED b", "MODIFIED b"]);
});

Deno.test("watches of one name, by field and by the old path; of one namespace", async () => {
  await using api = await testApi();
  await using field = await api.watch(`${maps}?watch=1&fieldSelector=metadata.name%3Db`);
  await using path = await api.watch("/api/v1/watch/namespaces/default/configmaps/b");
  await using other = await api.watch("/api/v1/namespaces/kube-system/configmaps?watch=1");
  await put(api, "a", "1");
  await put(api, "b", "1");
  await api.call("POST", "/api/v1/namespaces/kube-system/configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c" },
  });
  assertEquals(await field.names(1), ["ADDED b"]);
  assertEquals(await path.names(1), ["ADDED b"]);
  assertEquals(await other.names(1), ["ADDED c"]);
});

Deno.test("a watch in another version and in other forms", async () => {
  await using api = await testApi();
  const routes = "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways";
  await using old = await api.watch("/apis/gateway.networking.k8s.io/v1beta1/gateways?watch=1");
  await using table = await api.watch(`${routes}?watch=1`, {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  });
  await using partial = await api.watch(`${routes}?watch=1`, {
    accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
  });
  await api.call("POST", routes, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name: "g" },
    spec: { gatewayClassName: "gc", listeners: [{ name: "a" }] },
  });
  assertEquals((await old.next())?.object.apiVersion, "gateway.networking.k8s.io/v1beta1");
  const row = await table.next();
  assertEquals([row?.type, row?.object.kind], ["ADDED", "Table"]);
  assertEquals(row?.object.rows[0].cells.slice(0, 3), ["g", "gc", null]);
  assertEquals(row?.object.rows[0].object.kind, "PartialObjectMetadata");
  const metadata = await partial.next();
  assertEquals(metadata?.object.kind, "PartialObjectMetadata");
  assertEquals(metadata?.object.spec, undefined);
});

Deno.test("a revision that is forgotten: 410 in the stream of a watch, and for the next page of a list", async () => {
  await using api = await testApi({ history: { historyLength: 10 } });
  for (const name of ["a", "b", "c"]) await put(api, name, "0");
  const { body: first } = await api.call("GET", `${maps}?limit=1`);
  for (let i = 1; i < 30; i++) await put(api, "a", String(i));
  assert(api.store.compacted > 3 && api.store.compacted < api.store.revision);
  await using watch = await api.watch(`${maps}?watch=1&resourceVersion=5`);
  const error = await watch.next();
  assertEquals(error?.type, "ERROR");
  assertEquals([error?.object.kind, error?.object.code, error?.object.reason], ["Status", 410, "Expired"]);
  assertStringIncludes(error?.object.message, "too old resource version: 5");
  assertEquals(await watch.next(), undefined);
  const next = await api.call("GET", `${maps}?limit=1&continue=${first.metadata.continue}`);
  assertEquals([next.status, next.body.reason], [410, "Expired"]);
  assertEquals((await api.call("GET", `${maps}?resourceVersion=3&resourceVersionMatch=Exact`)).status, 410);
});

Deno.test("a watcher that falls behind what is remembered is told so, and costs nothing meanwhile", async () => {
  await using api = await testApi({ history: { historyLength: 10 } });
  await put(api, "a", "0");
  await using watch = await api.watch(`${maps}?watch=1`);
  assertEquals(await watch.names(1), ["ADDED a"]);
  for (let i = 1; i < 40; i++) await put(api, "a", String(i));
  const types = new Set<string>();
  for (let event = await watch.next(); event; event = await watch.next()) types.add(event.type);
  assert(types.has("ERROR"));
});

Deno.test("a revision that is yet to come: 504", async () => {
  await using api = await testApi();
  for (const query of ["watch=1&resourceVersion=999", "resourceVersion=999"]) {
    const { status, body } = await api.call("GET", `${maps}?${query}`);
    assertEquals([status, body.reason], [504, "Timeout"]);
    assertStringIncludes(body.message, "Too large resource version: 999");
    assertEquals(body.details.causes[0].reason, "ResourceVersionTooLarge");
  }
});

/** Time that passes when a test says so. */
function handClock(): Clock & { pass(ms: number): void } {
  let time = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    ...systemClock,
    monotonic: () => time,
    timer(ms, run) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return { [Symbol.dispose]: () => void timers.delete(timer) };
    },
    pass(ms) {
      time += ms;
      for (const timer of timers) {
        if (timer.at > time) continue;
        timers.delete(timer);
        timer.run();
      }
    },
  };
}

Deno.test("bookmarks come every minute and before the end; timeoutSeconds ends a watch", async () => {
  const clock = handClock();
  await using api = await testApi({ clock });
  await using watch = await api.watch(
    `${maps}?watch=1&resourceVersion=${api.store.revision}&allowWatchBookmarks=true&timeoutSeconds=90`,
  );
  await using plain = await api.watch(
    `${maps}?watch=1&resourceVersion=${api.store.revision}&timeoutSeconds=90`,
  );
  const [first, end] = [watch.next(), plain.next()];
  await new Promise((resolve) => setTimeout(resolve, 0)); // both are waiting now
  await api.call("POST", "/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "x" },
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  clock.pass(60_000);
  const bookmark = await first;
  assertEquals(bookmark?.type, "BOOKMARK");
  assertEquals(
    bookmark?.object.metadata.resourceVersion,
    String(api.store.revision),
    "moves on with other kinds",
  );
  const last = watch.next();
  await new Promise((resolve) => setTimeout(resolve, 0));
  clock.pass(30_000);
  assertEquals((await last)?.type, "BOOKMARK");
  assertEquals(await watch.next(), undefined);
  assertEquals(await end, undefined);
});

Deno.test("pages of a list show one state, whatever happens in between", async () => {
  await using api = await testApi();
  for (const name of ["a", "b", "c", "d", "e"]) await put(api, name, "1");
  const first = await api.call("GET", `${maps}?limit=2`);
  assertEquals(named(first), ["a", "b"]);
  assertEquals(first.body.metadata.remainingItemCount, 3);
  await api.call("DELETE", `${maps}/c`);
  await put(api, "d", "2");
  await put(api, "bb", "1");
  const second = await api.call("GET", `${maps}?limit=2&continue=${first.body.metadata.continue}`);
  assertEquals(named(second), ["c", "d"]);
  assertEquals(second.body.items[1].data.data, "1");
  assertEquals(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
  const third = await api.call("GET", `${maps}?limit=2&continue=${second.body.metadata.continue}`);
  assertEquals(named(third), ["e"]);
  assertEquals(third.body.metadata.continue, undefined);
  assertEquals(named(await api.call("GET", maps)), ["a", "b", "bb", "d", "e"]);
  const exact = `resourceVersion=${first.body.metadata.resourceVersion}&resourceVersionMatch=Exact`;
  assertEquals(named(await api.call("GET", `${maps}?${exact}`)), ["a", "b", "c", "d", "e"]);
  assertEquals((await api.call("GET", `${maps}?continue=nonsense`)).status, 400);
});

Deno.test("label and field selectors", async () => {
  await using api = await testApi();
  await put(api, "a", "1", { app: "x", tier: "1" });
  await put(api, "b", "1", { app: "y", tier: "10" });
  await put(api, "c", "1", {});
  const select = async (query: string) => named(await api.call("GET", `${maps}?${query}`));
  const labels = (selector: string) => select(`labelSelector=${encodeURIComponent(selector)}`);
  assertEquals(await labels("app=x"), ["a"]);
  assertEquals(await labels("app==x"), ["a"]);
  assertEquals(await labels("app!=x"), ["b", "c"], "absent labels differ, too");
  assertEquals(await labels("app in (x, y)"), ["a", "b"]);
  assertEquals(await labels("app notin (x)"), ["b", "c"]);
  assertEquals(await labels("app"), ["a", "b"]);
  assertEquals(await labels("!app"), ["c"]);
  assertEquals(await labels("app,tier>2"), ["b"]);
  assertEquals(await labels("tier<2"), ["a"]);
  assertEquals(await labels("app in (x,y),tier!=1"), ["b"]);
  assertEquals(await select("fieldSelector=metadata.name%3Db"), ["b"]);
  assertEquals(await select("fieldSelector=metadata.name!%3Db,metadata.namespace%3Ddefault"), ["a", "c"]);
  for (const bad of ["a in", "=x", "a in (b", "a=b=c", "a b", "!", "-a=b", "a=b,"]) {
    const { status, body } = await api.call("GET", `${maps}?labelSelector=${encodeURIComponent(bad)}`);
    assertEquals([status, body.reason], [400, "BadRequest"], bad);
  }
  const field = await api.call("GET", `${maps}?fieldSelector=spec.x%3D1`);
  assertEquals(field.status, 400);
  assertStringIncludes(field.body.message, '"spec.x" is not a known field selector: only "metadata.name", ');
  const custom = await api.call(
    "GET",
    "/apis/gateway.networking.k8s.io/v1/gateways?fieldSelector=spec.x%3D1",
  );
  assertEquals(custom.body.message, "field label not supported: spec.x");
});

Deno.test("10,000 objects are listed in pieces", async () => {
  await using api = await testApi();
  for (let i = 0; i < 100; i++) {
    await api.store.write((tx) => {
      for (let j = 0; j < 100; j++) {
        tx.put("configmaps", {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: `m${i}-${j}`, namespace: "default", uid: `${i}-${j}` },
        });
      }
    });
  }
  const response = await api.app.request(all, {}, { identity: { user: "u", groups: ["system:masters"] } });
  let pieces = 0;
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    pieces++;
    text += piece;
  }
  assertEquals(JSON.parse(text).items.length, 10_000);
  assert(pieces >= 10, `${pieces} pieces`);
});

Deno.test("watches share the bytes of an event", async () => {
  await using api = await testApi();
  const open = async (query: string) => {
    const response = await api.app.request(
      `${maps}?watch=1&resourceVersion=${api.store.revision}${query}`,
      {},
      { identity: { user: "u", groups: ["system:masters"] } },
    );
    return response.body!.getReader();
  };
  const readers = [await open(""), await open("&labelSelector=a%3Db"), await open("&timeoutSeconds=100")];
  const reads = readers.map((reader) => reader.read());
  await put(api, "a", "1", { a: "b" });
  const [first, ...others] = (await Promise.all(reads)).map(({ value }) => value);
  assert(first && others.every((bytes) => bytes === first), "the same array, not an equal one");
  for (const reader of readers) await reader.cancel();
});
