/**
 * `gatehouse status` of a gateway that lives.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { gatewayClass, httpRoute } from "../../crds/mod.ts";
import { gatehouse, run, Running, succeed } from "../support/command.ts";
import { routeNamed, serve, startGateway } from "./gateway.ts";

Deno.test("status shows objects and proxies, fails where something is wrong, and follows", async () => {
  await using web = await startGateway({ address: "127.0.49.1" });
  const { kube, data, api } = web;
  await serve(web);
  await web.written();
  const status = (...flags: readonly string[]) =>
    gatehouse("status", "--data", data, "--kubeconfig", api.kubeconfig, ...flags);

  const ours = await kube.get(gatewayClass, { name: "gatehouse" });
  assertEquals(
    ours.status?.conditions?.map(({ type, status }) => `${type} ${status}`),
    ["Accepted True", "SupportedVersion True"],
  );
  assert(ours.status?.supportedFeatures?.some(({ name }) => name === "HTTPRoute"));

  const text = await succeed(status());
  assertMatch(text, /^Gateway default\/web {2}127\.0\.49\.1 .*Accepted.*Programmed {2}ResolvedRefs$/m);
  assertMatch(text, /^ {2}proxy default\/web\/0 {2}in sync {2}Envoy \d/m);
  assertMatch(text, /^HTTPRoute default\/r$/m);

  await using watching = new Running(status("--watch", "-o", "json"));
  const first = JSON.parse((await watching.line(/^\{.*"HTTPRoute".*\}$/))[0]);
  assertEquals(first.healthy, true);
  await kube.create(httpRoute, routeNamed("lost", [{ backendRefs: [{ name: "nowhere", port: 80 }] }]));
  const [line] = await watching.line(/^\{.*BackendNotFound.*\}$/);
  const { healthy, objects } = JSON.parse(line);
  assertEquals(healthy, false);
  assert(objects.some(({ name }: { readonly name: string }) => name === "default/lost"));

  const { code, out } = await run(status());
  assertEquals(code, 1);
  assertMatch(out, /ResolvedRefs: BackendNotFound.*: .*"default\/nowhere"/);
});
