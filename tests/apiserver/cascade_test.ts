/** What goes when something else goes: owners and dependents, namespaces and their contents, events and their hour. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { type TestApi, testApi } from "./support.ts";

const maps = "/api/v1/namespaces/default/configmaps";

interface Owner {
  readonly name: string;
  readonly uid?: string;
  readonly block?: boolean;
}

async function make(
  api: TestApi,
  name: string,
  owners: readonly Owner[] = [],
  finalizers: readonly string[] = [],
) {
  const uid = (owner: Owner) =>
    owner.uid ?? api.store.get("configmaps", `default/${owner.name}`)?.object.metadata.uid;
  const { status, body } = await api.call("POST", maps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      finalizers,
      ownerReferences: owners.map((owner) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        name: owner.name,
        uid: uid(owner),
        blockOwnerDeletion: owner.block ?? false,
      })),
    },
  });
  assertEquals(status, 201, JSON.stringify(body));
  return body;
}

const there = (api: TestApi) =>
  api.store.rows("configmaps", "default").map((row) => row.object.metadata.name);
const get = (api: TestApi, name: string) => api.store.get("configmaps", `default/${name}`)?.object.metadata;

/** Order in which objects disappeared. */
const departures = (api: TestApi) =>
  api.store.eventsAfter(api.store.compacted).filter((event) => event.type === "DELETED").map((event) =>
    event.row.object.metadata.name
  );

Deno.test("background: the owner goes at once, dependents follow, theirs too", async () => {
  await using api = await testApi();
  await make(api, "owner");
  await make(api, "child", [{ name: "owner" }]);
  await make(api, "grandchild", [{ name: "child" }]);
  await make(api, "stranger");
  const { body } = await api.call("DELETE", `${maps}/owner?propagationPolicy=Background`);
  assertEquals(body.status, "Success");
  await api.until(() => there(api).length === 1);
  assertEquals(there(api), ["stranger"]);
  assertEquals(departures(api), ["owner", "child", "grandchild"]);
});

Deno.test("foreground: the owner waits for the dependents that block it", async () => {
  await using api = await testApi();
  await make(api, "owner");
  await make(api, "child", [{ name: "owner", block: true }], ["a.b/hold"]);
  await make(api, "grandchild", [{ name: "child", block: true }]);
  const { body } = await api.call("DELETE", `${maps}/owner`, {
    kind: "DeleteOptions",
    propagationPolicy: "Foreground",
  });
  assertEquals(body.metadata.finalizers, ["foregroundDeletion"]);
  await api.until(() => get(api, "grandchild") === undefined);
  await api.until(() => !get(api, "child")?.finalizers?.includes("foregroundDeletion"));
  assertEquals(there(api), ["child", "owner"], "both wait for the finalizer of the child");
  assert(get(api, "child")?.deletionTimestamp);
  await api.call("PATCH", `${maps}/child`, { metadata: { finalizers: null } });
  await api.until(() => there(api).length === 0);
  assertEquals(departures(api), ["grandchild", "child", "owner"]);
});

Deno.test("foreground: dependents that do not block go as well, but are not waited for", async () => {
  await using api = await testApi();
  await make(api, "owner");
  await make(api, "child", [{ name: "owner", block: false }]);
  await api.call("DELETE", `${maps}/owner?propagationPolicy=Foreground`);
  await api.until(() => there(api).length === 0);
  assertEquals(departures(api), ["owner", "child"]);
});

Deno.test("orphan: dependents stay, without the reference", async () => {
  await using api = await testApi();
  await make(api, "owner");
  await make(api, "child", [{ name: "owner" }]);
  await api.call("DELETE", `${maps}/owner?propagationPolicy=Orphan`);
  await api.until(() => get(api, "owner") === undefined);
  assertEquals(get(api, "child")?.ownerReferences, undefined);
});

Deno.test("a dependent with another owner stays, and loses the reference to the one that is gone", async () => {
  await using api = await testApi();
  await make(api, "a");
  await make(api, "b");
  await make(api, "child", [{ name: "a" }, { name: "b" }]);
  await api.call("DELETE", `${maps}/a`);
  await api.until(() => get(api, "child")?.ownerReferences?.length === 1);
  assertEquals(get(api, "child")?.ownerReferences?.[0]?.name, "b");
  await api.call("DELETE", `${maps}/b`);
  await api.until(() => get(api, "child") === undefined);
});

Deno.test("an owner that never was, or is another object of that name, is no owner", async () => {
  await using api = await testApi();
  await make(api, "same");
  await make(api, "a", [{ name: "nobody", uid: "1" }]);
  await make(api, "b", [{ name: "same", uid: "not-its-uid" }]);
  await api.until(() => there(api).length === 1);
  assertEquals(there(api), ["same"]);
});

Deno.test("owners of kinds that are not served here are taken to be alive", async () => {
  await using api = await testApi();
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "1" };
  await api.call("POST", maps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m", ownerReferences: [owner] },
  });
  await make(api, "probe", [{ name: "nobody", uid: "1" }]);
  await api.until(() => get(api, "probe") === undefined); // so the collector has looked at both
  assertEquals(there(api), ["m"]);
});

