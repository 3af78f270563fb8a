/**
 * What an operator waits for before it writes statuses, and what it knows it need not wait for.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { applyPatch, type Operation } from "rfc6902";
import { isKnownToLack, pendingIn } from "../../cli/pending.ts";
import type { Proxy } from "../../controllers/ir/mod.ts";
import { translate } from "../../controllers/translate/batch.ts";
import { stamp } from "../../controllers/translate/due.ts";
import { defaultConfig } from "../../controllers/translate/mod.ts";
import type { ApiObject } from "../../crds/kind.ts";
import { gateway, gatewayClass, http, type Raw, route, service, slice, to } from "../translate/cluster.ts";

/** A Gateway, as it is stored. */
function broken(generation: number): Raw {
  return { ...gateway("broken", [http], { metadata: { generation } }), status: {} };
}

function translated(object: Raw, proxies?: readonly Proxy[]) {
  const attached = route("attached", { parentRefs: [{ name: "broken" }], rules: [to("app")] });
  const objects = [gatewayClass(), object, service("app"), slice("app", "10.0.0.1"), attached];
  return translate(objects as ApiObject[], defaultConfig, (_, world) => {
    if (proxies) world.proxies.set("default/broken", proxies);
  });
}

/** The Gateway with the status that it gets without proxies. */
function told(): Raw {
  const object = broken(2), { patch: due } = translated(object).due.get("Gateway/default/broken")!;
  const patch = stamp(due, new Date(0));
  assertEquals(
    applyPatch(object, patch.filter(({ op }) => op !== "test") as Operation[]).filter(Boolean),
    [],
  );
  return object;
}

function pending(object: Raw, proxies?: readonly Proxy[]): readonly string[] {
  const batch = translated(object, proxies), observed = { world: batch.world, translation: batch };
  return [...pendingIn(observed, (gateway) => isKnownToLack(observed, gateway))].sort();
}

const all = [
  "Gateway/default/broken",
  "HTTPRoute/default/attached",
  "Service/default/app",
  'a proxy for Gateway "default/broken"',
  'an address for Gateway "default/broken"',
];

Deno.test("pending: a Gateway that is new or was edited is waited for, with all that is in it", () => {
  assertEquals(pending(broken(2)), all);
  const edited = told();
  edited.metadata.generation = 3;
  assertEquals(pending(edited), all);
});

Deno.test("pending: what is known to lack proxies is not waited for, nor what is in it", () => {
  assertEquals(pending(told()), []);
});

Deno.test("pending: why it lacks them may be about to be found out, if the status tells something else", () => {
  const refused = told();
  const programmed = refused.status.conditions.find(({ type }: Raw) => type === "Programmed");
  Object.assign(programmed, { reason: "Invalid", message: "Cannot make its Deployment" });
  assertEquals(pending(refused), all);
});

Deno.test("pending: proxies that are there are waited for all the same", () => {
  assertEquals(pending(told(), [{ id: "p" }]), all.filter((line) => !line.startsWith("a proxy")));
});
