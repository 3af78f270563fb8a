/**
 * `gatehouse remove-finalizers` against a real API: what is ours goes, what is another's stays.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { systemClock as clock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { gatewayExists, gatewayFinalizer } from "../../controllers/translate/mod.ts";
import { gateway, gatewayClass } from "../../crds/mod.ts";
import { list } from "../../kube/list.ts";
import { serveApi } from "../../standalone/apiserver/serve.ts";
import { gatehouse, run } from "../support/command.ts";
import { kubeOf } from "../support/kube.ts";

const ours = gatewayFinalizer("gatehouse.dev/gateway-controller");
const theirs = gatewayFinalizer("example.com/tenant");

Deno.test("remove-finalizers lets go of what is ours and leaves the rest", async () => {
  const dataDir = await Deno.makeTempDir();
  const server = await serveApi({ dataDir, clock, log: silentLog });
  const kube = await kubeOf(server.kubeconfig);
  try {
    const make = async (name: string, finalizers: readonly string[]) => {
      await kube.create(gateway, {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "Gateway",
        metadata: { name, namespace: "default", finalizers },
        spec: {
          gatewayClassName: "gatehouse",
          listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
        },
      });
    };
    const makeClass = async (name: string, controllerName: string) => {
      await kube.create(gatewayClass, {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "GatewayClass",
        metadata: { name, finalizers: [gatewayExists] },
        spec: { controllerName },
      });
    };
    await make("a", ["example.com/other", ours]);
    await make("b", [ours]);
    await make("tenant", [theirs]);
    await makeClass("gatehouse", "gatehouse.dev/gateway-controller");
    await makeClass("tenant", "example.com/tenant");
    await kube.delete(gateway, { name: "b", namespace: "default" });
    const state = async () => {
      const gateways = await list(kube, gateway), classes = await list(kube, gatewayClass);
      return Object.fromEntries(
        [...gateways.objects, ...classes.objects].map(({ kind, metadata: { name, finalizers } }) =>
          [`${kind}/${name}`, finalizers ?? []] as const
        ),
      );
    };
    const remove = (...args: readonly string[]) =>
      run(gatehouse("remove-finalizers", "--kubeconfig", server.kubeconfig, ...args));
    const before = {
      "Gateway/a": ["example.com/other", ours],
      "Gateway/b": [ours],
      "Gateway/tenant": [theirs],
      "GatewayClass/gatehouse": [gatewayExists],
      "GatewayClass/tenant": [gatewayExists],
    };
    assertEquals(await state(), before);

    assertEquals(await remove("--all", "--dry-run"), {
      code: 0,
      out: "gateway/a in default would be let go\ngateway/b in default would be let go\n" +
        "gatewayclass/gatehouse would be let go\n",
      err: "",
    });
    assertEquals(await state(), before);

    const one = await remove("gateway/b", "gateway/tenant");
    assertEquals([one.code, one.out], [0, "gateway/b in default let go\n"]);
    assertMatch(
      one.err,
      /^gateway\/tenant in default has no finalizer of gatehouse\.dev\/gateway-controller\n$/,
    );
    const { "Gateway/b": _, ...withoutB } = before;
    assertEquals(await state(), withoutB, "deleted already, so it is gone");

    assertEquals((await remove("--all")).code, 0);
    assertEquals(await state(), {
      ...withoutB,
      "Gateway/a": ["example.com/other"],
      "GatewayClass/gatehouse": [],
    });
    assertMatch((await remove("--all")).err, /^Nothing is kept\n$/);
    assertEquals((await remove()).code, 2);
    assertEquals((await remove("pod/a")).code, 2);
  } finally {
    kube[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    await Deno.remove(dataDir, { recursive: true });
  }
});
