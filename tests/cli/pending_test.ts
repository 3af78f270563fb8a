/**
 * What an operator waits for before it writes statuses, and what it knows it need not wait for.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { isKnownToLack, pendingIn } from "../../cli/pending.ts";
import type { Proxy } from "../../controllers/ir/mod.ts";
import { translate } from "../../controllers/translate/batch.ts";
import { defaultConfig } from "../../controllers/translate/mod.ts";
import type { ApiObject } from "../../crds/kind.ts";
import { gateway, gatewayClass, http, route, service, slice, to } from "../translate/cluster.ts";

/** What is pending for a Gateway of generation 2 whose status says that of a generation, and that it is programmed or not. */
function pending({ generation, programmed, proxies }: {
  readonly generation: number;
  readonly programmed: "True" | "False";
  readonly proxies?: readonly Proxy[];
}): readonly string[] {
  const condition = {
    type: "Programmed",
    status: programmed,
    reason: "Invalid",
    message: "",
    observedGeneration: generation,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const broken = {
    ...gateway("broken", [http], { metadata: { generation: 2 } }),
    status: { conditions: [condition] },
  };
  const attached = route("attached", { parentRefs: [{ name: "broken" }], rules: [to("app")] });
  const objects = [gatewayClass(), broken, service("app"), slice("app", "10.0.0.1"), attached];
  const batch = translate(objects as ApiObject[], defaultConfig, (_, world) => {
    if (proxies) world.proxies.set("default/broken", proxies);
  });
  const observed = { world: batch.world, translation: batch };
  return [...pendingIn(observed, (gateway) => isKnownToLack(observed, gateway))].sort();
}

Deno.test("pending: a Gateway that is new, edited or was programmed is waited for, with all that is in it", () => {
  const all = [
    "Gateway/default/broken",
    "HTTPRoute/default/attached",
    "Service/default/app",
    'a proxy for Gateway "default/broken"',
    'an address for Gateway "default/broken"',
  ];
  assertEquals(pending({ generation: 1, programmed: "False" }), all);
  assertEquals(pending({ generation: 2, programmed: "True" }), all);
});

Deno.test("pending: what is known to lack proxies is not waited for, nor what is in it", () => {
  assertEquals(pending({ generation: 2, programmed: "False" }), []);
});

Deno.test("pending: proxies that are there are waited for all the same", () => {
  assertEquals(pending({ generation: 2, programmed: "False", proxies: [{ id: "p" }] }), [
    "Gateway/default/broken",
    "HTTPRoute/default/attached",
    "Service/default/app",
  ]);
});
