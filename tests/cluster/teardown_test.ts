/**
 * The end of Gateways, their classes, their namespaces and of the operator, in every order: a Gateway goes once its proxies serve
 * nothing of it, or after 30 seconds; what was made for it goes with it, and nothing is made again.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { gatewayExists, gatewayFinalizer } from "../../controllers/translate/finalizers.ts";
import { defaultConfig } from "../../controllers/translate/config.ts";
import { gatehouse, run } from "../support/command.ts";
import { type AuditEvent, type Cluster, type Json, startCluster } from "./support/cluster.ts";
import {
  available,
  denials,
  installGatehouse,
  operatorUser,
  replicasOf,
  system,
} from "./support/installation.ts";
import {
  askAdmin,
  backend,
  childrenIn,
  envoyOf,
  gatewayIn,
  gatewayPath,
  programmed,
  proxiesIn,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

const finalizer = gatewayFinalizer(defaultConfig.controllerName);
const classPath = (name: string) => `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${name}`;
/** How long what nobody has bounded may take on a busy machine, in seconds. */
const seconds = 90;

/** One Gateway for each way to go. */
const places = [
  "deprogrammed",
  "foreground",
  "ending",
  "routes-first",
  "gateway-first",
  "unreachable",
  "stopped",
  "break-glass",
  "crash",
  "class-first",
  "class-then-operator",
  "ending-alone",
  "operator-first",
] as const;

/** The classes of those whose class goes first. */
const classes: { readonly [place: string]: string } = {
  "class-first": "other",
  "class-then-operator": "third",
};

async function remove(cluster: Cluster, path: string): Promise<void> {
  await cluster.kube.performRequest({ method: "DELETE", path, expectJson: true });
}

async function patch(cluster: Cluster, path: string, operations: readonly object[]): Promise<void> {
  await cluster.kube.performRequest({
    method: "PATCH",
    path,
    contentType: "application/json-patch+json",
    bodyJson: operations as Json,
    expectJson: true,
  });
}

/** Waits until a Gateway is gone with all that was made for it, pods included. */
async function gone(cluster: Cluster, namespace: string): Promise<void> {
  await cluster.until(
    { what: `all of ${namespace}/web to go`, seconds },
    async () =>
      await cluster.get(gatewayPath(namespace)) === undefined &&
      Object.keys(await childrenIn(cluster, namespace)).length === 0 &&
      (await proxiesIn(cluster, namespace)).length === 0,
  );
}

/** The answered requests about Gateway `web` of a namespace and what is made for it, since its deletion was asked for. */
async function sinceDeletion(cluster: Cluster, namespace: string): Promise<readonly AuditEvent[]> {
  const { events } = await cluster.audit();
  const start = events.findIndex(({ verb, objectRef, requestURI }) =>
    verb === "delete" &&
    (objectRef?.resource === "gateways" && objectRef.namespace === namespace ||
      requestURI.split("?")[0] === `/api/v1/namespaces/${namespace}`)
  );
  assert(start >= 0, `the deletion of ${namespace}/web is in the audit log`);
  return events.slice(start).filter(({ objectRef }) => objectRef?.namespace === namespace);
}

/** Whether the status of a pod has changed since the deletion, for so many milliseconds. */
async function podsChanged(cluster: Cluster, namespace: string, milliseconds: number): Promise<boolean> {
  const events = await sinceDeletion(cluster, namespace);
  const end = Date.parse(events[0]!.requestReceivedTimestamp) + milliseconds;
  return events.some(({ objectRef, requestReceivedTimestamp }) =>
    objectRef?.resource === "pods" && objectRef.subresource === "status" &&
    Date.parse(requestReceivedTimestamp) < end
  );
}

/** What the operator has made since the deletion, or later than `after` milliseconds; it should be nothing. */
async function madeSince(cluster: Cluster, namespace: string, after = 0): Promise<readonly string[]> {
  const events = await sinceDeletion(cluster, namespace);
  const start = Date.parse(events[0]!.requestReceivedTimestamp) + after;
  return events
    .filter(({ user, objectRef, responseStatus, requestReceivedTimestamp }) =>
      user.username === operatorUser && responseStatus?.code === 201 && objectRef?.resource !== "events" &&
      Date.parse(requestReceivedTimestamp) >= start
    )
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}

