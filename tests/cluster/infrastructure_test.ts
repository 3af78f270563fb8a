/**
 * Infrastructure on a real API server, whose defaults are what comparisons break on: it is made, comes to rest, is repaired,
 * and leaves alone what is not its own.
 *
 * `CLUSTER_KUBECONFIG` names a cluster, with addresses of both families, to use in place of one of its own.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiObject, Kind } from "../../crds/kind.ts";
import {
  configMap,
  daemonSet,
  deployment,
  type EnvoyFleetSpec,
  gateway,
  gatewayClass,
  horizontalPodAutoscaler,
  namespace,
  podDisruptionBudget,
  service,
  serviceAccount,
} from "../../crds/mod.ts";
import { isStatus } from "../../kube/errors.ts";
import type { Kube, Name, PatchOperation } from "../../kube/types.ts";
import type { Refusal } from "../../controllers/translate/mod.ts";
import { kubeOf } from "../support/kube.ts";
import { startCluster } from "./support/cluster.ts";
import { InfrastructureOperator } from "./support/infrastructure.ts";
import type { Rig } from "../infrastructure/support.ts";

const on: { kubeconfig?: string } = {};

type Raw = { readonly [field: string]: unknown };

/** A namespace of its own with a Gateway `web` in it, and an operator for it. */
class Place implements AsyncDisposable {
  private constructor(
    readonly kube: Kube,
    readonly name: string,
    readonly operator: InfrastructureOperator,
  ) {}

  /** `seen` is the API server as the operator has it. */
  static async make(prefix: string, spec: Raw = {}, seen = (kube: Kube) => kube): Promise<Place> {
    const kube = await kubeOf(on.kubeconfig!, "infrastructure-test");
    const name = `infra-${prefix}-${crypto.randomUUID().slice(0, 8)}`;
    await kube.apply(gatewayClass, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "gatehouse" },
      spec: { controllerName: "gatehouse.dev/gateway-controller" },
    } as never, { fieldManager: "test", force: true });
    await kube.create(namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const place = new Place(kube, name, InfrastructureOperator.start(seen(kube), name));
    await place.gateway(spec);
    return place;
  }

  /** Makes the Gateway what the test wants. */
  async gateway(spec: Raw): Promise<void> {
    await this.kube.apply(gateway, {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { namespace: this.name, name: "web" },
      spec: {
        gatewayClassName: "gatehouse",
        listeners: [{ name: "http", protocol: "HTTP", port: 80 }],
        ...spec,
      },
    } as never, { fieldManager: "test", force: true });
  }

  /** As {@linkcode InfrastructureOperator.applied} has it. */
  line(kind: string, differs: string): string {
    return `${kind}/${this.name}/web-gatehouse: ${differs}`;
  }

  get<T extends ApiObject>(kind: Kind<T>): Promise<T> {
    return this.kube.get(kind, { namespace: this.name, name: "web-gatehouse" });
  }

  async exists(kind: Kind): Promise<boolean> {
    try {
      await this.get(kind);
      return true;
    } catch (error) {
      if (isStatus(error, 404)) return false;
      throw error;
    }
  }

  async versions(): Promise<{ readonly [kind: string]: string | undefined }> {
    const versions: { [kind: string]: string | undefined } = {};
    for (const kind of made) {
      // Others write statuses: only generations and what has none tell of writes to the rest.
      const { metadata } = await this.get<ApiObject>(kind);
      versions[kind.kind] = metadata.generation === undefined
        ? metadata.resourceVersion
        : String(metadata.generation);
    }
    return versions;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator[Symbol.asyncDispose]();
    await this.kube.delete(namespace, { name: this.name });
    this.kube[Symbol.dispose]();
  }
}

const made = [
  serviceAccount,
  configMap,
  service,
  deployment,
  podDisruptionBudget,
] as unknown as readonly Kind[];

type Case = readonly [name: string, fn: () => Promise<void>];

const cases: Case[] = [];
const test = (...one: Case) => void cases.push(one);

Deno.test("infrastructure on a cluster", async (t) => {
  const given = Deno.env.get("CLUSTER_KUBECONFIG");
  await using cluster = given === undefined ? await startCluster() : undefined;
  on.kubeconfig = cluster?.kubeconfig ?? given!;
  for (const [name, fn] of cases) await t.step(name, fn);
});

