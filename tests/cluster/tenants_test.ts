/**
 * Several operators in one cluster: one for everybody, one with another controllerName, and a tenant's own, which has rights in the
 * tenant's namespace and nowhere else.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type AuditEvent, type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { chart, Helm, type Values } from "./support/helm.ts";
import { system } from "./support/installation.ts";
import {
  backend,
  childrenIn,
  gatewayIn,
  gatewayPath,
  programmed,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

/** An installation, with a Gateway of its class. */
interface Installation {
  readonly release: string;
  /** Where it is. */
  readonly namespace: string;
  readonly className: string;
  readonly controllerName: string;
  /** Where its Gateway is. */
  readonly gateway: string;
  readonly values: Values;
}

const everybody: Installation = {
  release: "gatehouse",
  namespace: system,
  className: "gatehouse",
  controllerName: "gatehouse.dev/gateway-controller",
  gateway: "shop",
  values: { replicas: 1 },
};

const other: Installation = {
  release: "other",
  namespace: "other-system",
  className: "other",
  controllerName: "example.com/other",
  gateway: "market",
  values: {
    replicas: 1,
    controllerName: "example.com/other",
    gatewayClass: { name: "other" },
    "crds.install": false,
    "userRoles.create": false,
  },
};

const tenant: Installation = {
  release: "tenant",
  namespace: "team-a",
  className: "tenant-a",
  controllerName: "example.com/team-a",
  gateway: "team-a",
  values: {
    replicas: 1,
    controllerName: "example.com/team-a",
    watchNamespaces: ["team-a"],
    classNames: ["tenant-a"],
    "gatewayClass.create": false,
    "crds.install": false,
    "userRoles.create": false,
  },
};

/** Somebody with every right in the tenant's namespace, and none elsewhere. */
const administrator = "team-a-administrator";

async function installation(helm: Helm, { release, namespace, values }: Installation, as?: string) {
  const flags = as === undefined ? ["--create-namespace"] : [`--kube-as-user=${as}`];
  await helm.run(["install", release, chart, `--namespace=${namespace}`, ...flags], values);
}

const userOf = ({ namespace, release }: Installation): string =>
  `system:serviceaccount:${namespace}:${release}`;

/** What the API server has denied to an installation, as `VERB RESOURCE`, with how often. */
function denied(
  events: readonly AuditEvent[],
  installation: Installation,
): { readonly [what: string]: number } {
  const count: { [what: string]: number } = {};
  for (const { user, verb, objectRef, responseStatus } of events) {
    if (user.username !== userOf(installation) || responseStatus?.code !== 403) continue;
    const what = `${verb} ${objectRef?.resource}`;
    count[what] = (count[what] ?? 0) + 1;
  }
  return count;
}

/** Where an installation has written, as namespaces, or objects that are in none. */
function written(events: readonly AuditEvent[], installation: Installation): readonly string[] {
  const places = events.filter(({ user, verb, responseStatus }) =>
    user.username === userOf(installation) && !["get", "list", "watch"].includes(verb) &&
    (responseStatus?.code ?? 500) < 300
  ).map(({ objectRef }) => objectRef?.namespace ?? `${objectRef?.resource}/${objectRef?.name ?? ""}`);
  return [...new Set(places)].sort();
}

async function serves(cluster: Cluster, { gateway }: Installation): Promise<void> {
  const address = await programmed(cluster, gateway);
  await cluster.until(
    { what: `an answer of ${gateway}`, seconds: 60 },
    async () => await statusOf(cluster, address) === 200,
  );
}

