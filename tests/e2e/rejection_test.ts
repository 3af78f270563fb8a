/**
 * What Envoy refuses: the object at fault hears of it in Envoy's words, the others do not suffer, and a repair is enough.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { gateway, httpRoute } from "../../crds/mod.ts";
import { gatewayNamed, get, routeNamed, startGateway } from "./gateway.ts";

const backend = { backendRefs: [{ name: "echo", port: 80 }] };

/** A rule that is fine for the API server, but not for Envoy's RE2. */
const refused = {
  matches: [{ path: { type: "RegularExpression", value: "/[0-9" } }],
  ...backend,
};

Deno.test("a rule that Envoy refuses becomes a 500 of its own, until it is mended", async () => {
  // What is checked before would keep it from Envoy; here Envoy has to find out.
  await using web = await startGateway({ address: "127.0.46.1", config: { validate: false } });
  const { kube, address } = web;
  await web.echo("echo");
  await kube.create(gateway, gatewayNamed("web"));
  await kube.create(httpRoute, routeNamed("good", [backend]));
  await web.untilStatus(
    httpRoute,
    "good",
    "the good route is programmed",
    (c) => c.get("Programmed")?.status === "True",
  );
  assertEquals(await get(address, "good.example.com"), 200);

  await kube.create(
    httpRoute,
    routeNamed("bad", [
      { matches: [{ path: { type: "Exact", value: "/fine" } }], ...backend },
      refused,
    ]),
  );
  const bad = await web.untilStatus(
    httpRoute,
    "bad",
    "the bad route is refused",
    (c) => c.get("Programmed")?.status === "False" && c.get("PartiallyInvalid")?.status === "True",
  );
  const programmed = bad.status!.parents![0]!.conditions!.find(({ type }) => type === "Programmed")!;
  // Envoy's own text, which names the expression.
  assertStringIncludes(programmed.message, "missing ]: [0-9");
  assertStringIncludes(programmed.message, "spec.rules[1]");

  assertEquals(await get(address, "good.example.com"), 200);
  assertEquals(await get(address, "bad.example.com", "/fine"), 200);
  assertEquals(await get(address, "bad.example.com", "/1"), 404, "what never got to Envoy matches nothing");

  await kube.create(httpRoute, routeNamed("later", [backend]));
  await web.untilStatus(
    httpRoute,
    "later",
    "a route that comes later is programmed",
    (c) => c.get("Programmed")?.status === "True",
  );
  assertEquals(await get(address, "later.example.com"), 200);

  await kube.patch(httpRoute, { namespace: "default", name: "bad" }, [
    { op: "replace", path: "/spec/rules/1/matches/0/path/value", value: "/[0-9]" },
  ]);
  await web.untilStatus(
    httpRoute,
    "bad",
    "the mended route is programmed",
    (c, { metadata }) =>
      c.get("Programmed")?.status === "True" &&
      c.get("Programmed")?.observedGeneration === metadata.generation &&
      !c.has("PartiallyInvalid"),
  );
  assertEquals(await get(address, "bad.example.com", "/1"), 200);
  assertEquals(await get(address, "good.example.com"), 200);
});