test("all objects of a Gateway are made, and nothing is written once they are there", async () => {
  await using place = await Place.make("made");
  const { operator } = place;
  await operator.rest();
  assertEquals(operator.applied(), made.map(({ kind }) => place.line(kind, "missing")).sort());
  const before = await place.versions();
  // Everything is looked at once more, and a change of the Gateway that means nothing to them is seen.
  operator.again();
  await place.kube.patch(gateway, { namespace: place.name, name: "web" }, [
    { op: "add", path: "/metadata/annotations", value: { "example.com/seen": "1" } },
  ]);
  await operator.until(
    "the change is seen",
    ({ world }) =>
      world.objects.Gateway.get(`${place.name}/web`)?.metadata.annotations?.["example.com/seen"] === "1",
  );
  await operator.rest();
  assertEquals(operator.told, []);
  assertEquals(await place.versions(), before);
});

test("it comes to rest whatever the fleet is like", async () => {
  await using place = await Place.make("fleets");
  const { operator } = place;
  for (const [i, spec] of fleets.entries()) {
    operator.fleet(spec);
    await operator.until(`fleet ${i} is seen`, ({ fleet }) => fleet.get("spec") === spec);
    await operator.rest(`fleet ${i} is as it should be`);
    assertEquals(operator.told.filter(({ level }) => level !== "info"), [], `fleet ${i}`);
  }
});

/** As many settings as go together, in notations that the API server changes. */
const fleets: readonly EnvoyFleetSpec[] = [
  {
    workload: { kind: "Deployment", replicas: 0, disruption: { minAvailable: "50%" } },
    pod: {
      labels: { "example.com/a": "b" },
      annotations: { "example.com/c": "d" },
      image: "docker.io/envoyproxy/envoy:v1.40.0",
      imagePullPolicy: "IfNotPresent",
      imagePullSecrets: [{ name: "secret" }],
      resources: {
        requests: { cpu: 0.5, memory: "1024Mi" },
        limits: { cpu: "2000m", memory: "1.5Gi", "qat.intel.com/generic": 1 },
      },
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ operator: "Exists" }, {
        key: "a",
        value: "b",
        effect: "NoExecute",
        tolerationSeconds: 60,
      }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "DoesNotExist" }] }],
          },
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{
            weight: 1,
            podAffinityTerm: {
              topologyKey: "kubernetes.io/hostname",
              labelSelector: { matchLabels: { "example.com/a": "b" } },
            },
          }],
        },
      },
      topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
      priorityClassName: "system-cluster-critical",
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
    },
    service: {
      type: "LoadBalancer",
      labels: { "example.com/e": "f" },
      annotations: { "example.com/g": "h" },
      externalTrafficPolicy: "Local",
      loadBalancerSourceRanges: ["10.0.0.0/8"],
      allocateLoadBalancerNodePorts: false,
      ipFamilyPolicy: "PreferDualStack",
      ipFamilies: ["IPv4"],
    },
    drain: { seconds: 0 },
    concurrency: 3,
  },
  {
    workload: {
      autoscaling: { minReplicas: 1, maxReplicas: 3, cpuUtilization: 70, memoryUtilization: 80 },
    },
    service: { type: "NodePort", externalTrafficPolicy: "Local" },
  },
  { workload: { kind: "DaemonSet" }, service: { type: "ClusterIP" }, drain: { seconds: 1 } },
];