Deno.test("a cascade that was interrupted goes on after a restart", async () => {
  const path = await Deno.makeTempFile();
  {
    await using api = await testApi({ path });
    await make(api, "owner");
    await make(api, "child", [{ name: "owner" }]);
    // A collector that never ran: the owner is taken out behind its back.
    api.stop();
    await api.join();
    await api.store.write((tx) => tx.delete("configmaps", "default/owner"));
    assertEquals(there(api), ["child"]);
  }
  await using api = await testApi({ path });
  await api.until(() => there(api).length === 0);
  await Deno.remove(path);
});

const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

Deno.test("a namespace is born active, with its name as a label and a finalizer", async () => {
  await using api = await testApi();
  const { body } = await api.call("POST", "/api/v1/namespaces", namespace("n"));
  assertEquals(body.spec, { finalizers: ["kubernetes"] });
  assertEquals(body.status, { phase: "Active" });
  assertEquals(body.metadata.labels, { "kubernetes.io/metadata.name": "n" });
  const { body: list } = await api.call("GET", "/api/v1/namespaces");
  assertEquals(list.items.map((item: { metadata: { name: string } }) => item.metadata.name), [
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "n",
  ]);
  const protectedOne = await api.call("DELETE", "/api/v1/namespaces/default");
  assertEquals([protectedOne.status, protectedOne.body.reason], [403, "Forbidden"]);
  assertEquals(
    protectedOne.body.message,
    'namespaces "default" is forbidden: this namespace may not be deleted',
  );
});

Deno.test("deleting a namespace empties it first; what holds it is said; nothing new gets in", async () => {
  await using api = await testApi();
  await api.call("POST", "/api/v1/namespaces", namespace("n"));
  const path = "/api/v1/namespaces/n/configmaps";
  const map = (name: string, finalizers: string[] = []) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, finalizers },
  });
  await api.call("POST", path, map("plain"));
  await api.call("POST", path, map("held", ["a.b/hold"]));
  const { body } = await api.call("DELETE", "/api/v1/namespaces/n");
  assertEquals([body.kind, body.status.phase], ["Namespace", "Terminating"]);
  await api.until(() => api.store.rows("configmaps", "n").length === 1);

  const late = await api.call("POST", path, map("late"));
  assertEquals([late.status, late.body.reason], [403, "Forbidden"]);
  assertEquals(
    late.body.message,
    'configmaps "late" is forbidden: unable to create new content in namespace n because it is being terminated',
  );
  assertEquals(late.body.details.causes[0].reason, "NamespaceTerminating");
  const conditions = () =>
    (api.store.get("namespaces", "n")?.object as unknown as {
      status: { conditions?: { type: string; message: string }[] };
    })
      .status.conditions;
  await api.until(() => conditions() !== undefined);
  assertEquals(conditions()?.map(({ type }) => type), [
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
  ]);
  assertStringIncludes(conditions()![1]!.message, "a.b/hold in 1 resource instances");

  await api.call("PATCH", `${path}/held`, { metadata: { finalizers: null } });
  await api.until(() => api.store.get("namespaces", "n") === undefined);
  assertEquals((await api.call("POST", path, map("late"))).status, 404);
  assertEquals(
    (await api.call("POST", "/api/v1/namespaces", namespace("n"))).status,
    201,
    "the name is free again",
  );
});

Deno.test("a namespace with many objects is emptied in portions", async () => {
  await using api = await testApi();
  await api.call("POST", "/api/v1/namespaces", namespace("n"));
  await api.store.write((tx) => {
    for (let i = 0; i < 350; i++) {
      tx.put("configmaps", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `m${i}`, namespace: "n", uid: String(i) },
      });
    }
  });
  await api.call("DELETE", "/api/v1/namespaces/n");
  await api.until(() => api.store.get("namespaces", "n") === undefined);
  assertEquals(api.store.rows("configmaps", "n").length, 0);
});

Deno.test("Events go after an hour", async () => {
  let now = Date.parse("2030-01-01T00:00:00Z");
  let wake = () => {};
  const clock = {
    ...systemClock,
    now: () => new Date(now),
    sleep: (_ms: number, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        wake = resolve;
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  await using api = await testApi({ clock });
  const events = "/api/v1/namespaces/default/events";
  const event = (name: string) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name },
    involvedObject: {},
    reason: "R",
  });
  await api.call("POST", events, event("old"));
  now += 59 * 60_000;
  await api.call("POST", events, event("young"));
  wake();
  await api.call("GET", events);
  assertEquals(api.store.rows("events").length, 2);
  now += 2 * 60_000;
  wake();
  await api.until(() => api.store.rows("events").length === 1);
  assertEquals(api.store.rows("events")[0]?.key, "default/young");
});

Deno.test("an Event of either group is seen in both", async () => {
  await using api = await testApi();
  const { status } = await api.call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "e" },
    regarding: { kind: "Gateway", name: "g" },
    note: "hello",
    reportingController: "c",
    reason: "R",
    type: "Normal",
  });
  assertEquals(status, 201);
  const query = "fieldSelector=involvedObject.name%3Dg,reportingComponent%3Dc";
  const { body } = await api.call("GET", `/api/v1/namespaces/default/events?${query}`);
  const { metadata: _, ...core } = body.items[0];
  assertEquals(core, { // the items of a list do not say what they are
    involvedObject: { kind: "Gateway", name: "g" },
    message: "hello",
    reportingComponent: "c",
    reason: "R",
    type: "Normal",
  });
  const other = await api.call("GET", "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dg");
  assertEquals(other.body.items[0].note, "hello");
  assertEquals(other.body.kind, "EventList");
});
