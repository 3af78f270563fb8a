/** What `kubectl get` shows: columns of custom kinds by JSONPath, of core kinds by code, ages. */
import { assertEquals, assertThrows } from "@std/assert";
import { humanDuration } from "../../standalone/apiserver/human_duration.ts";
import { compileJsonPath } from "../../standalone/apiserver/json_path.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { testApi } from "./support.ts";

const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };

Deno.test("ages have at most two units", () => {
  const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
  const cases: readonly (readonly [number, string])[] = [
    [-5 * second, "<invalid>"],
    [0, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [3 * minute + 12 * second, "3m12s"],
    [10 * minute + 5 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [47 * hour, "47h"],
    [2 * day + 4 * hour, "2d4h"],
    [9 * day + 4 * hour, "9d"],
    [729 * day, "729d"],
    [2 * 365 * day + 30 * day, "2y30d"],
    [9 * 365 * day, "9y"],
  ];
  for (const [ms, text] of cases) assertEquals(humanDuration(ms), text);
});

Deno.test("the JSONPath of printer columns", () => {
  const object = {
    metadata: { labels: { "a.b/c": "x" } },
    list: [{ type: "A", value: 1 }, { type: "B", value: 2 }],
    nothing: null,
  };
  const find = (path: string) => compileJsonPath(path)(object);
  assertEquals(find(".list[*].value"), [1, 2]);
  assertEquals(find(".list[1].value"), [2]);
  assertEquals(find('.list[?(@.type=="B")].value'), [2]);
  assertEquals(find(".list[?(@.type=='C')].value"), []);
  assertEquals(find(".metadata.labels['a.b/c']"), ["x"]);
  assertEquals(find(".metadata.labels.a\\.b/c"), ["x"]);
  assertEquals(find(".nothing.at.all"), []);
  assertEquals(find("{.list[0].type}"), ["A"]);
  assertThrows(() => compileJsonPath(".list[?(@.x>1)]"), SyntaxError);
});

Deno.test("tables of custom and core kinds", async () => {
  // Time stands still, or ages would depend on how busy the machine is.
  const now = new Date();
  await using api = await testApi({ model: typedModel(), clock: { ...systemClock, now: () => now } });
  const make = async (path: string, object: object) => {
    const answer = await api.call("POST", path, object);
    assertEquals(answer.status, 201, JSON.stringify(answer.body));
  };
  const ns = "/api/v1/namespaces/default";
  await make("/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways", {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name: "g" },
    spec: { gatewayClassName: "c", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  });
  await make(`${ns}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s" },
    spec: {
      clusterIP: "None",
      selector: { b: "2", a: "1" },
      ports: [{ name: "a", port: 80 }, { name: "d", port: 53, protocol: "UDP" }],
    },
  });
  await make(`${ns}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "x" },
    data: { a: "", b: "" },
  });
  await make(`${ns}/configmaps`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m" },
    data: { a: "" },
  });
  await make("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "e" },
    addressType: "IPv4",
    ports: [{ port: 80 }],
    endpoints: ["127.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"].map((address) => ({ addresses: [address] })),
  });

  const show = async (path: string) => {
    const { body } = await api.call("GET", path, undefined, table);
    assertEquals([body.kind, body.apiVersion], ["Table", "meta.k8s.io/v1"]);
    return {
      columns: body.columnDefinitions.map((column: { name: string; priority: number }) =>
        column.priority > 0 ? `(${column.name})` : column.name
      ).join(" "),
      cells: body.rows[0].cells,
      row: body.rows[0],
    };
  };
  const gateway = await show("/apis/gateway.networking.k8s.io/v1/gateways");
  assertEquals(gateway.columns, "Name Class Address Programmed Age");
  assertEquals(gateway.cells, ["g", "c", null, "Unknown", "0s"]);
  assertEquals(gateway.row.object.kind, "PartialObjectMetadata");
  const service = await show(`${ns}/services`);
  assertEquals(service.columns, "Name Type Cluster-IP External-IP Port(s) Age (Selector)");
  assertEquals(service.cells, ["s", "ClusterIP", "None", "<none>", "80/TCP,53/UDP", "0s", "a=1,b=2"]);
  assertEquals((await show(`${ns}/secrets`)).cells, ["x", "Opaque", 2, "0s"]);
  assertEquals((await show(`${ns}/configmaps`)).cells, ["m", 1, "0s"]);
  assertEquals((await show("/apis/discovery.k8s.io/v1/endpointslices")).cells, [
    "e",
    "IPv4",
    "80",
    "127.0.0.1,10.0.0.2,10.0.0.3 + 1 more...",
    "0s",
  ]);
  assertEquals((await show("/api/v1/namespaces")).cells, ["default", "Active", "0s"]);

  const none = await api.call("GET", `${ns}/services?includeObject=None`, undefined, table);
  assertEquals(none.body.rows[0].object, undefined);
  const whole = await api.call("GET", `${ns}/services?includeObject=Object`, undefined, table);
  assertEquals(whole.body.rows[0].object.kind, "Service");
  const one = await api.call("GET", `${ns}/services/s`, undefined, table);
  assertEquals(one.body.rows.length, 1);
});