test("a Service keeps the family that the API server has added, until one is to be enough", async () => {
  await using place = await Place.make("families");
  const { operator } = place;
  const families = async (spec: NonNullable<EnvoyFleetSpec["service"]>) => {
    operator.fleet({ service: spec });
    await operator.until("the fleet is seen", ({ fleet }) => fleet.get("spec")?.service === spec);
    await operator.rest(JSON.stringify(spec));
    const { ipFamilies, clusterIPs = [] } = (await place.get(service)).spec;
    assertEquals(ipFamilies?.length, clusterIPs.length);
    return ipFamilies;
  };
  await operator.rest();
  const both = ["IPv4", "IPv6"] as const, one = ["IPv4"] as const;
  assertEquals(await families({ ipFamilyPolicy: "PreferDualStack", ipFamilies: one }), both);
  // Made with it, and changed for another reason.
  await place.kube.delete(service, { namespace: place.name, name: "web-gatehouse" });
  await operator.until(
    "it is made again",
    () => operator.told.some(({ message }) => message.startsWith("Made")),
  );
  assertEquals(
    await families({ ipFamilyPolicy: "PreferDualStack", ipFamilies: one, type: "NodePort" }),
    both,
  );
  assertEquals(await families({ ipFamilies: one }), both, "what is not said any more");
  assertEquals(await families({ ipFamilyPolicy: "RequireDualStack", ipFamilies: one }), both);
  assertEquals(await families({ ipFamilyPolicy: "RequireDualStack" }), both);
  assertEquals(await families({ ipFamilyPolicy: "SingleStack", ipFamilies: one }), one);
  assertEquals(await families({ ipFamilyPolicy: "PreferDualStack", ipFamilies: both }), both);
  assertEquals(await families({ ipFamilyPolicy: "SingleStack" }), one);
  assertEquals(operator.told.filter(({ level }) => level !== "info"), []);
});

test("a load balancer keeps its class, and gets what else is wanted of it", async () => {
  await using place = await Place.make("class");
  const { operator } = place;
  await operator.rest();
  const message = async (loadBalancerClass: string, externalTrafficPolicy: "Local" | "Cluster") => {
    operator.fleet({ service: { loadBalancerClass, externalTrafficPolicy } });
    const told = () =>
      [...operator.refusals.entries()].map(([, refusal]) => refusal).find(({ message }) =>
        message.includes(loadBalancerClass)
      );
    await operator.until(loadBalancerClass, () => told() !== undefined);
    assertEquals((await place.get(service)).spec.externalTrafficPolicy, externalTrafficPolicy);
    return told()!.message;
  };
  const own = `Service "${place.name}/web-gatehouse"`;
  assertStringIncludes(
    await message("example.com/a", "Local"),
    `${own} has no loadBalancerClass, which cannot`,
  );
  await place.kube.delete(service, { namespace: place.name, name: "web-gatehouse" });
  await operator.rest();
  assertEquals((await place.get(service)).spec.loadBalancerClass, "example.com/a");
  assertStringIncludes(
    await message("example.com/b", "Cluster"),
    `${own} has loadBalancerClass "example.com/a", `,
  );
  assertEquals(operator.told.filter(({ level }) => level !== "info"), []);
});

test("what somebody changed is put back, with one write", async () => {
  await using place = await Place.make("drift");
  const { operator } = place;
  await operator.rest();
  operator.applied();
  const drifts: readonly (readonly [Kind<ApiObject>, PatchOperation, string])[] = [
    [serviceAccount, { op: "remove", path: "/automountServiceAccountToken" }, "automountServiceAccountToken"],
    [configMap, { op: "replace", path: "/data/envoy.json", value: "{}" }, "data.envoy.json"],
    [configMap, { op: "remove", path: "/data/ca.crt" }, "data.ca.crt"],
    [
      service,
      { op: "replace", path: "/spec/ports/0/targetPort", value: 81 },
      "spec.ports[80/TCP].targetPort",
    ],
    [service, { op: "replace", path: "/spec/type", value: "NodePort" }, "spec.type"],
    [service, { op: "remove", path: "/metadata/annotations" }, "metadata.annotations"],
    [deployment, { op: "replace", path: "/spec/replicas", value: 0 }, "spec.replicas"],
    [
      deployment,
      { op: "replace", path: "/spec/template/spec/containers/0/image", value: "example.com/other" },
      "spec.template.spec.containers[envoy].image",
    ],
    [
      deployment,
      { op: "remove", path: "/spec/template/spec/securityContext/sysctls" },
      "spec.template.spec.securityContext.sysctls",
    ],
    [
      podDisruptionBudget,
      { op: "replace", path: "/spec/maxUnavailable", value: "7%" },
      "spec.maxUnavailable",
    ],
    [
      podDisruptionBudget,
      { op: "remove", path: "/metadata/labels/gateway.networking.k8s.io~1gateway-name" },
      "metadata.labels.gateway.networking.k8s.io/gateway-name",
    ],
    // Without this one it is not even watched any more.
    [deployment, { op: "remove", path: "/metadata/labels/app.kubernetes.io~1managed-by" }, "metadata.labels"],
  ] as never;
  for (const [kind, operation, path] of drifts) {
    await place.kube.patch(kind, { namespace: place.name, name: "web-gatehouse" }, [operation]);
    await operator.until(`${kind.kind} ${path} is put back`, () => operator.told.length > 0);
    await operator.rest(`${kind.kind} ${path}`);
    assertEquals(operator.applied(), [place.line(kind.kind, path)]);
  }
  // What others add is theirs, as long as nobody else has a say in it.
  await place.kube.patch(service, { namespace: place.name, name: "web-gatehouse" }, [
    { op: "add", path: "/metadata/labels/example.com~1theirs", value: "1" },
  ]);
  await operator.until(
    "the label is seen",
    ({ world }) =>
      world.objects.Service.get(`${place.name}/web-gatehouse`)?.metadata.labels?.["example.com/theirs"] ===
        "1",
  );
  await operator.rest();
  assertEquals(operator.told, []);
});

