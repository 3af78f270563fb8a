/**
 * A Gateway on a cluster, from nothing to an answer: the operator in a pod, Envoys in pods, a load balancer in front.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { annotations, managedSelector } from "../../controllers/infrastructure/names.ts";
import { type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { otherEnvoy } from "./support/images.ts";
import { denials, installGatehouse, replicasOf, system } from "./support/installation.ts";
import { sendTraffic } from "./support/traffic.ts";

const edge = "edge";

/** A namespace that takes pods without any privileges alone, and a Gateway in it, with something behind. */
const web: readonly Json[] = [
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: edge, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  },
  {
    apiVersion: "gatehouse.dev/v1alpha1",
    kind: "EnvoyFleet",
    metadata: { namespace: edge, name: "web" },
    spec: { workload: { replicas: 2 }, drain: { seconds: 2 } },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { namespace: edge, name: "web" },
    spec: {
      gatewayClassName: "gatehouse",
      infrastructure: { parametersRef: { group: "gatehouse.dev", kind: "EnvoyFleet", name: "web" } },
      listeners: [{
        name: "http",
        protocol: "HTTP",
        port: 80,
        allowedRoutes: { namespaces: { from: "All" } },
      }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "echo", labels: { app: "echo" } },
    spec: {
      containers: [{
        name: "echo",
        image: "localhost/gatehouse:test",
        args: ["echo", "--host=0.0.0.0", "--port=8080", "--name=echo"],
        readinessProbe: { httpGet: { port: 8080, path: "/" }, periodSeconds: 1 },
      }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "echo" },
    spec: { selector: { app: "echo" }, ports: [{ port: 8080 }] },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { namespace: "default", name: "echo" },
    spec: {
      parentRefs: [{ namespace: edge, name: "web" }],
      rules: [{ backendRefs: [{ name: "echo", port: 8080 }] }],
    },
  },
];

const gatewayPath = `/apis/gateway.networking.k8s.io/v1/namespaces/${edge}/gateways/web`;

const ours = encodeURIComponent(managedSelector);

/** Where the objects of the Gateway are. */
const children = [
  ...["pods", "services", "serviceaccounts", "configmaps"].map((plural) =>
    `/api/v1/namespaces/${edge}/${plural}`
  ),
  ...["deployments", "daemonsets"].map((plural) => `/apis/apps/v1/namespaces/${edge}/${plural}`),
  `/apis/policy/v1/namespaces/${edge}/poddisruptionbudgets`,
].map((path) => `${path}?labelSelector=${ours}`);

/** The address of the Gateway, once it and its route are programmed, and what is behind is ready. */
async function programmed(cluster: Cluster): Promise<string> {
  await cluster.ready("default", "echo");
  await cluster.until({ what: "the route to be programmed", seconds: 120 }, async () => {
    const found = await cluster.get("/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/echo");
    return isTrue({ status: found?.status?.parents?.[0] }, "Programmed");
  });
  const gateway = await cluster.until({ what: "the Gateway to be programmed", seconds: 120 }, async () => {
    const found = await cluster.get(gatewayPath);
    return isTrue(found, "Programmed") && found;
  });
  return gateway.status.addresses[0].value;
}

async function podsOf(cluster: Cluster): Promise<readonly Json[]> {
  return (await cluster.get(`/api/v1/namespaces/${edge}/pods`)).items;
}

/** The EnvoyFleet with more settings. */
const fleetWith = (settings: Json): Json => ({
  apiVersion: "gatehouse.dev/v1alpha1",
  kind: "EnvoyFleet",
  metadata: { namespace: edge, name: "web" },
  spec: { workload: { replicas: 2 }, drain: { seconds: 5 }, ...settings },
});

/** Makes a change under traffic, waits for other pods, and gives these. No request may be lost. */
async function roll(cluster: Cluster, change: () => Promise<unknown>): Promise<readonly Json[]> {
  const address = await programmed(cluster);
  await using traffic = sendTraffic(cluster, address, "echo.example.com");
  await traffic.more();
  const before = (await podsOf(cluster)).map(({ metadata }) => metadata.name);
  await change();
  const pods = await cluster.until({ what: "other pods", seconds: 90 }, async () => {
    const after = await podsOf(cluster);
    return after.length === 2 && after.every(({ metadata }) => !before.includes(metadata.name)) && after;
  });
  await traffic.more();
  const { answers, connections, failures } = await traffic.stop();
  assertEquals(failures, []);
  assert(answers.http1 > 200 && answers.http2 > 200, "there was traffic");
  assert(connections.http1 > 3 && connections.http2 > 1, "clients have moved");
  return pods;
}

/** The environment of the processes in a pod. */
async function environmentOf(cluster: Cluster, { metadata: { uid } }: Json): Promise<readonly string[]> {
  const script = `for pid in $(ip netns pids pod-${uid.slice(0, 13)}); do cat /proc/$pid/environ; done`;
  const { code, out, err } = await cluster.exec(["sh", "-c", script]);
  assertEquals(code, 0, err);
  return out.split("\0");
}

Deno.test("a Gateway on a cluster", async (t) => {
  await using cluster = await startCluster();
  await installGatehouse(cluster);
  await cluster.apply(web);

  await t.step("it gets proxies and an address, and answers there", async () => {
    const address = await programmed(cluster);
    // Where what is behind is ready, its endpoints are told of a while later.
    const answer = await cluster.until({ what: "an answer" }, async () => {
      const { code, out } = await cluster.exec(["curl", "--silent", "--fail", `http://${address}/`]);
      return code === 0 && out;
    });
    assertStringIncludes(answer, "echo");
    const pods = await cluster.get(`/api/v1/namespaces/${edge}/pods`);
    assertEquals(pods.items.length, 2);
  });

  await t.step("each request is a line of JSON in the log of its proxy", async () => {
    const line = await cluster.until({ what: "the request in a log", seconds: 30 }, async () => {
      const logs = await Promise.all(
        (await podsOf(cluster)).map(({ metadata: { name: pod } }) =>
          cluster.logs({ namespace: edge, pod, container: "envoy" })
        ),
      );
      const lines = logs.join("\n").split("\n").filter((line) => line.startsWith("{"));
      return lines.map((line) => JSON.parse(line)).find(({ status }) => status === 200);
    });
    const { method, path, status, gateway, route, cluster: backend } = line;
    assertEquals([method, path, status, gateway], ["GET", "/", 200, `${edge}/web`]);
    assertStringIncludes(route, "default/echo");
    assertStringIncludes(backend, "default/echo");
  });

  await t.step("another template replaces its proxies, and loses no request", async () => {
    await roll(cluster, () => cluster.apply([fleetWith({ concurrency: 2 })]));
  });

  const deployment = async () =>
    (await cluster.get(`/apis/apps/v1/namespaces/${edge}/deployments?labelSelector=${ours}`)).items[0];
  const restartedAt = ({ spec }: Json): string | undefined =>
    spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"];

  await t.step("so does a restart by kubectl, which nobody undoes", async () => {
    const before = await deployment();
    const restart = ["rollout", "restart", `--namespace=${edge}`, `deployment/${before.metadata.name}`];
    await roll(cluster, () => cluster.kubectl(...restart));
    const after = await deployment();
    assert(restartedAt(before) === undefined && restartedAt(after) !== undefined);
    assertEquals(after.metadata.generation, before.metadata.generation + 1, "one write, which is kubectl's");
  });

  const stats = { prefixes: ["http."] };
  await t.step("so does another bootstrap, and what kubectl wrote stays", async () => {
    const before = await deployment(), annotation = annotations.config;
    await roll(cluster, () => cluster.apply([fleetWith({ concurrency: 2, stats })]));
    const after = await deployment(), { template } = after.spec;
    assert(
      template.metadata.annotations[annotation] !== before.spec.template.metadata.annotations[annotation],
    );
    assertEquals(restartedAt(after), restartedAt(before));
  });

  await t.step("so does another image, which is then what runs", async () => {
    const image = `${otherEnvoy}:v2`, variable = `IMAGE=${otherEnvoy}`;
    for (const pod of await podsOf(cluster)) {
      assert(!(await environmentOf(cluster, pod)).includes(variable), "it ran another one before");
    }
    const other = () => cluster.apply([fleetWith({ concurrency: 2, stats, pod: { image } })]);
    for (const pod of await roll(cluster, other)) {
      const { status: { containerStatuses: [{ imageID }] } } = pod;
      assertEquals(imageID, `lab://${image}`);
      assert((await environmentOf(cluster, pod)).includes(variable));
    }
  });

  await t.step("it goes with everything that was made for it, and nothing is made again", async () => {
    await cluster.kubectl("delete", `--namespace=${edge}`, "--wait=false", "gateway", "web");
    await cluster.until({ what: "the Gateway and its objects to go", seconds: 90 }, async () => {
      const lists = await Promise.all([gatewayPath, ...children].map((path) => cluster.get(path)));
      return lists.every((list) => list === undefined || list.items?.length === 0);
    });
    const { events } = await cluster.audit();
    const made = events.filter(({ verb, userAgent = "", objectRef, responseStatus }) =>
      verb === "patch" && userAgent.includes("(operator") && objectRef?.resource === "deployments" &&
      responseStatus?.code === 201
    );
    assertEquals(made.length, 1);
  });

  await t.step("the operator has nothing to complain of", async () => {
    const logs = await Promise.all(
      (await replicasOf(cluster)).map((pod) =>
        cluster.logs({ namespace: system, pod: pod.metadata.name, container: "operator" })
      ),
    );
    assertEquals(logs.length, 2);
    const lines = logs.flatMap((log) => log.trim().split("\n").map((line) => JSON.parse(line)));
    assertEquals(lines.filter(({ message }) => message === "Leading").length, 1);
    // The specification names the finalizer of GatewayClasses, and the API server would rather have another name. For a moment, it
    // has no storage yet for kinds that have just been defined.
    const complaints = lines.filter(({ level, warning = "", error = "" }) =>
      level !== "info" && !warning.includes("prefer a domain-qualified finalizer name") &&
      !error.includes("(re)initializing")
    );
    assertEquals(complaints, []);
    assertEquals(denials((await cluster.audit()).events), [], "it has the rights that it needs");
  });
});
