/**
 * The end of an installation by kubectl alone: what the chart's hook does otherwise is a command there.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { gatehouse, root, succeed } from "../support/command.ts";
import { startCluster } from "./support/cluster.ts";
import { installGatehouse, system } from "./support/installation.ts";
import { backend, gatewayIn, gatewayPath, programmed, proxiesIn, routeTo, statusOf } from "./support/web.ts";

Deno.test("uninstalled by kubectl nothing waits for an operator, and Envoys go on", async () => {
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas: 1 });
  await cluster.apply([...backend, ...gatewayIn("shop"), routeTo("shop", "echo")]);
  const address = await programmed(cluster, "shop");
  await cluster.until({ what: "an answer" }, async () => await statusOf(cluster, address) === 200);
  const uids = async () => (await proxiesIn(cluster, "shop")).map(({ metadata }) => metadata.uid);
  const before = await uids();

  const said = await succeed(gatehouse("uninstall", `--kubeconfig=${cluster.kubeconfig}`), {
    env: { NO_COLOR: "1" },
  });
  assertStringIncludes(said, "deployment/gatehouse stopped");
  assertStringIncludes(said, "gateway/web in shop let go");
  assertStringIncludes(said, "gatewayclass/gatehouse let go");
  await cluster.kubectl("delete", "--kustomize", `${root}deploy/kustomize/base`, "--timeout=60s");

  assertEquals(await cluster.get(`/api/v1/namespaces/${system}`), undefined);
  assertEquals(await statusOf(cluster, address), 200);
  assertEquals(await uids(), before);
  await cluster.kubectl("delete", "--namespace=shop", "--timeout=20s", "gateway", "web");
  assertEquals(await cluster.get(gatewayPath("shop")), undefined);
  await cluster.until(
    { what: "the Envoys to be gone", seconds: 60 },
    async () => (await uids()).length === 0,
  );
});