test("what somebody deleted is made again", async () => {
  await using place = await Place.make("deleted");
  const { operator } = place;
  await operator.rest();
  for (const kind of made) {
    operator.applied();
    const { metadata: { uid } } = await place.get<ApiObject>(kind);
    await place.kube.delete(kind, { namespace: place.name, name: "web-gatehouse" });
    await operator.until(`${kind.kind} is made again`, () => operator.told.length > 0);
    await operator.rest();
    assertEquals(operator.applied(), [place.line(kind.kind, "missing")]);
    assert((await place.get<ApiObject>(kind)).metadata.uid !== uid);
  }
});

test("labels, annotations and ports follow the Gateway, to and fro", async () => {
  await using place = await Place.make("labels", {
    infrastructure: { labels: { team: "a" }, annotations: { "example.com/cost": "low" } },
    listeners: [80, 81].map((port) => ({ name: `http-${port}`, protocol: "HTTP", port })),
  });
  const { operator } = place;
  await operator.rest();
  for (const kind of made) {
    const { metadata } = await place.get<ApiObject>(kind);
    assertEquals(metadata.labels?.team, "a", kind.kind);
    assertEquals(metadata.annotations?.["example.com/cost"], "low", kind.kind);
  }
  const template = async () =>
    (await place.get(deployment)).spec.template as { readonly metadata: ApiObject["metadata"] };
  assertEquals((await template()).metadata.labels?.team, "a");
  const ports = async () =>
    (await place.get(service)).spec.ports?.map(({ port, appProtocol }) => [port, appProtocol]);
  assertEquals(await ports(), [[80, "http"], [81, "http"]]);

  await place.gateway({ infrastructure: { labels: { owner: "b" } } });
  await operator.until(
    "the change is seen",
    ({ plans }) => plans.get(`${place.name}/web`)?.labels.owner === "b",
  );
  await operator.rest();
  for (const kind of made) {
    const { metadata } = await place.get<ApiObject>(kind);
    assertEquals([metadata.labels?.team, metadata.labels?.owner], [undefined, "b"], kind.kind);
    assertEquals(metadata.annotations?.["example.com/cost"], undefined, kind.kind);
  }
  assertEquals((await template()).metadata.labels?.team, undefined);
  assertEquals(await ports(), [[80, "http"]]);
});