/** When the operator let go of the Gateway, in milliseconds after its deletion was asked for. */
async function letGoAfter(cluster: Cluster, namespace: string): Promise<number> {
  const events = await sinceDeletion(cluster, namespace);
  const release = events.find(({ user, verb, objectRef, responseStatus }) =>
    user.username === operatorUser && verb === "patch" && responseStatus?.code === 200 &&
    objectRef?.resource === "gateways" && objectRef.subresource === undefined
  );
  assert(release, `the operator let go of ${namespace}/web`);
  return Date.parse(release.stageTimestamp) - Date.parse(events[0]!.requestReceivedTimestamp);
}

/** Has no replica of the operator run. */
async function stop(cluster: Cluster): Promise<void> {
  await cluster.kubectl("scale", `--namespace=${system}`, "deployment/gatehouse", "--replicas=0");
  await cluster.until(
    { what: "the operator to go", seconds },
    async () => (await cluster.get(`/api/v1/namespaces/${system}/pods`)).items.length === 0,
  );
}

/** Keeps a pod from reaching any xDS server, in the middle of a connection too; its traffic goes on. */
async function cutFromXds(cluster: Cluster, pod: Json): Promise<void> {
  const rules = "table inet cut { chain out { type filter hook output priority 0; tcp dport 18000 drop; }; }";
  const { code, err } = await cluster.exec(["nft", "--file", "-"], { pod, input: rules });
  assertEquals(code, 0, err);
}

