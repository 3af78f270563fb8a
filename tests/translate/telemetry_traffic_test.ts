/**
 * Access logs and spans, through a real Envoy.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { EnvoyFleetSpec } from "../../crds/mod.ts";
import { Collector } from "../xds/support/collector.ts";
import { gatewayClass, type Raw, route, stored, to } from "./cluster.ts";
import { any, parentRefs, serving } from "./serving.ts";

const fleet = (spec: EnvoyFleetSpec): Raw =>
  stored({ apiVersion: "gatehouse.dev/v1alpha1", kind: "EnvoyFleet", metadata: { name: "fleet" }, spec });

/** A class whose Gateways are run as the EnvoyFleet says. */
function withFleet(spec: EnvoyFleetSpec): readonly Raw[] {
  const ofClass = gatewayClass();
  const parametersRef = { group: "gatehouse.dev", kind: "EnvoyFleet", namespace: "default", name: "fleet" };
  return [fleet(spec), { ...ofClass, spec: { ...ofClass.spec, parametersRef } }];
}

const web = () => route("web", { parentRefs, rules: [to("app", "/shop")] });

Deno.test("traffic: each request is a line of JSON, which changes with the EnvoyFleet", async () => {
  await using gateway = await serving(any, [
    web(),
    ...withFleet({ accessLog: { fields: { tenant: "%REQ(X-TENANT)%", protocol: "" } } }),
  ]);
  await gateway.ask("/shop/a?b=c", { headers: { "x-tenant": "one", "user-agent": "tests" } });
  const line = JSON.parse(await gateway.envoy.line());
  assertEquals(
    [
      line.method,
      line.host,
      line.path,
      line.status,
      line.user_agent,
      line.tenant,
      line.gateway,
      line.attempts,
    ],
    ["GET", "www.example.com", "/shop/a?b=c", 200, "tests", "one", "default/gw", 1],
  );
  assertEquals([line.route, line.cluster], ["httproute/default/web/rule/0/match/0", "default/app/80"]);
  assertMatch(line.upstream, /^127\.0\.0\.1:\d+$/);
  assertMatch(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert(Number.isInteger(line.milliseconds) && line.sent > 0, JSON.stringify(line));
  assertEquals(Object.hasOwn(line, "protocol"), false);

  await gateway.ask("/nowhere");
  const lost = JSON.parse(await gateway.envoy.line());
  assertEquals([lost.status, lost.flags, lost.details], [404, "NR", "route_not_found"]);

  gateway.put(fleet({ accessLog: { text: "%REQ(:METHOD)% %RESPONSE_CODE% 100%%" } }));
  gateway.rig.settle();
  await gateway.rig.synced();
  await gateway.ask("/shop");
  assertEquals(await gateway.envoy.line(), "GET 200 100%");

  gateway.put(fleet({ accessLog: { enabled: false } }));
  gateway.rig.settle();
  await gateway.rig.synced();
  await gateway.ask("/shop");
  gateway.put(fleet({ accessLog: { text: "again" } }));
  gateway.rig.settle();
  await gateway.rig.synced();
  await gateway.ask("/shop");
  assertEquals(await gateway.envoy.line(), "again", "nothing was written in between");
});

Deno.test("traffic: spans reach a collector, continue the client's trace and carry attributes", async () => {
  await using collector = await Collector.start();
  await using gateway = await serving(any, [
    web(),
    ...withFleet({
      accessLog: { fields: {} },
      tracing: {
        collector: { host: "127.0.0.1", port: collector.port },
        attributes: { "deployment.environment": "test" },
        headers: { tenant: "x-tenant" },
      },
    }),
  ]);
  const trace = "0af7651916cd43dd8448eb211c80319c", parent = "b7ad6b7169203331";
  const headers = { "x-tenant": "one", traceparent: `00-${trace}-${parent}-01` };
  const echo = await gateway.echo("/shop", { headers });
  const line = JSON.parse(await gateway.envoy.line());
  assertEquals(line.trace_id, trace);
  // Envoy sends several at a time.
  for (let i = 0; i < 5; i++) await gateway.ask("/shop");

  const server = await collector.span((span) => span.trace === trace && span.parent === parent);
  assertEquals(server.service, "gw.default");
  assertEquals(server.attributes["deployment.environment"], "test");
  assertEquals(server.attributes.tenant, "one");
  assertEquals(server.attributes["http.status_code"], "200");
  const client = await collector.span((span) => span.trace === trace && span.parent === server.id);
  assert(typeof echo !== "number");
  assertEquals(echo.headers.traceparent, `00-${trace}-${client.id}-01`);
  const own = await collector.span((span) => span.trace !== trace && span.parent === "");
  assertEquals(own.attributes["http.status_code"], "200");
});

Deno.test("traffic: requests that are not sampled have no span, and a collector that is away harms nobody", async () => {
  await using gateway = await serving(any, [
    web(),
    ...withFleet({
      accessLog: { text: "%TRACE_ID%" },
      tracing: {
        collector: { host: "no-such-host.invalid" },
        sampling: { numerator: 0, denominator: 100 },
      },
    }),
  ]);
  assertEquals(await gateway.path("/shop"), "/shop");
  assertEquals((await gateway.ask("/nowhere")).status, 404);
  const stats = await gateway.envoy.admin("/stats?filter=tracing");
  assertMatch(stats, /tracing\.not_traceable: 2$/m);
});