test("a namesake is left alone and told of, and the Gateway gets its own once it is gone", async () => {
  await using place = await Place.make("namesake", { gatewayClassName: "not-yet" });
  const { operator, kube, name } = place, metadata = { namespace: name, name: "web-gatehouse" };
  const theirs = await kube.create(service, {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { ports: [{ port: 80 }] },
  });
  const account = await kube.create(serviceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await place.gateway({});
  await operator.until("both are told of", () => operator.refusals.size === 2);
  const messages = [...operator.refusals.entries()].map(([, { reason, message }]) => `${reason} ${message}`)
    .sort();
  const remedy =
    "was not made for this Gateway and is left alone; rename or delete it, or give the Gateway another name";
  assertEquals(messages, [
    `NoResources Service "${name}/web-gatehouse" ${remedy}`,
    `NoResources ServiceAccount "${name}/web-gatehouse" ${remedy}`,
  ]);
  const programmed = ({ statuses }: Rig) => {
    const status = statuses.get(`Gateway/${name}/web`);
    return status && "conditions" in status
      ? status.conditions.find(({ type }) => type === "Programmed")
      : undefined;
  };
  await operator.until("the Gateway says so", (rig) => programmed(rig)?.reason === "NoResources");
  assertStringIncludes(programmed(operator.rig)!.message, "left alone");
  // Pods would run as somebody else's ServiceAccount.
  assertEquals(await place.exists(deployment), false);
  assertEquals((await place.get(service)).metadata.resourceVersion, theirs.metadata.resourceVersion);
  assertEquals((await place.get(serviceAccount)).metadata.resourceVersion, account.metadata.resourceVersion);

  await kube.delete(service, metadata);
  await kube.delete(serviceAccount, metadata);
  await operator.rest();
  assertEquals(operator.refusals.size, 0);
  assertEquals(await place.exists(deployment), true);
});

test("a namesake that somebody makes right after there was none is not taken over", async () => {
  const missed: string[] = [];
  const late = async (kube: Kube, { namespace = "", name }: Name) => {
    missed.push(name);
    if (missed.length > 1) return;
    // With nothing in it that applying without force would be in conflict with.
    await kube.create(serviceAccount, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace, name },
    });
  };
  await using place = await Place.make("late", {}, (kube) =>
    new Proxy(kube, {
      get(_, method) {
        const found: unknown = Reflect.get(kube, method);
        if (method !== "get") return typeof found === "function" ? found.bind(kube) : found;
        return async (kind: Kind, name: Name, signal?: AbortSignal) => {
          try {
            return await kube.get(kind, name, signal);
          } catch (error) {
            if (kind.kind === "ServiceAccount") await late(kube, name);
            throw error;
          }
        };
      },
    }));
  const { operator } = place;
  await operator.until("it is told of", () => operator.refusals.size === 1);
  const { metadata } = await place.get(serviceAccount);
  assertEquals(metadata.ownerReferences, undefined);
  assertEquals(missed.length, 1);

  await place.kube.delete(serviceAccount, { namespace: place.name, name: "web-gatehouse" });
  await operator.rest();
  assertEquals(operator.refusals.size, 0);
  assertEquals(missed.length, 2);
});

test("another kind of workload takes over before the old one goes, and the number of pods stays", async () => {
  await using place = await Place.make("workload");
  const { operator } = place, zero = { drain: { seconds: 0 } };
  operator.fleet({ ...zero, workload: { replicas: 2 } });
  await operator.rest();
  assertEquals((await place.get(deployment)).spec.replicas, 2);

  const autoscaling = { minReplicas: 1, maxReplicas: 5 };
  operator.fleet({ ...zero, workload: { autoscaling } });
  await operator.until("there is an autoscaler", ({ cluster }) => cluster.HorizontalPodAutoscaler.size === 1);
  await operator.rest();
  assertEquals((await place.get(deployment)).spec.replicas, 2, "no pod goes for that");
  // From now on the number is the autoscaler's.
  await place.kube.patch(deployment, { namespace: place.name, name: "web-gatehouse" }, [
    { op: "replace", path: "/spec/replicas", value: 3 },
  ]);
  await operator.until(
    "three are seen",
    ({ cluster }) => cluster.Deployment.get(`${place.name}/web-gatehouse`)?.spec.replicas === 3,
  );
  operator.applied();
  operator.fleet({ ...zero, workload: { autoscaling }, pod: { labels: { "example.com/a": "b" } } });
  await operator.until("it is applied", () => operator.told.length > 0);
  await operator.rest();
  assertEquals((await place.get(deployment)).spec.replicas, 3);

  operator.fleet({ ...zero, workload: { kind: "DaemonSet" } });
  await operator.until("the DaemonSet has taken over", ({ cluster }) => cluster.Deployment.size === 0);
  await operator.rest();
  const there = new Set<string>();
  for (
    const kind of [
      deployment,
      daemonSet,
      horizontalPodAutoscaler,
      podDisruptionBudget,
    ] as readonly unknown[] as Kind[]
  ) {
    if (await place.exists(kind)) there.add(kind.kind);
  }
  assertEquals(there, new Set(["DaemonSet"]));
  assertEquals(operator.told.filter(({ level }) => level !== "info"), []);
});