Deno.test("Gateways go, in every order", async (t) => {
  await using cluster = await startCluster();
  await installGatehouse(cluster);
  await cluster.apply([
    ...backend,
    ...Object.values(classes).map((name) => ({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name },
      spec: { controllerName: defaultConfig.controllerName },
    })),
    ...places.flatMap((place) => [
      ...gatewayIn(place, {
        className: classes[place] ?? "gatehouse",
        proxies: place === "unreachable" ? 2 : 1,
      }),
      routeTo(place, place),
    ]),
  ]);
  const addresses = Object.fromEntries(
    await Promise.all(places.map(async (place) => [place, await programmed(cluster, place)] as const)),
  ) as { readonly [place in typeof places[number]]: string };
  await cluster.until({ what: "all of them to serve", seconds }, async () => {
    const statuses = await Promise.all(Object.values(addresses).map((address) => statusOf(cluster, address)));
    return statuses.every((status) => status === 200);
  });

  // What takes its time begins first.
  const [unreachable, stopped] = await Promise.all(
    ["unreachable", "stopped"].map(async (place) => (await proxiesIn(cluster, place))[0]),
  );
  await cutFromXds(cluster, unreachable);
  await cluster.signal(envoyOf(stopped), "STOP");
  await remove(cluster, gatewayPath("unreachable"));
  await remove(cluster, gatewayPath("stopped"));

  await t.step("a Gateway is kept until its proxies have said that they have nothing of it", async () => {
    const place = "deprogrammed", hold = "example.com/hold";
    const [pod] = await proxiesIn(cluster, place);
    await patch(cluster, gatewayPath(place), [
      { op: "add", path: "/metadata/finalizers/-", value: hold },
    ]);
    await cluster.signal(envoyOf(pod), "STOP");
    await remove(cluster, gatewayPath(place));
    await new Promise((resolve) => setTimeout(resolve, 3000)); // in which nothing may happen
    const kept = await cluster.get(gatewayPath(place));
    assert(kept.metadata.finalizers.includes(finalizer), "its proxy has not answered");
    await cluster.signal(envoyOf(pod), "CONT");
    await cluster.until({ what: "it to be let go", seconds }, async () => {
      const { metadata } = await cluster.get(gatewayPath(place));
      return !metadata.finalizers.includes(finalizer);
    });
    const dump = JSON.parse((await askAdmin(cluster, pod, "/config_dump?resource=dynamic_listeners"))!);
    const active = (dump.configs ?? []).filter((listener: Json) => listener.active_state);
    assertEquals(active.map(({ name }: Json) => name), [], "no listener but for what is being drained");
    assertEquals(await statusOf(cluster, addresses[place]), 0, "and no answer");
    assert(await letGoAfter(cluster, place) > 3000);
    assert((await letGoAfter(cluster, place)) < 30_000, "it was not the time that did it");

    // Somebody else keeps it: what was made stays, and what goes all the same is not made again.
    const there = Object.keys(await childrenIn(cluster, place)).sort();
    assertEquals(there.map((name) => name.split("/")[0]), [
      "ConfigMap",
      "Deployment",
      "PodDisruptionBudget",
      "Service",
      "ServiceAccount",
    ]);
    await cluster.kubectl("delete", "service", `--namespace=${place}`, "--all");
    await patch(cluster, gatewayPath(place), [
      { op: "test", path: "/metadata/finalizers", value: [hold] },
      { op: "remove", path: "/metadata/finalizers/0" },
    ]);
    await gone(cluster, place);
    assertEquals(await madeSince(cluster, place), []);
  });

  await t.step("one that is deleted in the foreground goes after its objects", async () => {
    const place = "foreground";
    await cluster.kubectl(
      "delete",
      "gateway",
      "web",
      `--namespace=${place}`,
      "--cascade=foreground",
      "--wait=false",
    );
    await gone(cluster, place);
    // That an object goes may be heard before the reason, since kinds are watched apart; what is made then goes as well.
    assertEquals(await madeSince(cluster, place, 2000), []);
    assert(await letGoAfter(cluster, place) < 30_000);
  });

  await t.step("it goes with its namespace", async () => {
    const place = "ending";
    await remove(cluster, `/api/v1/namespaces/${place}`);
    await cluster.until(
      { what: "the namespace to go", seconds },
      async () => await cluster.get(`/api/v1/namespaces/${place}`) === undefined,
    );
    assertEquals(await madeSince(cluster, place), []);
  });

  await t.step("routes first: the Gateway stays and answers 404; then it goes", async () => {
    const place = "routes-first";
    await remove(cluster, routePath(place));
    await cluster.until(
      { what: "404", seconds },
      async () => await statusOf(cluster, addresses[place]) === 404,
    );
    await cluster.until(
      { what: "no attached routes", seconds },
      async () => (await cluster.get(gatewayPath(place))).status.listeners[0].attachedRoutes === 0,
    );
    await remove(cluster, gatewayPath(place));
    await gone(cluster, place);
  });

  await t.step("the Gateway first: routes stay, and say nothing of it", async () => {
    const place = "gateway-first";
    assertEquals((await cluster.get(routePath(place))).status.parents.length, 1);
    await remove(cluster, gatewayPath(place));
    await gone(cluster, place);
    await cluster.until(
      { what: "the route's status to say nothing of it", seconds },
      async () => (await cluster.get(routePath(place))).status.parents.length === 0,
    );
  });

  await t.step("a class stays as long as there is a Gateway of it, which serves", async () => {
    const place = "class-first";
    await remove(cluster, classPath("other"));
    const { metadata } = await cluster.get(classPath("other"));
    assert(metadata.deletionTimestamp !== undefined);
    assertEquals(metadata.finalizers, [gatewayExists]);
    assertEquals(await statusOf(cluster, addresses[place]), 200);
    await remove(cluster, gatewayPath(place));
    await gone(cluster, place);
    await cluster.until(
      { what: "the class to go", seconds },
      async () => await cluster.get(classPath("other")) === undefined,
    );
    assertEquals(await madeSince(cluster, place), []);
  });

  await t.step("a Gateway that is deleted as soon as it was made leaves nothing behind", async () => {
    const place = "brief";
    const [namespace, fleet, gateway] = gatewayIn(place);
    await cluster.apply([namespace, fleet]);
    for (let i = 0; i < 3; i++) {
      await cluster.apply([gateway]);
      // One before anything was made for it, the next in the midst of that.
      if (i > 0) {
        await cluster.until(
          { what: "some of its objects", seconds },
          async () => Object.keys(await childrenIn(cluster, place)).length >= i,
        );
      }
      await remove(cluster, gatewayPath(place));
      await cluster.until(
        { what: "it to go", seconds },
        async () => await cluster.get(gatewayPath(place)) === undefined,
      );
    }
    await gone(cluster, place);
  });

  await t.step(
    "with one of its two proxies out of reach it is let go after 30 seconds, and an Event warns",
    async () => {
      const place = "unreachable";
      await gone(cluster, place);
      const after = await letGoAfter(cluster, place);
      assert(after < 33_000, `let go after ${after} ms`);
      assertEquals(await madeSince(cluster, place), []);
      // On a busy machine a pod may fail its probes meanwhile, and then nobody waits for it.
      if (await podsChanged(cluster, place, after)) return;
      assert(after > 29_000, `let go after ${after} ms`);
      const event = await cluster.until({ what: "the Event", seconds }, async () => {
        const { items } = await cluster.get(`/apis/events.k8s.io/v1/namespaces/${place}/events`);
        return items.find(({ reason }: Json) => reason === "TeardownTimedOut");
      });
      assertEquals([event.type, event.regarding.kind, event.regarding.name], ["Warning", "Gateway", "web"]);
      assertStringIncludes(event.note, "proxies may still serve it: 1 of 2 proxies have not answered");
    },
  );

  await t.step("with its proxies stopped it takes no longer", async () => {
    const place = "stopped";
    await gone(cluster, place);
    const after = await letGoAfter(cluster, place);
    assert(after < 33_000, `let go after ${after} ms`);
  });

  await t.step("an annotation lets it go without waiting", async () => {
    const place = "break-glass";
    await cutFromXds(cluster, (await proxiesIn(cluster, place))[0]);
    await remove(cluster, gatewayPath(place));
    const { metadata } = await cluster.get(gatewayPath(place));
    assert(metadata.finalizers.includes(finalizer));
    await cluster.kubectl(
      "annotate",
      "gateway",
      "web",
      `--namespace=${place}`,
      "gatehouse.dev/skip-teardown=true",
    );
    await gone(cluster, place);
    const after = await letGoAfter(cluster, place);
    assert(after < 20_000, `let go after ${after} ms`);
  });

  await t.step("replicas that are killed in the middle of it finish it when they are back", async () => {
    const place = "crash";
    const [pod] = await proxiesIn(cluster, place);
    await cluster.signal(envoyOf(pod), "STOP");
    await remove(cluster, gatewayPath(place));
    await Promise.all((await replicasOf(cluster)).map((replica) => cluster.signal(envoyOf(replica), "KILL")));
    await cluster.signal(envoyOf(pod), "CONT");
    await gone(cluster, place);
    assertEquals(await madeSince(cluster, place), []);
    await available(cluster);
  });

  await t.step(
    "a class, then the operator, then its Gateway and a namespace: all go once it is back",
    async () => {
      const place = "class-then-operator", namespace = "/api/v1/namespaces/ending-alone";
      await remove(cluster, classPath("third"));
      await stop(cluster);
      await remove(cluster, gatewayPath(place));
      await remove(cluster, namespace);
      await cluster.until(
        { what: "all but the Gateway to go from the namespace", seconds },
        async () =>
          Object.keys(await childrenIn(cluster, "ending-alone")).length === 0 &&
          (await proxiesIn(cluster, "ending-alone")).length === 0,
      );
      for (const path of [gatewayPath(place), gatewayPath("ending-alone"), classPath("third")]) {
        assert((await cluster.get(path)).metadata.deletionTimestamp !== undefined, `${path} waits`);
      }
      assertEquals(await statusOf(cluster, addresses[place]), 200, "its proxies serve what they have");
      await cluster.kubectl("scale", `--namespace=${system}`, "deployment/gatehouse", "--replicas=1");
      await available(cluster);
      await gone(cluster, place);
      await cluster.until(
        { what: "the class and the namespace to go", seconds },
        async () =>
          await cluster.get(classPath("third")) === undefined && await cluster.get(namespace) === undefined,
      );
      for (const gone of [place, "ending-alone"]) assertEquals(await madeSince(cluster, gone), []);
    },
  );

  await t.step("with the operator gone first, remove-finalizers lets all of it go", async () => {
    const place = "operator-first";
    const denied = denials((await cluster.audit()).events);
    // What happened to a Gateway cannot be told in a namespace that ends.
    assertEquals(denied.filter((request) => !/\/namespaces\/ending(-alone)?\/events/.test(request)), []);
    await stop(cluster);
    await remove(cluster, gatewayPath(place));
    await remove(cluster, classPath("gatehouse"));
    assert((await cluster.get(gatewayPath(place))).metadata.deletionTimestamp !== undefined);
    assertEquals(await statusOf(cluster, addresses[place]), 200, "its proxies serve what they have");
    const command = gatehouse("remove-finalizers", "--all", `--kubeconfig=${cluster.kubeconfig}`);
    assertEquals(await run(command), {
      code: 0,
      out: `gateway/web in ${place} let go\ngatewayclass/gatehouse let go\n`,
      err: "",
    });
    await gone(cluster, place);
    assertEquals(await cluster.get(classPath("gatehouse")), undefined);
  });

  await t.step("nothing is left", async () => {
    const { items } = await cluster.get(
      "/api/v1/pods?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dgatehouse",
    );
    assertEquals(items.map(({ metadata }: Json) => metadata.name), []);
  });
});
