/**
 * Services for servers outside of Kubernetes, and the example that standalone starts with.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseAllDocuments } from "yaml";
import { exposeManifests } from "../../standalone/expose.ts";
import { echoBackend, quickstart } from "../../standalone/quickstart/mod.ts";

type Json = { readonly [name: string]: unknown };

function objects(name: string, options: Parameters<typeof exposeManifests>[1]): readonly Json[] {
  const result = exposeManifests(name, options);
  assert("objects" in result, JSON.stringify(result));
  return result.objects as unknown as readonly Json[];
}

Deno.test("expose: a Service and its EndpointSlice", () => {
  const labels = { "app.kubernetes.io/managed-by": "gatehouse-expose" };
  assertEquals(objects("web", { port: 80, to: "127.0.0.1:3000" }), [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default", labels },
      spec: { ports: [{ name: "http", port: 80, targetPort: 3000, protocol: "TCP" }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: "web",
        namespace: "default",
        labels: {
          ...labels,
          "kubernetes.io/service-name": "web",
          "endpointslice.kubernetes.io/managed-by": "gatehouse-expose",
        },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
      ports: [{ name: "http", port: 3000, protocol: "TCP" }],
    },
  ]);
});

Deno.test("expose: several servers share a slice if family and port are the same", () => {
  const [, ...slices] = objects("web", {
    port: 80,
    to: ["127.0.0.1:3000", "127.0.0.2:3000", "127.0.0.1:3000", "127.0.0.1:3001", "[::1]:3000"],
    namespace: "shop",
  });
  assertEquals(
    slices.map(({ metadata, addressType, endpoints, ports }) => [
      (metadata as Json).name,
      (metadata as Json).namespace,
      addressType,
      (endpoints as readonly Json[]).flatMap(({ addresses }) => addresses),
      (ports as readonly Json[]).map(({ port }) => port),
    ]),
    [
      ["web-ipv4-3000", "shop", "IPv4", ["127.0.0.1", "127.0.0.2"], [3000]],
      ["web-ipv4-3001", "shop", "IPv4", ["127.0.0.1"], [3001]],
      ["web-ipv6-3000", "shop", "IPv6", ["::1"], [3000]],
    ],
  );
});

Deno.test("expose: what cannot be is refused, with a remedy", () => {
  const good = { port: 80, to: "127.0.0.1:3000" };
  const table: readonly (readonly [string, Parameters<typeof exposeManifests>[1], RegExp])[] = [
    ["Web", good, /lower-case letters, digits and hyphens/],
    ["1web", good, /starts with a letter/],
    ["web-", good, /does not end with a hyphen/],
    ["a".repeat(64), good, /at most 63/],
    ["", good, /at most 63/],
    ["web", { ...good, namespace: "a/b" }, /"a\/b" is not a namespace's name/],
    ["web", { ...good, port: 0 }, /port 0 is not a number from 1 to 65535/],
    ["web", { ...good, port: 70_000 }, /port 70000 is not/],
    ["web", { ...good, port: NaN }, /port NaN is not/],
    [
      "web",
      { ...good, to: "3000" },
      /"3000" has no port, or is not an address; name the server as ADDRESS:PORT/,
    ],
    ["web", { ...good, to: "127.0.0.1" }, /"127\.0\.0\.1" has no port/],
    ["web", { ...good, to: "127.0.0.1:70000" }, /port 70000 is not a number/],
    ["web", { ...good, to: "localhost:3000" }, /"localhost" is not an IP address, "127\.0\.0\.1:3000" is/],
    ["web", { ...good, to: ":3000" }, /"127\.0\.0\.1:3000" is/],
    [
      "web",
      { ...good, to: "example.com:3000" },
      /"example\.com" is not an IP address; EndpointSlices hold addresses/,
    ],
    ["web", { ...good, to: "300.0.0.1:80" }, /"300\.0\.0\.1" is not an IP address/],
    ["web", { ...good, to: "::1:3000" }, /or is not an address; .*"\[::1\]:3000"/],
    ["web", { ...good, to: "[127.0.0.1]:3000" }, /is not an IPv6 address/],
    ["web", { ...good, to: "http://127.0.0.1:3000" }, /is not an address/],
    ["web", { ...good, to: [] }, /no server is named/],
  ];
  for (const [name, options, expected] of table) {
    const result = exposeManifests(name, options);
    assert("error" in result, `${name} ${JSON.stringify(options)}`);
    assertMatch(result.error, expected);
    assert(result.error.startsWith(`Cannot expose "${name}": `));
  }
});

Deno.test("quickstart: the manifests fit together, and the echo backend is where they say", () => {
  const documents = quickstart.flatMap(({ text }) =>
    parseAllDocuments(text).map((document) => {
      assertEquals(document.errors, []);
      return document.toJS();
    })
  );
  assertEquals(documents.map(({ kind, metadata }) => `${kind}/${metadata.name}`), [
    "Service/echo",
    "EndpointSlice/echo",
    "GatewayClass/gatehouse",
    "Gateway/web",
    "HTTPRoute/echo",
  ]);
  const [service, slice, gatewayClass, gateway, route] = documents;
  assertEquals(slice.metadata.labels["kubernetes.io/service-name"], service.metadata.name);
  assertEquals(slice.endpoints[0].addresses, [echoBackend.host]);
  assertEquals([slice.ports[0].port, slice.ports[0].name], [echoBackend.port, service.spec.ports[0].name]);
  assertEquals(service.metadata.name, echoBackend.name);
  assertEquals(gatewayClass.spec.controllerName, "gatehouse.dev/gateway-controller");
  assertEquals(gateway.spec.gatewayClassName, gatewayClass.metadata.name);
  assertEquals(route.spec.parentRefs, [{ name: gateway.metadata.name }]);
  assertEquals(route.spec.rules[0].backendRefs, [{
    name: service.metadata.name,
    port: service.spec.ports[0].port,
  }]);
});

Deno.test("quickstart: the files in the program are those in the folder", async () => {
  const folder = new URL("../../standalone/quickstart/", import.meta.url);
  const files = (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)).filter((name) =>
    name.endsWith(".yaml")
  );
  assertEquals(
    files.sort().map((name) => `standalone/quickstart/${name}`),
    quickstart.map(({ file }) => file),
  );
});