test("what the API server refuses is told in its words, and tried again", async () => {
  await using place = await Place.make("quota", { gatewayClassName: "not-yet" });
  const { operator, kube, name } = place;
  const path = `/api/v1/namespaces/${name}/resourcequotas`;
  await kube.performRequest({
    method: "POST",
    path,
    bodyJson: {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none" },
      spec: { hard: { "services": "0" } },
    },
    expectJson: true,
  });
  await place.gateway({});
  await operator.until("it is told of", () => operator.refusals.size === 1);
  const [[, refusal]] = [...operator.refusals.entries()] as [[string, Refusal]];
  assertEquals(refusal.reason, "NoResources");
  assertStringIncludes(refusal.message, `Cannot apply Service "${name}/web-gatehouse": `);
  assertStringIncludes(refusal.message, "exceeded quota: none");
  await operator.until("the others are made", ({ cluster }) => cluster.Deployment.size === 1);
  await kube.performRequest({ method: "DELETE", path: `${path}/none`, expectJson: true });
  await operator.rest();
  assertEquals(operator.refusals.size, 0);
});

test("nothing is made for what is about to go", async () => {
  await using place = await Place.make("ending");
  const { operator, kube, name } = place;
  await operator.rest();
  operator.applied();
  const key = { namespace: name, name: "web" };
  await kube.patch(gateway, key, [{ op: "add", path: "/metadata/finalizers", value: ["example.com/wait"] }]);
  await kube.delete(gateway, key);
  await operator.until("its end is seen", ({ plans }) => plans.size === 0);
  await kube.delete(service, { namespace: name, name: "web-gatehouse" });
  await operator.until(
    "the Service is seen to be gone",
    ({ world }) => world.objects.Service.get(`${name}/web-gatehouse`) === undefined,
  );
  assertEquals(operator.rig.due.size, 0);
  assertEquals(operator.told, []);
  await kube.patch(gateway, key, [{ op: "remove", path: "/metadata/finalizers" }]);
  // The garbage collector takes the rest. It looks for new kinds every half a minute.
  await operator.until(
    "everything is gone",
    ({ cluster }) =>
      cluster.Deployment.size + cluster.ServiceAccount.size + cluster.PodDisruptionBudget.size === 0,
    90_000,
  );
  assertEquals(operator.told, []);
});

test("with another class of ours there are other objects, and the old ones go", async () => {
  await using place = await Place.make("class");
  const { operator, kube, name } = place;
  const other = `other-${name}`;
  await operator.rest();
  await kube.create(gatewayClass, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: other },
    spec: { controllerName: "gatehouse.dev/gateway-controller" },
  });
  operator.fleet({ workload: { replicas: 0 } });
  await place.gateway({ gatewayClassName: other });
  await operator.until("the class is seen", ({ plans }) => plans.get(`${name}/web`)?.className === other);
  await operator.until(
    "the old ones are gone",
    ({ world, cluster }) =>
      !world.objects.Service.get(`${name}/web-gatehouse`) && !cluster.Deployment.get(`${name}/web-gatehouse`),
  );
  await operator.rest();
  for (const kind of made) assertEquals(await place.exists(kind), false, kind.kind);
  await kube.delete(gatewayClass, { name: other });
});

test("an address that is asked for is the load balancer's, and one that it does not give is told of", async () => {
  await using place = await Place.make("address", {
    addresses: [{ type: "IPAddress", value: "172.18.0.249" }],
  });
  const { operator } = place;
  await operator.rest();
  assertEquals((await place.get(service)).spec.loadBalancerIP, "172.18.0.249");
  // Of the cluster's own addresses the one that is asked for is taken when the Service is made.
  await place.gateway({ addresses: [{ type: "IPAddress", value: "192.0.2.1" }] });
  operator.fleet({ service: { type: "ClusterIP" } });
  await operator.until(
    "the type is seen",
    ({ world }) => world.objects.Service.get(`${place.name}/web-gatehouse`)?.spec.type === "ClusterIP",
  );
  await operator.rest();
  await place.kube.delete(service, { namespace: place.name, name: "web-gatehouse" });
  await operator.until("the API server says no", () => operator.refusals.size === 1);
  const [[, { reason, message }]] = [...operator.refusals.entries()] as [[string, Refusal]];
  assertEquals(reason, "AddressNotUsable");
  assertStringIncludes(message, "192.0.2.1");
});