Deno.test("several operators in one cluster", async (t) => {
  await using cluster = await startCluster();
  await using helm = await Helm.open(cluster);
  const all = [everybody, other, tenant];
  await installation(helm, everybody);
  await installation(helm, other);
  await cluster.apply([
    ...all.flatMap(({ gateway, className }) => gatewayIn(gateway, { className })),
    ...backend,
    ...backend.map((object) => ({ ...object, metadata: { ...object.metadata, namespace: "team-a" } })),
    // Its controllerName is that of the tenant's operator, which cannot see it.
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "tenant-a" },
      spec: { controllerName: tenant.controllerName },
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { namespace: "team-a", name: administrator },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: administrator }],
    },
    // One of two Gateways, and so of two operators.
    {
      ...routeTo("shop", "both"),
      spec: {
        parentRefs: ["shop", "market"].map((namespace) => ({ namespace, name: "web" })),
        rules: [{ backendRefs: [{ name: "echo", port: 8080 }] }],
      },
    },
    { ...routeTo("team-a", "own"), metadata: { namespace: "team-a", name: "own" } },
    // From where the tenant's operator sees nothing.
    routeTo("team-a", "foreign"),
  ]);

  await t.step("a tenant's own takes no more than rights in the tenant's namespace", async () => {
    await installation(helm, tenant, administrator);
    await cluster.until({ what: "the tenant's operator to be ready", seconds: 90 }, async () => {
      const found = await cluster.get("/apis/apps/v1/namespaces/team-a/deployments/tenant");
      return isTrue(found, "Available");
    });
  });

  await t.step("each serves its own Gateways", async () => {
    for (const one of all) await serves(cluster, one);
  });

  await t.step("what belongs to two says what both have to say", async () => {
    const route = await cluster.until({ what: "both to say it" }, async () => {
      const found = await cluster.get(routePath("both"));
      return found.status?.parents?.length === 2 &&
        found.status.parents.every((status: Json) => isTrue({ status }, "Programmed")) && found;
    });
    assertEquals(
      route.status.parents.map(({ controllerName, parentRef }: Json) => [parentRef.namespace, controllerName])
        .sort(),
      [["market", other.controllerName], ["shop", everybody.controllerName]],
    );
  });

  await t.step("what a tenant's operator cannot see it has no say in", async () => {
    const route = await cluster.get(routePath("foreign"));
    assertEquals(route.status?.parents ?? [], []);
    const found = await cluster.get("/apis/gateway.networking.k8s.io/v1/gatewayclasses/tenant-a");
    assertEquals(found.metadata.finalizers, undefined);
    assertEquals(isTrue(found, "Accepted"), false, "nobody who serves it may say so");
  });

  await t.step("what is denied to it is asked for once, and said once", async () => {
    const { events } = await cluster.audit();
    assertEquals(denied(events, everybody), {});
    assertEquals(denied(events, other), {});
    assertEquals(denied(events, tenant), {
      "list customresourcedefinitions": 1,
      "list gatewayclasses": 1,
      "list namespaces": 1,
      "create tokenreviews": 1,
    });
    const { items } = await cluster.get(
      "/api/v1/namespaces/team-a/pods?labelSelector=app.kubernetes.io/instance%3Dtenant",
    );
    assertEquals(items.length, 1);
    const [pod] = items;
    assertEquals(pod.status.containerStatuses[0].restartCount, 0);
    const log = await cluster.logs({ namespace: "team-a", pod: pod.metadata.name, container: "operator" });
    const lines: readonly Json[] = log.trim().split("\n").map((line) => JSON.parse(line));
    const assumed = lines.filter(({ message }) => message.startsWith("Going on with what is assumed"));
    assertEquals(
      assumed.map(({ kind }) => kind).sort(),
      ["CustomResourceDefinition", "GatewayClass", "Namespace"],
    );
    const { out } = await cluster.exec(["curl", "--silent", `http://${pod.status.podIP}:8081/metrics`]);
    const watches = out.split("\n").filter((line) => line.startsWith("gatehouse_watch_up{"));
    assert(watches.length > 10);
    assertEquals(watches.filter((line) => !line.endsWith(" 1")), [], "there is nothing to be alarmed about");
  });

  await t.step("each leaves alone what is another's", async () => {
    // Something for each of them to do.
    for (const { gateway } of all) {
      await cluster.kubectl("annotate", `--namespace=${gateway}`, "gateway/web", "example.com/touched=true");
      await cluster.kubectl("delete", `--namespace=${gateway}`, "service", "--all", "--wait=false");
    }
    for (const one of all) {
      await cluster.until({ what: `the Service of ${one.gateway} to be there again` }, async () => {
        const { items } = await cluster.get(`/api/v1/namespaces/${one.gateway}/services`);
        return items.some(({ metadata }: Json) => metadata.name === `web-${one.className}`);
      });
    }
    // The route is in "default", where events about GatewayClasses are as well.
    const { events } = await cluster.audit();
    assertEquals(written(events, everybody), [
      "default",
      "gatehouse-system",
      "gatewayclasses/gatehouse",
      "shop",
      "tokenreviews/",
    ]);
    assertEquals(written(events, other), [
      "default",
      "gatewayclasses/other",
      "market",
      "other-system",
      "tokenreviews/",
    ]);
    assertEquals(written(events, tenant), ["team-a"]);
  });

  await t.step(
    "a Gateway that changes its class changes its operator, and nothing is left of the first",
    async () => {
      await cluster.kubectl(
        "patch",
        "--namespace=shop",
        "gateway/web",
        "--type=merge",
        `--patch={"spec":{"gatewayClassName":"other"}}`,
      );
      await cluster.until({ what: "the objects of the first to go", seconds: 90 }, async () => {
        const names = Object.keys(await childrenIn(cluster, "shop"));
        return names.includes("Deployment/web-other") && names.every((name) => name.endsWith("/web-other"));
      });
      await serves(cluster, { ...other, gateway: "shop" });
      const gateway = await cluster.get(gatewayPath("shop"));
      assertEquals(gateway.metadata.finalizers.length, 1, "the second's");
      const route = await cluster.get(routePath("both"));
      const controllers: readonly string[] = route.status.parents.map(({ controllerName }: Json) =>
        controllerName
      );
      assertEquals(controllers, [other.controllerName, other.controllerName]);
    },
  );

  await t.step("a tenant's own is uninstalled by the tenant, and the Gateway can go then", async () => {
    await helm.run([
      "uninstall",
      "tenant",
      "--namespace=team-a",
      "--wait",
      "--timeout=2m",
      `--kube-as-user=${administrator}`,
    ]);
    const { metadata } = await cluster.get(gatewayPath("team-a"));
    assertEquals(metadata.finalizers, undefined);
    await cluster.kubectl("delete", "--namespace=team-a", "--timeout=20s", "gateway", "web");
    await serves(cluster, other);
  });
});
