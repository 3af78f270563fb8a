/**
 * The watches of an operator that is confined to some namespaces: what it takes to be there in place of what it may not see.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { startWatches } from "../../cli/watches.ts";
import { Loop } from "../../controllers/loop.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createMetrics } from "../../controllers/runtime/metrics.ts";
import { Scope } from "../../controllers/runtime/scope.ts";
import { type ApiObject, gatewayClass } from "../../crds/mod.ts";
import { Discovery } from "../../kube/discovery.ts";
import type { Kube } from "../../kube/types.ts";
import { page, ScriptedClient } from "../kube/scripted_client.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";

const controllerName = "gatehouse.dev/gateway-controller";

const real = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "GatewayClass",
  metadata: { name: "ours", uid: "u", resourceVersion: "1" },
  spec: { controllerName, parametersRef: { group: "gatehouse.dev", kind: "EnvoyFleet", name: "internal" } },
};
const assumed = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "GatewayClass",
  metadata: { name: "ours" },
  spec: { controllerName },
};

/** The watch of GatewayClasses, of an operator that is confined to one namespace. */
class Rig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly server = new ScriptedClient();
  readonly #graph = new Graph();
  readonly #classes = this.#graph.source<ApiObject>("classes");
  readonly loop = new Loop({ graph: this.#graph, clock: this.clock, log: silentLog, settled: () => [] });
  readonly #scope = new Scope();

  constructor() {
    const { clock, server, loop } = this, kube = server as unknown as Kube;
    const discovery = new Discovery(kube, [gatewayClass], { clock });
    startWatches([{ kind: gatewayClass, source: this.#classes }], {
      kube,
      discovery,
      discovered: async (signal) => void await discovery.refresh(signal),
      confined: { namespaces: ["team-a"], classes: ["ours"], controllerName },
      loop,
      clock,
      log: silentLog,
      metrics: createMetrics({ clock, version: "0.0.0" }),
      scope: this.#scope,
    });
  }

  /** Says that GatewayClasses are served. */
  async begin(): Promise<void> {
    const verbs = ["get", "list", "watch"];
    for (let i = 0; i < gatewayClass.versions.length; i++) {
      const asked = await this.server.next();
      if (asked.path.endsWith("/v1")) {
        asked.answer({ resources: [{ name: "gatewayclasses", kind: "GatewayClass", verbs }] });
      } else asked.refuse(404);
    }
  }

  /** The classes that the operator goes by. */
  async classes(): Promise<readonly ApiObject[]> {
    await settle();
    this.#graph.settle();
    return [...this.#classes.entries()].map(([, object]) => object);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.loop[Symbol.dispose]();
    await this.#scope[Symbol.asyncDispose]();
  }
}

for (const status of [401, 403]) {
  Deno.test(`classes that were read stay as they are when a later watch of them is answered with ${status}`, async () => {
    await using rig = new Rig();
    await rig.begin();
    (await rig.server.next()).answer(page(1, [real]));
    const wire = (await rig.server.next()).open();
    wire.send("BOOKMARK", { metadata: { resourceVersion: "5" } });
    assertEquals(await rig.classes(), [real]);
    wire.end();
    (await rig.server.next()).refuse(status);
    assertEquals(await rig.classes(), [real]);
    await rig.clock.advance(800);
    const again = await rig.server.next();
    assertEquals(again.query.resourceVersion, "5", "what is known is as of then");
    again.open();
    assertEquals(await rig.classes(), [real]);
  });
}

Deno.test("classes that may not be read are assumed, until a list says what there is", async () => {
  await using rig = new Rig();
  await rig.begin();
  (await rig.server.next()).refuse(403);
  assertEquals(await rig.classes(), [assumed]);
  assertEquals(rig.loop.awaited, []);
  await rig.clock.advance(600_000);
  const list = await rig.server.next();
  assertEquals(list.query.limit, "500");
  list.answer(page(1, [real]));
  assertEquals(await rig.classes(), [real]);
});

Deno.test("nothing is assumed as long as the server does not know who asks", async () => {
  await using rig = new Rig();
  await rig.begin();
  (await rig.server.next()).refuse(401);
  assertEquals(await rig.classes(), []);
  assertEquals(rig.loop.awaited, ["gatewayclasses"]);
  await rig.clock.advance(800);
  assert(!await rig.server.idle(), "it is asked again soon");
});
