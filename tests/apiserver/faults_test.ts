/** Each fault, as a client sees it; switched on and off while the server runs. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Fault, Faults } from "../../standalone/apiserver/faults.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { type TestApi, testApi } from "./support.ts";

const maps = "/api/v1/namespaces/default/configmaps";

async function put(api: TestApi, name: string, value = "") {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } };
  const made = await api.call("POST", maps, body);
  return made.status === 201 ? made : await api.call("PUT", `${maps}/${name}`, body);
}

Deno.test("expire: a watch that is under way gets 410", async () => {
  await using api = await testApi();
  await using watch = await api.watch(`${maps}?watch=1&resourceVersion=${api.store.revision}`);
  const next = watch.next();
  api.faults.add({ kind: "expire", resource: "configmaps", times: 1 });
  const error = await next;
  assertEquals([error?.type, error?.object.code, error?.object.reason], ["ERROR", 410, "Expired"]);
  assertEquals(await watch.next(), undefined);
  assertEquals(api.faults.struck.get("expire"), 1);
});

Deno.test("cut: a watch breaks off in the middle of a line", async () => {
  await using api = await testApi();
  const watch = await api.watch(`${maps}?watch=1`);
  await put(api, "a");
  assertEquals(await watch.names(1), ["ADDED a"]);
  api.faults.add({ kind: "cut", times: 1 });
  await assertRejects(() => watch.next());
  await using after = await api.watch(`${maps}?watch=1`);
  assertEquals(await after.names(1), ["ADDED a"]);
});

Deno.test("drop and duplicate: some events are missed, others come twice", async () => {
  await using api = await testApi();
  await using watch = await api.watch(`${maps}?watch=1&resourceVersion=${api.store.revision}`);
  api.faults.add({ kind: "drop", resource: "configmaps", times: 1 });
  await put(api, "a");
  await put(api, "b");
  assertEquals(await watch.names(1), ["ADDED b"]);
  using _ = api.faults.add({ kind: "duplicate", resource: "configmaps" });
  await put(api, "c");
  assertEquals(await watch.names(2), ["ADDED c", "ADDED c"]);
});

Deno.test("merge: of each object only the last event is told, with the type that fits", async () => {
  let release = () => {};
  const clock = {
    ...systemClock,
    sleep: (ms: number, options?: { signal?: AbortSignal }) =>
      ms === 50
        ? new Promise<void>((resolve, reject) => {
          release = resolve;
          options?.signal?.addEventListener("abort", () => reject(options.signal?.reason));
        })
        : systemClock.sleep(ms, options),
  };
  await using api = await testApi({ clock });
  await put(api, "old");
  await put(api, "going");
  await using watch = await api.watch(`${maps}?watch=1&resourceVersion=${api.store.revision}`);
  api.faults.add({ kind: "merge", times: 1 });
  const next = watch.names(3);
  await put(api, "new", "1"); // the watch wakes up and waits for more
  await put(api, "new", "2");
  await put(api, "old", "2");
  await put(api, "old", "3");
  await put(api, "passing");
  await api.call("DELETE", `${maps}/passing`);
  await api.call("DELETE", `${maps}/going`);
  release();
  assertEquals(await next, ["ADDED new", "MODIFIED old", "DELETED going"]);
});

Deno.test("stale: reads lag behind", async () => {
  await using api = await testApi();
  await put(api, "a", "1");
  await put(api, "a", "2");
  using _ = api.faults.add({ kind: "stale", resource: "configmaps" });
  assertEquals((await api.call("GET", `${maps}/a`)).body.data.value, "1");
  const { body } = await api.call("GET", maps);
  assertEquals(body.items[0].data.value, "1");
  assertEquals(body.metadata.resourceVersion, String(api.store.revision - 1));
  api.faults.clear();
  assertEquals((await api.call("GET", `${maps}/a`)).body.data.value, "2");
});

Deno.test("conflict and throttle: writes are refused, anything is, for as long as it was asked for", async () => {
  await using api = await testApi();
  await put(api, "a");
  api.faults.add({ kind: "conflict", times: 2 });
  for (const method of ["PATCH", "DELETE"]) {
    const { status, body } = await api.call(method, `${maps}/a`, method === "PATCH" ? {} : undefined);
    assertEquals([status, body.reason], [409, "Conflict"]);
  }
  assertEquals((await api.call("PATCH", `${maps}/a`, {})).status, 200);
  api.faults.add({ kind: "throttle", seconds: 3, times: 1 });
  const { status, headers, body } = await api.call("GET", maps);
  assertEquals([status, headers.get("retry-after"), body.reason], [429, "3", "TooManyRequests"]);
  assertEquals(body.details.retryAfterSeconds, 3);
  assertEquals((await api.call("GET", maps)).status, 200);
});

Deno.test("latency: a request waits first", async () => {
  const waits: number[] = [];
  const clock = {
    ...systemClock,
    sleep: (ms: number, options?: { signal?: AbortSignal }) => {
      if (ms !== 700) return systemClock.sleep(ms, options);
      waits.push(ms);
      return Promise.resolve();
    },
  };
  await using api = await testApi({
    clock,
    faults: [{ kind: "latency", milliseconds: 700, resource: "configmaps" }],
  });
  await api.call("GET", maps);
  await api.call("GET", "/api/v1/services");
  assertEquals(waits, [700]);
});

Deno.test("faults strike at the rate that was asked for, on the resource that was named", () => {
  const numbers = [0.1, 0.9, 0.4, 0.6];
  let next = 0;
  const faults = new Faults([], { random: () => numbers[next++ % numbers.length]! });
  const fault: Fault = { kind: "conflict", rate: 0.5, resource: "services" };
  using _ = faults.add(fault);
  assertEquals(Array.from({ length: 4 }, () => faults.conflicts("services")), [true, false, true, false]);
  assertEquals(faults.conflicts("configmaps"), false);
  assert(next === 4, "no number is spent on other resources");
});

Deno.test("faults can be switched over HTTP, if that was asked for", async () => {
  await using api = await testApi({ debug: true });
  const refused = await api.call("POST", "/debug/faults", [{ kind: "explode" }]);
  assertEquals([refused.status, refused.body.reason], [400, "BadRequest"]);
  assertEquals((await api.call("POST", "/debug/faults", [{ kind: "throttle", seconds: 2 }])).status, 204);
  assertEquals((await api.call("GET", maps)).status, 429);
  assertEquals((await api.call("DELETE", "/debug/faults")).status, 204);
  assertEquals((await api.call("GET", maps)).status, 200);
  assertEquals((await api.call("GET", "/debug/faults")).body, { throttle: 1 });
  const guest = await api.app.request("/debug/faults", {}, { identity: { user: "guest", groups: [] } });
  assertEquals(guest.status, 403);
  await using closed = await testApi();
  assertEquals((await closed.call("GET", "/debug/faults")).status, 404);
});
