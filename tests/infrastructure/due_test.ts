/**
 * Which writes are due: exactly those that change something, in an order in which pods never start with something else.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { keyOf } from "../../crds/mod.ts";
import { ownerReference } from "../../controllers/infrastructure/child_names.ts";
import { annotations, authorityKey, labels } from "../../controllers/infrastructure/names.ts";
import { gateway, gatewayClass, http, type Raw, stored } from "../translate/cluster.ts";
import { infrastructure, type Rig } from "./support.ts";

const issued = { version: 1000 };

/** Does what is due as an API server would, and says which rows that were. */
function write(rig: Rig): readonly string[] {
  const rows = [...rig.due.entries()].sort(([a], [b]) => a < b ? -1 : 1);
  for (const [, due] of rows) {
    if (due.action === "apply") rig.show(applied(due.object));
    if (due.action === "delete") {
      rig.hide({ apiVersion: "", kind: due.kind, metadata: { namespace: due.namespace, name: due.name } });
    }
  }
  rig.graph.settle();
  return rows.map(([row, { action }]) => action === "apply" ? row : `${action}: ${row}`);
}

function applied(object: ApiObject): ApiObject {
  const { metadata } = object;
  const resourceVersion = String(++issued.version);
  return {
    ...object,
    metadata: { ...metadata, uid: metadata.uid ?? `${object.kind}/${metadata.name}`, resourceVersion },
  };
}

/** The Gateway `default/web`, with everything that it is to have. */
function settled(...listeners: readonly Raw[]): Rig {
  const rig = infrastructure([
    gatewayClass() as ApiObject,
    gateway("web", listeners.length > 0 ? listeners : [http]) as ApiObject,
  ]);
  while (write(rig).length > 0);
  return rig;
}

function show(rig: Rig, ...objects: readonly Raw[]): void {
  for (const object of objects) rig.show(object as ApiObject);
  rig.graph.settle();
}

/** The child of one kind as it was observed. */
function observed(rig: Rig, kind: string): Raw {
  const table = (rig.cluster as Raw)[kind] ?? (rig.world.objects as Raw)[kind];
  return table.get("default/web-gatehouse");
}

function rows(rig: Rig): readonly string[] {
  return [...rig.due.entries()].map(([row]) => row).sort();
}

Deno.test("due: pods wait for what they need, and then there is nothing to do", () => {
  const rig = infrastructure([gatewayClass() as ApiObject, gateway("web", [http]) as ApiObject]);
  assertEquals(write(rig), [
    "ConfigMap/default/web",
    "PodDisruptionBudget/default/web",
    "Service/default/web",
    "ServiceAccount/default/web",
  ]);
  assertEquals(write(rig), ["Deployment/default/web"]);
  assertEquals(write(rig), []);
});

Deno.test("due: without authorities nothing is started, and new ones do not restart anything", () => {
  const rig = infrastructure([gatewayClass() as ApiObject, gateway("web", [http]) as ApiObject]);
  rig.authorities.delete(authorityKey);
  rig.graph.settle();
  assertEquals(rows(rig), [
    "PodDisruptionBudget/default/web",
    "Service/default/web",
    "ServiceAccount/default/web",
  ]);
  rig.authorities.set(authorityKey, "first");
  rig.graph.settle();
  while (write(rig).length > 0);
  rig.authorities.set(authorityKey, "first and second");
  rig.graph.settle();
  assertEquals(write(rig), ["ConfigMap/default/web"]);
  assertEquals(observed(rig, "ConfigMap").data[authorityKey], "first and second");
  assertEquals(rows(rig), []);
});

Deno.test("due: what is read once makes new pods, after it is there to be read", () => {
  const rig = settled();
  // The port that proxies would be asked on whether they are ready is a listener's now.
  show(rig, gateway("web", [http, { ...http, name: "high", port: 19001 }]));
  const config = () => observed(rig, "Deployment").spec.template.metadata.annotations[annotations.config];
  const before = config();
  assertEquals(write(rig), ["ConfigMap/default/web", "Service/default/web"]);
  assertEquals(config(), before);
  assertEquals(write(rig), ["Deployment/default/web"]);
  assert(config() !== before);
  assertEquals(rows(rig), []);
});

Deno.test("due: a further port of a listener touches the Service alone", () => {
  const rig = settled();
  show(rig, gateway("web", [http, { ...http, name: "other", port: 8080 }]));
  assertEquals(write(rig), ["Service/default/web"]);
  assertEquals(rows(rig), []);
});

