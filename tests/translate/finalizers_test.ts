/**
 * Which finalizers are due: added before anything can be left behind, let go once nothing is.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { applyPatch, type Operation } from "rfc6902";
import type { Verdict } from "../../controllers/ir/mod.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { translate } from "../../controllers/translate/batch.ts";
import {
  createWorld,
  defaultConfig,
  deriveIr,
  gatewayExists,
  stamp,
} from "../../controllers/translate/mod.ts";
import type { ApiObject, Gateway, GatewayClass } from "../../crds/mod.ts";
import { gateway, gatewayClass, http, type Raw, stored } from "./cluster.ts";

const finalizer = "gatehouse.dev/data-plane";

/** The finalizers that are due for one Gateway `default/web` and its class. */
function due(
  options: {
    readonly gateway?: Raw;
    readonly class?: Raw;
    readonly proxies?: readonly string[];
    readonly verdict?: Verdict;
    readonly finalizer?: string | undefined;
  },
) {
  const graph = new Graph({ freeze: true }), world = createWorld(graph);
  const config = { ...defaultConfig, ..."finalizer" in options ? {} : { finalizer } };
  const { finalizers } = deriveIr(graph, world, config);
  const ownClass = gatewayClass();
  world.objects.GatewayClass.set("gatehouse", { ...ownClass, ...options.class } as unknown as GatewayClass);
  if (options.gateway) world.objects.Gateway.set("default/web", options.gateway as unknown as Gateway);
  if (options.proxies) {
    (world.proxies as unknown as { set(key: string, value: unknown): void })
      .set("default/web", options.proxies.map((id) => ({ id })));
  }
  if (options.verdict) world.verdicts.set("default/web|Gateway/default/web", options.verdict);
  graph.settle();
  return Object.fromEntries(
    [...finalizers.entries()].map(([key, { patch, wait }]) => {
      const [test, write] = patch as readonly { op: string; path: string; value?: unknown }[];
      assertEquals(test!.path, "/metadata/resourceVersion");
      assertEquals(write!.path, "/metadata/finalizers");
      return [key, wait === undefined ? write!.value : wait];
    }),
  );
}

const web = (metadata: Raw = {}, spec: Raw = {}) => gateway("web", [http], { metadata, spec });
const deleted = { generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z" };
const waiting: Verdict = { generation: 2, state: "pending", message: "Waiting for the proxies" };

Deno.test("finalizers: a Gateway of ours and its class get theirs, after those of others", () => {
  assertEquals(due({ gateway: web({ finalizers: ["example.com/other"] }) }), {
    "Gateway/default/web": ["example.com/other", finalizer],
    "GatewayClass/gatehouse": [gatewayExists],
  });
});

Deno.test("finalizers: nothing is due once they are there", () => {
  const metadata = { ...gatewayClass().metadata, finalizers: [gatewayExists] };
  assertEquals(due({ gateway: web({ finalizers: [finalizer] }), class: { metadata } }), {});
});

Deno.test("finalizers: a Gateway waits until its ListenerSets have been told that it goes", () => {
  const allowed = { allowedListeners: { namespaces: { from: "Same" } } };
  const batch = translate(
    [
      gatewayClass(),
      web({ ...deleted, finalizers: [finalizer] }, allowed),
      stored({
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "ListenerSet",
        metadata: { name: "more" },
        spec: { parentRef: { name: "web" }, listeners: [http] },
      }),
    ] as ApiObject[],
    { ...defaultConfig, finalizer },
  );
  const { finalizers, due, world, graph } = batch, row = "ListenerSet/default/more";
  const wait = () => finalizers.get("Gateway/default/web")?.wait;
  assertEquals(wait(), `${row} has not been told yet`);
  const told = structuredClone(world.objects.ListenerSet.get("default/more")!);
  applyPatch(told, stamp(due.get(row)!.patch, new Date(0)) as Operation[]);
  assertEquals(told.status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`), [
    "Accepted False ParentNotAccepted",
    "Programmed False ParentNotProgrammed",
  ]);
  world.objects.ListenerSet.set("default/more", told);
  graph.settle();
  assertEquals([finalizers.get("Gateway/default/web") !== undefined, wait()], [true, undefined]);
});

Deno.test("finalizers: a class without Gateways is let go, one of another controller is left alone", () => {
  const metadata = { ...gatewayClass().metadata, finalizers: ["example.com/other", gatewayExists] };
  assertEquals(due({ class: { metadata } }), { "GatewayClass/gatehouse": ["example.com/other"] });
  assertEquals(due({ class: { metadata, spec: { controllerName: "example.com/other" } } }), {});
});

Deno.test("finalizers: a class that is being deleted gets none", () => {
  const metadata = {
    ...gatewayClass().metadata,
    finalizers: ["example.com/other"],
    deletionTimestamp: "2026-01-01T00:00:00Z",
  };
  assertEquals(due({ class: { metadata }, gateway: web({ finalizers: [finalizer] }) }), {});
});

Deno.test("finalizers: a Gateway that is being deleted waits for its proxies, then goes", () => {
  const gone = web({ ...deleted, finalizers: ["foregroundDeletion", finalizer] });
  const ofGateway = (more: Parameters<typeof due>[0]) =>
    due({ gateway: gone, proxies: ["a"], ...more })["Gateway/default/web"];
  assertEquals(ofGateway({}), "The proxies have not been told yet");
  assertEquals(
    ofGateway({ verdict: { ...waiting, generation: 1, state: "programmed" } }),
    "Waiting for the proxies",
  );
  assertEquals(ofGateway({ verdict: waiting }), "Waiting for the proxies");
  assertEquals(ofGateway({ verdict: { ...waiting, state: "programmed" } }), ["foregroundDeletion"]);
  assertEquals(ofGateway({ verdict: waiting, proxies: [] }), ["foregroundDeletion"], "nobody serves it");
});

Deno.test("finalizers: the annotation lets a Gateway go at once, as does the loss of its class", () => {
  const annotations = { "gatehouse.dev/skip-teardown": "true" };
  const proxies = ["a"];
  assertEquals(
    due({ gateway: web({ ...deleted, annotations, finalizers: [finalizer] }), proxies, verdict: waiting }),
    { "Gateway/default/web": [], "GatewayClass/gatehouse": [gatewayExists] },
  );
  const other = web({ ...deleted, finalizers: [finalizer] }, { gatewayClassName: "other" });
  assertEquals(due({ gateway: other, proxies, verdict: waiting }), { "Gateway/default/web": [] });
});

Deno.test("finalizers: a Gateway that moves to a class of another controller is let go", () => {
  assertEquals(due({ gateway: web({ finalizers: [finalizer] }, { gatewayClassName: "other" }) }), {
    "Gateway/default/web": [],
  });
});

Deno.test("finalizers: a Gateway that is refused from the start gets none", () => {
  const addresses = [{ type: "Hostname", value: "example.com" }];
  assertEquals(due({ gateway: web({}, { addresses }) }), { "GatewayClass/gatehouse": [gatewayExists] });
});

Deno.test("finalizers: none without a name for one", () => {
  assertEquals(due({ gateway: web(), finalizer: undefined }), {});
});
