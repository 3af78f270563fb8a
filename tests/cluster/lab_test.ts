/** What the test cluster does as a cluster does, since other tests rely on it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Cluster, startCluster } from "./support/cluster.ts";

const namespace = "lab";

/** A cluster for the steps of one test. */
async function labCluster(options?: Parameters<typeof startCluster>[0]): Promise<Cluster> {
  const cluster = await startCluster({ gatewayApi: false, ...options });
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
  return cluster;
}

/** A pod that runs a shell script. */
function shell(
  name: string,
  script: string,
  more: { readonly pod?: object; readonly container?: object } = {},
) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      containers: [{ name: "main", image: "host/shell", args: [script], ...more.container }],
      ...more.pod,
    },
  };
}

/** A pod that answers HTTP. */
function server(name: string, more: { readonly pod?: object; readonly container?: object } = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      containers: [{
        name: "main",
        image: "gatehouse/gatehouse:test",
        args: ["echo", "--host=0.0.0.0", "--port=8080", `--name=${name}`],
        readinessProbe: { httpGet: { port: 8080, path: "/" }, periodSeconds: 1 },
        ...more.container,
      }],
      ...more.pod,
    },
  };
}

const main = (pod: string) => ({ namespace, pod, container: "main" });

Deno.test("lab: pods run, Services lead to them, load balancers have addresses", async (t) => {
  await using cluster = await labCluster();
  await cluster.apply([
    server("web"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace },
      spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
    shell("client", "sleep 1000"),
  ]);
  const pod = await cluster.ready(namespace, "web"), client = await cluster.ready(namespace, "client");
  const service = await cluster.until({ what: "an address" }, async () => {
    const found = await cluster.get(`/api/v1/namespaces/${namespace}/services/web`);
    return found?.status?.loadBalancer?.ingress && found;
  });
  const addresses = {
    "the pod": `${pod.status.podIP}:8080`,
    "the Service": service.spec.clusterIP,
    "the load balancer": service.status.loadBalancer.ingress[0].ip,
  };
  for (const [what, address] of Object.entries(addresses)) {
    for (const [from, inside] of [["the node", undefined], ["a pod", client]] as const) {
      await t.step(`${what}, from ${from}`, async () => {
        const { out } = await cluster.until({ what: `${what} to answer` }, async () => {
          const result = await cluster.exec(["curl", "-sS", "-m1", `http://${address}/x`], { pod: inside });
          return result.code === 0 && result;
        });
        assertEquals(JSON.parse(out).path, "/x");
      });
    }
  }
  await t.step("names are resolved in pods", async () => {
    await cluster.apply([
      shell("named", "until curl -sS -m1 http://web.lab/by-name; do sleep 0.1; done; sleep 1000"),
    ]);
    await cluster.until(
      { what: "an answer by name" },
      async () => (await cluster.logs(main("named"))).includes("/by-name"),
    );
  });
  await t.step("kubectl reads logs", async () => {
    assertStringIncludes(await cluster.kubectl("logs", "-n", namespace, "named"), "/by-name");
  });
  await t.step("a Deployment keeps its replicas", async () => {
    const { spec } = server("replicated");
    await cluster.apply([{
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "replicated", namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "replicated" } },
        template: { metadata: { labels: { app: "replicated" } }, spec },
      },
    }]);
    const available = () =>
      cluster.until({ what: "two replicas" }, async () => {
        const { items } = await cluster.get(
          `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dreplicated`,
        );
        return items.filter((p: { status: { containerStatuses?: { ready: boolean }[] } }) =>
              p.status.containerStatuses?.[0]?.ready
            ).length === 2 && items;
      });
    const [first] = await available();
    await cluster.kubectl("delete", "pod", "-n", namespace, first.metadata.name, "--wait=false");
    await cluster.until(
      { what: "the pod to go" },
      async () => !await cluster.get(`/api/v1/namespaces/${namespace}/pods/${first.metadata.name}`),
    );
    const names = (await available()).map((p: { metadata: { name: string } }) => p.metadata.name);
    assert(!names.includes(first.metadata.name));
  });
});