Deno.test("due: one field that is not as it should be is one row, and says which field", () => {
  const rig = settled(), service = observed(rig, "Service");
  show(rig, { ...service, spec: { ...service.spec, type: "NodePort" } });
  assertEquals([...rig.due.entries()].map(([row, due]) => [row, due.action === "apply" && due.differs]), [
    ["Service/default/web", "spec.type"],
  ]);
  const [[, due]] = [...rig.due.entries()] as [[string, Raw]];
  assertEquals(due.object.metadata.uid, service.metadata.uid);
  assertEquals(due.object.metadata.resourceVersion, service.metadata.resourceVersion);
  write(rig);
  // What the API server and others add is not ours.
  show(rig, {
    ...service,
    metadata: { ...service.metadata, labels: { ...service.metadata.labels, theirs: "1" } },
    spec: { ...service.spec, clusterIP: "10.96.0.7", sessionAffinity: "None" },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  });
  assertEquals(rows(rig), []);
});

Deno.test("due: a label that is wanted no longer is noticed", () => {
  const rig = settled();
  const labelled = (labels: Raw) => gateway("web", [http], { spec: { infrastructure: { labels } } });
  show(rig, labelled({ team: "a" }));
  while (write(rig).length > 0);
  show(rig, labelled({}));
  assertEquals(write(rig).length, 4);
  assertEquals(write(rig), ["Deployment/default/web"]);
  assertEquals(rows(rig), []);
});

Deno.test("due: what is not the Gateway's is not written, whoever's it is", () => {
  const rig = settled(), service = observed(rig, "Service");
  const owned = (ownerReferences?: readonly unknown[]) => {
    show(rig, { ...service, metadata: { ...service.metadata, ownerReferences } });
    const [row] = rig.due.entries().map(([, due]) => due);
    return row?.action === "none" ? row.message : row?.action;
  };
  const remedy = "left alone; rename or delete it, or give the Gateway another name";
  assertEquals(owned(), `Service "default/web-gatehouse" was not made for this Gateway and is ${remedy}`);
  assertEquals(
    owned([ownerReference("other", "1")]),
    `Service "default/web-gatehouse" belongs to Gateway "default/other" and is ${remedy}`,
  );
  assertEquals(
    owned([ownerReference("web", "of its predecessor")]),
    'Service "default/web-gatehouse" is still there from a Gateway of the same name that has been deleted; it goes by itself, or else delete it',
  );
  assertEquals(owned([ownerReference("web", "Gateway/web")]), undefined);
});

