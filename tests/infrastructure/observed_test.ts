/**
 * What translation is told of a cluster: which proxies a Gateway is expected to have, and where it is reached.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { deriveAddresses } from "../../controllers/infrastructure/addresses.ts";
import { childName, labelValue, ownerReference } from "../../controllers/infrastructure/child_names.ts";
import { labels } from "../../controllers/infrastructure/names.ts";
import { deriveProxies } from "../../controllers/infrastructure/proxies.ts";
import { createClusterWorld } from "../../controllers/infrastructure/world.ts";
import { Graph, type Source } from "../../controllers/runtime/graph.ts";
import type { Gateway, Service } from "../../crds/mod.ts";
import { gateway, type Raw, stored } from "../translate/cluster.ts";

function rig() {
  const graph = new Graph({ freeze: true });
  const cluster = createClusterWorld(graph);
  const objects = { Gateway: graph.source<Gateway>("Gateway"), Service: graph.source<Service>("Service") };
  const { proxies, pods, draining, shortages } = deriveProxies(graph, { objects }, cluster);
  const addresses = deriveAddresses(graph, { objects });
  return {
    graph,
    proxies,
    pods,
    shortages,
    draining,
    addresses,
    gateway(name: string, spec: Raw = {}) {
      (objects.Gateway as unknown as Source<Raw>).set(`default/${name}`, gateway(name, [], { spec }));
    },
    pod(
      name: string,
      ofGateway: string,
      { ready = true, scheduled = { status: "True" }, ...metadata }: Raw = {},
      account?: string,
    ) {
      (cluster.Pod as unknown as Source<Raw>).set(
        `default/${name}`,
        stored({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, labels: { [labels.gatewayName]: labelValue(ofGateway) }, ...metadata },
          spec: { serviceAccountName: account ?? childName(ofGateway, "gatehouse") },
          status: {
            conditions: [
              { type: "Ready", status: ready ? "True" : "False" },
              { type: "PodScheduled", ...scheduled },
            ],
          },
        }),
      );
    },
    service(ofGateway: string, spec: Raw, ingress: readonly Raw[] = [], uid = `Gateway/${ofGateway}`) {
      const name = childName(ofGateway, "gatehouse");
      (objects.Service as unknown as Source<Raw>).set(
        `default/${name}`,
        stored({
          apiVersion: "v1",
          kind: "Service",
          metadata: { name, ownerReferences: [ownerReference(ofGateway, uid)] },
          spec,
          status: { loadBalancer: { ingress } },
        }),
      );
    },
  };
}

Deno.test("a Gateway without a proxy is short of something if there is no node for its pods", () => {
  const { graph, shortages, gateway, pod } = rig();
  const full = { status: "False", reason: "Unschedulable", message: "0/3 nodes are available" };
  gateway("web");
  pod("gone", "web", { ready: false, scheduled: full, deletionTimestamp: "2026-01-01T00:00:00Z" });
  pod("starting", "web", { ready: false });
  pod("gated", "web", { ready: false, scheduled: { status: "False", reason: "SchedulingGated" } });
  graph.settle();
  assertEquals(shortages.get("default/web"), undefined);
  pod("waiting", "web", { ready: false, scheduled: full });
  graph.settle();
  assertEquals(shortages.get("default/web"), 'No node can take pod "waiting": 0/3 nodes are available');
  // One is enough to be served.
  pod("starting", "web");
  graph.settle();
  assertEquals(shortages.get("default/web"), undefined);
});

Deno.test("the pods that are ready and stay are expected, of the Gateway that they run for", () => {
  const long = "a".repeat(200), { graph, proxies, pods, draining, gateway, pod } = rig();
  gateway("web");
  gateway(long);
  graph.settle();
  assertEquals(proxies.get("default/web"), undefined);

  pod("web-1", "web");
  pod("web-2", "web");
  pod("starting", "web", { ready: false });
  pod("ending", "web", { deletionTimestamp: "2026-01-01T00:00:00Z" });
  pod("forged", "web", {}, "default");
  pod("long-1", long);
  graph.settle();
  assertEquals(proxies.get("default/web"), [{ id: "default/web-1" }, { id: "default/web-2" }]);
  assertEquals(proxies.get(`default/${long}`), [{ id: "default/long-1" }]);
  assertEquals(pods.get("default/ending")?.terminating, true);
  assertEquals(pods.get("default/starting")?.terminating, false);
  assertEquals([...draining.entries()], [["default/ending", true]]);

  pod("web-1", "web", { ready: false });
  graph.settle();
  assertEquals(proxies.get("default/web"), [{ id: "default/web-2" }]);
  // Pods of a class that the Gateway has left serve it no longer.
  gateway("web", { gatewayClassName: "other" });
  graph.settle();
  assertEquals(proxies.get("default/web"), undefined);
});

Deno.test("a Gateway is where its Service is reached", () => {
  const { graph, addresses, gateway, service } = rig();
  gateway("web");
  const assigned = () => {
    graph.settle();
    return addresses.get("default/web")?.assigned;
  };
  assertEquals(assigned(), undefined);
  service("web", { type: "LoadBalancer", clusterIP: "10.96.0.9" });
  assertEquals(assigned(), []);
  service("web", { type: "LoadBalancer" }, [{ ip: "192.0.2.1" }, { hostname: "lb.example.com" }, {}]);
  assertEquals(assigned(), [
    { type: "IPAddress", value: "192.0.2.1" },
    { type: "Hostname", value: "lb.example.com" },
  ]);
  for (const type of ["ClusterIP", "NodePort"]) {
    service("web", { type, clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9", "fd00::9"] });
    assertEquals(assigned(), [
      { type: "IPAddress", value: "10.96.0.9" },
      { type: "IPAddress", value: "fd00::9" },
    ]);
  }
  service("web", { type: "ClusterIP", clusterIP: "10.96.0.9" }, [], "somebody else");
  assertEquals(assigned(), undefined, "a namesake's address");
});

Deno.test("an address that was asked for and cannot be had is told with the remedy", () => {
  const { graph, addresses, gateway, service } = rig();
  const ask = (...values: readonly string[]) =>
    gateway("web", { addresses: values.map((value) => ({ type: "IPAddress", value })) });
  const unusable = () => {
    graph.settle();
    return addresses.get("default/web")?.unusable;
  };
  ask("192.0.2.1", "192.0.2.2");
  service("web", { type: "LoadBalancer" }, [{ ip: "192.0.2.9" }]);
  assertEquals(unusable(), [
    {
      value: "192.0.2.1",
      message:
        'the load balancer of Service "default/web-gatehouse" has not given it; ask for one that it can give, or for none',
    },
    {
      value: "192.0.2.2",
      message: "a Service can be asked for one address, which is 192.0.2.1; remove it from spec.addresses",
    },
  ]);
  service("web", { type: "LoadBalancer" }, [{ ip: "192.0.2.1" }, { ip: "192.0.2.2" }]);
  assertEquals(unusable(), undefined);

  ask("2001:DB8:0::1");
  service("web", { type: "LoadBalancer" }, [{ ip: "2001:db8::1" }]);
  assertEquals(unusable(), undefined, "written differently");

  ask("10.96.0.1");
  service("web", { type: "ClusterIP", clusterIP: "10.96.0.9" });
  assertEquals(unusable()?.map(({ message }) => message), [
    'Service "default/web-gatehouse" has been made with another one; delete it to have it made anew, or ask for none',
  ]);
  ask("");
  assertEquals(unusable(), undefined, "an empty value is any address");
});
