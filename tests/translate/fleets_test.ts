/**
 * What EnvoyFleets come to: merged settings, Gateways that follow changes of them, statuses.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiObject, EnvoyFleet, EnvoyFleetSpec } from "../../crds/mod.ts";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { mergeFleet } from "../../controllers/translate/fleet.ts";
import { defaultConfig } from "../../controllers/translate/mod.ts";
import { gateway, gatewayClass, type Raw, stored } from "./cluster.ts";

const config = { clusterDomain: "cluster.local", accessLog: true };
const merged = (...specs: readonly EnvoyFleetSpec[]) =>
  mergeFleet(specs.map((spec, i) => ({ namespace: `ns${i}`, spec })), config);

Deno.test("without any EnvoyFleet there is what is good for most", () => {
  assertEquals(merged(), {
    workload: { kind: "Deployment", replicas: 1, disruption: { maxUnavailable: 1 } },
    pod: {
      labels: {},
      annotations: {},
      imagePullSecrets: [],
      resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: {} },
      nodeSelector: {},
      tolerations: [],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
        { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
      ],
      securityContext: {},
    },
    service: { type: "LoadBalancer", labels: {}, annotations: {} },
    drain: { seconds: 60 },
    logLevel: "warning",
    accessLog: { fields: {} },
    stats: { all: false, prefixes: [] },
  });
});

Deno.test("objects are merged by field, maps by key, lists and wholes are replaced", () => {
  const { pod, service } = merged(
    {
      pod: {
        labels: { a: "1", b: "1" },
        resources: { requests: { cpu: 1 }, limits: { memory: "1Gi" } },
        tolerations: [{ key: "a" }],
        affinity: { nodeAffinity: {} },
      },
      service: { externalTrafficPolicy: "Local", annotations: { a: "1" } },
    },
    {
      pod: {
        labels: { b: "2", c: "2" },
        resources: { requests: { memory: "1Gi" } },
        tolerations: [{ key: "b" }],
        affinity: { podAffinity: {} },
      },
      service: { annotations: { b: "2" } },
    },
  );
  assertEquals(pod.labels, { a: "1", b: "2", c: "2" });
  assertEquals(pod.resources, { requests: { cpu: 1, memory: "1Gi" }, limits: { memory: "1Gi" } });
  assertEquals(pod.tolerations, [{ key: "b" }]);
  assertEquals(pod.affinity, { podAffinity: {} });
  assertEquals(service.externalTrafficPolicy, "Local");
  assertEquals(service.annotations, { a: "1", b: "2" });
});

Deno.test("of what excludes one another the Gateway's stays", () => {
  const { workload } = merged({ workload: { autoscaling: { maxReplicas: 5 } } }, {
    workload: { replicas: 3 },
  });
  assertEquals(workload, { kind: "Deployment", replicas: 3, disruption: { maxUnavailable: 1 } });
  assertEquals(
    merged({ workload: { replicas: 3 } }, { workload: { autoscaling: { maxReplicas: 5 } } }).workload,
    {
      kind: "Deployment",
      autoscaling: { minReplicas: 1, maxReplicas: 5, cpuUtilization: 80 },
      disruption: { maxUnavailable: 1 },
    },
  );
  assertEquals(merged({ workload: { replicas: 3 } }, { workload: { kind: "DaemonSet" } }).workload, {
    kind: "DaemonSet",
  });
  assertEquals(merged({ accessLog: { fields: { a: "b" } } }, { accessLog: { text: "t" } }).accessLog, {
    text: "t",
  });
  assertEquals(merged({ accessLog: { text: "t" } }, { accessLog: { fields: { a: "b" } } }).accessLog, {
    fields: { a: "b" },
  });
});

Deno.test("what does not apply is left out, and bounds that cross are widened", () => {
  const service = { externalTrafficPolicy: "Local", loadBalancerClass: "a" } as const;
  assertEquals(merged({ service }, { service: { type: "ClusterIP" } }).service, {
    type: "ClusterIP",
    labels: {},
    annotations: {},
  });
  assertEquals(merged({ service }, { service: { type: "NodePort" } }).service, {
    type: "NodePort",
    labels: {},
    annotations: {},
    externalTrafficPolicy: "Local",
  });
  const { workload } = merged(
    { workload: { autoscaling: { maxReplicas: 5, memoryUtilization: 70 } } },
    { workload: { autoscaling: { minReplicas: 8 } } },
  );
  assertEquals(workload, {
    kind: "Deployment",
    autoscaling: { minReplicas: 8, maxReplicas: 8, memoryUtilization: 70 },
    disruption: { maxUnavailable: 1 },
  });
});

Deno.test("access logs and traces can be switched off, and on where nothing is said by an installation", () => {
  assertEquals(
    merged({ accessLog: { fields: { a: "b" } } }, { accessLog: { enabled: false } }).accessLog,
    undefined,
  );
  const quiet = { ...config, accessLog: false };
  const logs = (spec: EnvoyFleetSpec) => mergeFleet([{ namespace: "a", spec }], quiet).accessLog;
  assertEquals(logs({}), undefined);
  assertEquals(logs({ accessLog: {} }), { fields: {} });
  const collector = { service: { name: "otel" } };
  assertEquals(merged({ tracing: { collector } }, { tracing: { enabled: false } }).tracing, undefined);
  assertEquals(merged({ tracing: { attributes: { a: "b" } } }).tracing, undefined);
});

Deno.test("a collector's Service is in the namespace of the EnvoyFleet that names it", () => {
  const collector = (specs: readonly EnvoyFleetSpec[]) => merged(...specs).tracing?.collector;
  const named = { tracing: { collector: { service: { name: "otel" } } } };
  assertEquals(collector([named, {}]), { host: "otel.ns0.svc.cluster.local", port: 4317 });
  assertEquals(collector([{}, named]), { host: "otel.ns1.svc.cluster.local", port: 4317 });
  assertEquals(
    collector([named, { tracing: { collector: { service: { name: "a", namespace: "b" }, port: 1 } } }]),
    { host: "a.b.svc.cluster.local", port: 1 },
  );
});

const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];

function fleet(name: string, spec: EnvoyFleetSpec): Raw {
  return stored({ apiVersion: "gatehouse.dev/v1alpha1", kind: "EnvoyFleet", metadata: { name }, spec });
}

function refersTo(name: string): Raw {
  return { group: "gatehouse.dev", kind: "EnvoyFleet", name };
}

function world(...objects: readonly Raw[]): Batch {
  const ofClass = gatewayClass();
  return translate([
    { ...ofClass, spec: { ...ofClass.spec, parametersRef: { ...refersTo("class"), namespace: "default" } } },
    gateway("plain", listeners),
    gateway("own", listeners, { spec: { infrastructure: { parametersRef: refersTo("own") } } }),
    ...objects,
  ] as ApiObject[], defaultConfig);
}

const set = (batch: Batch, object: Raw) => {
  batch.world.objects.EnvoyFleet.set(`default/${object.metadata.name}`, object as unknown as EnvoyFleet);
  batch.graph.settle();
};

function conditionOf(batch: Batch, key: string, type: string) {
  const status = batch.statuses.get(key);
  if (!status || !("conditions" in status)) return undefined;
  return status.conditions.find((condition) => condition.type === type);
}

Deno.test("what is missing is named on the class and on its Gateways, and heals once it is there", () => {
  const batch = world();
  const missing = 'EnvoyFleet "default/class": there is no such EnvoyFleet';
  for (const key of ["GatewayClass/gatehouse", "Gateway/default/plain"]) {
    const accepted = conditionOf(batch, key, "Accepted");
    assertEquals([accepted?.status, accepted?.reason], ["False", "InvalidParameters"], key);
    assertStringIncludes(accepted!.message, missing);
  }
  assertStringIncludes(conditionOf(batch, "Gateway/default/own", "Accepted")!.message, '"default/own"');
  assertEquals(batch.gateways.get("default/plain")?.refused?.includes(missing), true);

  set(batch, fleet("class", { workload: { replicas: 2 } }));
  assertEquals(conditionOf(batch, "GatewayClass/gatehouse", "Accepted")?.status, "True");
  assertEquals(conditionOf(batch, "Gateway/default/plain", "Accepted")?.status, "True");
  assertEquals(batch.gateways.get("default/plain")?.refused, undefined);
  assertEquals(conditionOf(batch, "Gateway/default/own", "Accepted")?.status, "False");

  set(batch, fleet("own", {}));
  assertEquals(conditionOf(batch, "Gateway/default/own", "Accepted")?.status, "True");
});

Deno.test("an EnvoyFleet that goes away leaves proxies serving", () => {
  const batch = world(fleet("class", {}), fleet("own", {}));
  const before = [...batch.ir.listeners.entries()];
  assertEquals(before.length, 2);
  batch.world.objects.EnvoyFleet.delete("default/class");
  batch.graph.settle();
  assertEquals(conditionOf(batch, "Gateway/default/plain", "Accepted")?.status, "False");
  assertEquals([...batch.ir.listeners.entries()], before);
});

Deno.test("a change flows through to every Gateway of the class, and to no more than that", () => {
  const batch = world(
    fleet("class", { workload: { replicas: 2 } }),
    fleet("own", { workload: { replicas: 5 } }),
  );
  const replicas = (name: string) => {
    const workload = batch.gateways.get(`default/${name}`)?.fleet.workload;
    return workload?.kind === "Deployment" ? workload.replicas : undefined;
  };
  assertEquals([replicas("plain"), replicas("own")], [2, 5]);
  set(batch, fleet("class", { workload: { replicas: 3 } }));
  assertEquals([replicas("plain"), replicas("own")], [3, 5]);
  assertEquals([...batch.gateways.changed], ["default/plain"]);
  assertEquals(batch.ir.listeners.changed.size, 0);
});

Deno.test("an EnvoyFleet says whether it is valid and whether the proxies of its Gateways are up to date", () => {
  const batch = world(fleet("class", {}), fleet("own", {}), fleet("unused", {}));
  assertEquals(batch.statuses.get("EnvoyFleet/default/unused"), undefined);
  const progress = (name: string) => {
    const { status, message } = conditionOf(batch, `EnvoyFleet/default/${name}`, "Programmed")!;
    return [status, message];
  };
  assertEquals(conditionOf(batch, "EnvoyFleet/default/class", "Accepted")?.status, "True");
  assertEquals(progress("class"), ["False", 'Waiting for the proxies of "default/own" and "default/plain"']);
  assertEquals(progress("own"), ["False", 'Waiting for the proxies of "default/own"']);
  const verdict = { generation: 1, state: "programmed", message: "" } as const;
  batch.world.verdicts.set("default/own|Gateway/default/own", verdict);
  batch.graph.settle();
  assertEquals(progress("class"), ["False", 'Waiting for the proxies of "default/plain"']);
  assertEquals(progress("own")[0], "True");
  batch.world.verdicts.set("default/plain|Gateway/default/plain", verdict);
  batch.graph.settle();
  assertEquals(progress("class")[0], "True");
  const due = batch.due.get("EnvoyFleet/default/class");
  assertEquals(due?.patch.map(({ path }) => path), [
    "/metadata/resourceVersion",
    "/status",
    "/status/conditions",
  ]);
});