Deno.test("due: an object that is about to go is made again once it is gone", () => {
  const rig = settled(), service = observed(rig, "Service");
  show(rig, {
    ...service,
    metadata: { ...service.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: {},
  });
  assertEquals(rows(rig), []);
  rig.hide(service as ApiObject);
  rig.graph.settle();
  assertEquals(write(rig), ["Service/default/web"]);
});

Deno.test("due: a Gateway that is refused, about to go, or in such a namespace keeps what it has", () => {
  for (
    const end of [
      gateway("web", [http], { spec: { addresses: [{ type: "Hostname", value: "a.example.com" }] } }),
      gateway("web", [http], { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      {
        ...stored({ apiVersion: "v1", kind: "Namespace", metadata: {} }),
        metadata: { name: "default", deletionTimestamp: "2026-01-01T00:00:00Z" },
      },
    ]
  ) {
    const rig = settled(), service = observed(rig, "Service");
    show(rig, end);
    assertEquals(rows(rig), []);
    rig.hide(service as ApiObject);
    show(rig, { ...observed(rig, "Deployment"), spec: {} });
    assertEquals(rows(rig), []);
  }
});

Deno.test("due: listeners that are all invalid do not take the address away", () => {
  const rig = settled();
  show(rig, gateway("web", [{ name: "bad", protocol: "example.com/unknown", port: 80 }]));
  assertEquals(rows(rig), []);
});

Deno.test("due: the old kind of workload goes once the new one is there in full", () => {
  const rig = settled();
  rig.fleet.set("spec", { workload: { kind: "DaemonSet" } });
  rig.graph.settle();
  assertEquals(write(rig), [
    "DaemonSet/default/web",
    "delete: unwanted PodDisruptionBudget/default/web-gatehouse",
  ]);
  assertEquals(rows(rig), []);
  const set = observed(rig, "DaemonSet");
  const nowhere = { desiredNumberScheduled: 0, numberAvailable: 0, currentNumberScheduled: 0 };
  for (const observedGeneration of [0, 1]) {
    const status = { ...nowhere, observedGeneration };
    show(rig, { ...set, metadata: { ...set.metadata, generation: 1 }, status });
    assertEquals(rows(rig), [], "not seen, or taken by no node");
  }
  const status = { observedGeneration: 1, desiredNumberScheduled: 2, numberAvailable: 1 };
  show(rig, { ...set, metadata: { ...set.metadata, generation: 1 }, status });
  assertEquals(rows(rig), []);
  show(rig, {
    ...set,
    metadata: { ...set.metadata, generation: 1 },
    status: { ...status, numberAvailable: 2 },
  });
  assertEquals(write(rig), ["delete: unwanted Deployment/default/web-gatehouse"]);
  assertEquals(rows(rig), []);
});

Deno.test("due: the number of pods is the autoscaler's, and is not taken back from it", () => {
  const rig = settled();
  rig.fleet.set("spec", { workload: { autoscaling: { minReplicas: 2, maxReplicas: 9 } } });
  rig.graph.settle();
  const scaled = observed(rig, "Deployment");
  show(rig, { ...scaled, spec: { ...scaled.spec, replicas: 7 } });
  const due = rig.due.get("Deployment/default/web") as Raw;
  assertEquals(due.object.spec.replicas, 7);
  while (write(rig).length > 0);
  assert(observed(rig, "HorizontalPodAutoscaler"));
  const deployment = observed(rig, "Deployment");
  show(rig, { ...deployment, spec: { ...deployment.spec, replicas: 3 } });
  assertEquals(rows(rig), []);
});

Deno.test("due: what is autoscaled starts with as many pods as it takes the place of, and then has its autoscaler's", () => {
  for (const [autoscaling, pods] of [[{ minReplicas: 2, maxReplicas: 60 }, 50], [{ maxReplicas: 20 }, 20]]) {
    const rig = settled();
    const fleet = (workload: Raw) => {
      rig.fleet.set("spec", { workload });
      rig.graph.settle();
    };
    const available = (table: "Deployment" | "DaemonSet", name: string, status: Raw) => {
      const workload = rig.cluster[table].get(`default/${name}`) as Raw;
      show(rig, { ...workload, status: { observedGeneration: 0, ...status } });
    };
    fleet({ kind: "DaemonSet" });
    while (write(rig).length > 0);
    available("DaemonSet", "web-gatehouse", { desiredNumberScheduled: 50, numberAvailable: 50 });
    write(rig);

    fleet({ autoscaling });
    while (write(rig).length > 0);
    assertEquals(observed(rig, "Deployment").spec.replicas, pods);
    available("Deployment", "web-gatehouse", { availableReplicas: (pods as number) - 1 });
    assertEquals(rows(rig), []);
    available("Deployment", "web-gatehouse", { availableReplicas: pods });
    assertEquals(write(rig), ["delete: unwanted DaemonSet/default/web-gatehouse"]);
    const deployment = observed(rig, "Deployment");
    show(rig, { ...deployment, spec: { ...deployment.spec, replicas: 7 } });
    assertEquals(rows(rig), [], "the autoscaler's");

    // By another name it is another one.
    show(rig, { ...gatewayClass(), metadata: { ...gatewayClass().metadata, name: "second" } });
    show(rig, gateway("web", [http], { spec: { gatewayClassName: "second" } }));
    while (write(rig).length > 0);
    const second = rig.cluster.Deployment.get("default/web-second");
    assertEquals(second?.spec?.replicas, 7);
  }
});

Deno.test("due: what has no pods, which an autoscaler leaves alone, has minReplicas once it is autoscaled", () => {
  const rig = settled();
  const fleet = (workload: Raw) => {
    rig.fleet.set("spec", { workload });
    rig.graph.settle();
    while (write(rig).length > 0);
  };
  fleet({ replicas: 0 });
  assertEquals(observed(rig, "Deployment").spec.replicas, 0);
  fleet({ autoscaling: { minReplicas: 2, maxReplicas: 9 } });
  const deployment = observed(rig, "Deployment");
  assertEquals(deployment.spec.replicas, 2);
  // By whomever.
  show(rig, { ...deployment, spec: { ...deployment.spec, replicas: 0 } });
  const due = rig.due.get("Deployment/default/web") as Raw;
  assertEquals([due.differs, due.object.spec.replicas], ["spec.replicas", 2]);
});

Deno.test("due: an autoscaled Deployment takes another's place with no fewer than it is to have at least", () => {
  const rig = settled();
  rig.fleet.set("spec", { workload: { autoscaling: { minReplicas: 3, maxReplicas: 9 } } });
  show(rig, { ...gatewayClass(), metadata: { ...gatewayClass().metadata, name: "second" } });
  show(rig, gateway("web", [http], { spec: { gatewayClassName: "second" } }));
  while (write(rig).length > 0);
  const successor = rig.cluster.Deployment.get("default/web-second") as Raw;
  assertEquals(successor.spec.replicas, 3);
  const spec = { ...successor.spec, replicas: 1 };
  show(rig, { ...successor, spec, status: { observedGeneration: 0, availableReplicas: 2 } });
  assertEquals(rows(rig), []);
  show(rig, { ...successor, spec, status: { observedGeneration: 0, availableReplicas: 3 } });
  assert(rows(rig).includes("unwanted Deployment/default/web-gatehouse"));
});

Deno.test("due: the family that the API server adds to a Service stays, until one is to be enough", () => {
  for (const ipFamilyPolicy of ["PreferDualStack", "RequireDualStack"] as const) {
    const rig = settled(), due = () => rig.due.get("Service/default/web") as Raw | undefined;
    const fleet = (service: Raw) => {
      rig.fleet.set("spec", { service });
      rig.graph.settle();
    };
    const serve = (changes: Raw) => {
      const service = observed(rig, "Service");
      show(rig, { ...service, spec: { ...service.spec, ...changes } });
    };
    fleet({ ipFamilyPolicy, ipFamilies: ["IPv6"] });
    write(rig);
    serve({ ipFamilies: ["IPv6", "IPv4"] });
    assertEquals(rows(rig), []);

    serve({ type: "NodePort" });
    assertEquals(due()?.differs, "spec.type");
    assertEquals(due()?.object.spec.ipFamilies, ["IPv6", "IPv4"]);
    write(rig);
    assertEquals(rows(rig), []);

    // Whose policy is not given keeps the one that it had.
    fleet({ ipFamilies: ["IPv6"] });
    assertEquals(due()?.object.spec.ipFamilies, ["IPv6", "IPv4"]);
    write(rig);
    // The first family cannot be changed, which is for the API server to say.
    fleet({ ipFamilyPolicy, ipFamilies: ["IPv4"] });
    assertEquals(due()?.object.spec.ipFamilies, ["IPv4"]);
    fleet({ ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv6"] });
    assertEquals(due()?.object.spec.ipFamilies, ["IPv6"]);
    write(rig);
    assertEquals(rows(rig), []);
    fleet({ ipFamilyPolicy, ipFamilies: ["IPv6", "IPv4"] });
    assertEquals(due()?.object.spec.ipFamilies, ["IPv6", "IPv4"]);
  }
});

Deno.test("due: a load balancer keeps its class, is told of, and gets all else that is wanted", () => {
  const rig = settled(), due = () => rig.due.get("Service/default/web") as Raw | undefined;
  const fleet = (service: Raw) => {
    rig.fleet.set("spec", { service });
    rig.graph.settle();
  };
  const remedy = "delete it to have it made anew, or ask for what it has";
  fleet({ loadBalancerClass: "example.com/a", externalTrafficPolicy: "Local" });
  assertEquals(due()?.object.spec.externalTrafficPolicy, "Local");
  assertEquals(due()?.object.spec.loadBalancerClass, undefined);
  write(rig);
  assertEquals([due()?.action, due()?.reason, due()?.message], [
    "none",
    "Invalid",
    `Service "default/web-gatehouse" has no loadBalancerClass, which cannot become "example.com/a"; ${remedy}`,
  ]);

  rig.hide(observed(rig, "Service") as ApiObject);
  rig.graph.settle();
  write(rig);
  assertEquals(observed(rig, "Service").spec.loadBalancerClass, "example.com/a");
  assertEquals(rows(rig), []);
  fleet({ loadBalancerClass: "example.com/b", externalTrafficPolicy: "Cluster" });
  assertEquals(due()?.object.spec.loadBalancerClass, "example.com/a");
  write(rig);
  assertEquals(observed(rig, "Service").spec.externalTrafficPolicy, "Cluster");
  assertEquals(
    due()?.message,
    `Service "default/web-gatehouse" has loadBalancerClass "example.com/a", which cannot become "example.com/b"; ${remedy}`,
  );
  // What others chose, and what nobody asks for any more, is no fault.
  fleet({});
  write(rig);
  assertEquals(observed(rig, "Service").spec.loadBalancerClass, "example.com/a");
  assertEquals(rows(rig), []);

  fleet({ type: "NodePort" });
  assertEquals(due()?.object.spec.loadBalancerClass, undefined);
  write(rig);
  fleet({ loadBalancerClass: "example.com/b" });
  assertEquals(due()?.object.spec.loadBalancerClass, "example.com/b");
  write(rig);
  assertEquals(rows(rig), []);
});

Deno.test("due: objects of a class that the Gateway has left go, but not those of another controller", () => {
  const rig = settled();
  show(rig, { ...gatewayClass(), metadata: { ...gatewayClass().metadata, name: "second" } });
  show(rig, gateway("web", [http], { spec: { gatewayClassName: "second" } }));
  const deletions = () => rows(rig).filter((row) => row.startsWith("unwanted"));
  assertEquals(deletions(), [], "until its successor serves");
  while (write(rig).length > 0);
  const successor = rig.cluster.Deployment.get("default/web-second")! as Raw;
  const available = { ...successor, status: { observedGeneration: 0, availableReplicas: 1 } };
  show(rig, available);
  assertEquals(deletions().length, 5);
  // What another controller made, perhaps another Gatehouse, is for that one to delete.
  const theirs = observed(rig, "Service");
  show(rig, {
    ...theirs,
    metadata: { ...theirs.metadata, annotations: { [annotations.controller]: "example.com/other" } },
  });
  assertEquals(deletions().length, 4);
  write(rig);
  assertEquals(rows(rig), []);
  assertEquals(observed(rig, "Service") !== undefined, true);
});

Deno.test("due: with a class of another controller the objects go, with one that is not there they stay", () => {
  const rig = settled();
  const [ours] = [gatewayClass()];
  rig.hide(ours as ApiObject);
  rig.graph.settle();
  assertEquals(rows(rig), []);
  show(rig, gateway("web", [http], { spec: { gatewayClassName: "other" } }));
  assertEquals(rows(rig).length, 5);
});

Deno.test("due: a change of one Gateway among many costs what it costs alone", () => {
  const cost = (count: number) => {
    const many = Array.from({ length: count }, (_, i) => gateway(`g${i}`, [http]) as ApiObject);
    const rig = infrastructure([gatewayClass() as ApiObject, ...many]);
    while (write(rig).length > 0);
    rig.show(
      gateway("g0", [http], { spec: { infrastructure: { labels: { team: "a" } } } }) as ApiObject,
    );
    const { recomputed, failures } = rig.graph.settle();
    assertEquals(failures, []);
    assertEquals(rig.due.changed.size, 4);
    // A Service that somebody else has changes all the time.
    rig.show(stored({ apiVersion: "v1", kind: "Service", metadata: { name: "x" }, spec: {} }) as ApiObject);
    assert(rig.graph.settle().recomputed <= 2);
    assertEquals(rig.due.changed.size, 0);
    return recomputed;
  };
  assertEquals(cost(100), cost(2));
});

Deno.test("due: names of labels are what GEP-1762 and Kubernetes have", () => {
  const { due } = infrastructure([gatewayClass() as ApiObject, gateway("web", [http]) as ApiObject]);
  const [[, write]] = [...due.entries()] as [[string, Raw]];
  const { metadata } = write.object as ApiObject;
  assertEquals(keyOf(write.object), "default/web-gatehouse");
  assertEquals(metadata.labels?.["gateway.networking.k8s.io/gateway-name"], "web");
  assertEquals(metadata.labels?.[labels.managedBy], "gatehouse");
});

Deno.test("due: what cannot be written is in the status of its Gateway alone, before anything that waits for it", () => {
  const rig = infrastructure([
    gatewayClass() as ApiObject,
    gateway("web", [http]) as ApiObject,
    gateway("other", [http]) as ApiObject,
  ]);
  const programmed = (name: string) => {
    rig.graph.settle();
    const status = rig.statuses.get(`Gateway/default/${name}`);
    assert(status?.kind === "Gateway");
    const { reason, message } = status.conditions.find(({ type }) => type === "Programmed")!;
    return `${reason}: ${message}`;
  };
  assertEquals(programmed("web"), "AddressNotAssigned: Waiting for an address");
  const refuse = (row: string, reason: string, message: string) =>
    rig.world.refusals.set(row, { gateway: "default/web", reason, message });
  refuse("Deployment/default/web", "NoResources", "no room");
  refuse("Service/default/web", "Invalid", "no such class");
  assertEquals(programmed("web"), "NoResources: no room; no such class");
  assertEquals(programmed("other"), "AddressNotAssigned: Waiting for an address");
  rig.world.refusals.delete("Deployment/default/web");
  assertEquals(programmed("web"), "Invalid: no such class");
  rig.world.refusals.delete("Service/default/web");
  assertEquals(programmed("web"), "AddressNotAssigned: Waiting for an address");
});
