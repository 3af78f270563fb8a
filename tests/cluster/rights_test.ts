/**
 * What an installation may do and never does: everything that takes a right is brought about, and what was granted is held against
 * what the API server was asked for.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Rule } from "../../cli/rights.ts";
import { type AuditEvent, type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { chart, Helm, objectsIn } from "./support/helm.ts";
import { classIsAccepted, system } from "./support/installation.ts";
import { backend, childrenIn, gatewayPath, programmed } from "./support/web.ts";

/** What no request shows, or what nobody can bring about, and what it is for. */
const needed: ReadonlyMap<string, string> = new Map([
  [
    "gatehouse: update gateways.gateway.networking.k8s.io/finalizers",
    "no request: what the admission plugin OwnerReferencesPermissionEnforcement, where it is on, asks of whoever makes children",
  ],
  ...["gateways", "gatewayclasses"].map((plural) =>
    [
      `gatehouse-uninstall: get ${plural}.gateway.networking.k8s.io`,
      "reads what has changed between being listed and being let go",
    ] as const
  ),
]);

/** Rules, whose they are, and in which namespace; without one they are for what is not in the installation's own. */
interface Grant {
  readonly account: string;
  readonly rules: readonly Rule[];
  readonly namespace?: string;
}

/** What a release gives to its ServiceAccounts, hooks included. */
async function grantsOf(helm: Helm, release: string): Promise<readonly Grant[]> {
  const texts = await Promise.all(
    ["manifest", "hooks"].map((what) => helm.run(["get", what, release, `--namespace=${system}`])),
  );
  const objects = texts.flatMap(objectsIn);
  return objects.filter(({ kind }) => kind.endsWith("RoleBinding")).flatMap(
    ({ metadata, roleRef, subjects }) => {
      const { namespace } = metadata;
      const role = objects.find(({ kind, metadata }) =>
        kind === roleRef.kind && metadata.name === roleRef.name && metadata.namespace === namespace
      );
      return subjects.map(({ name: account }: Json): Grant => ({ account, rules: role.rules, namespace }));
    },
  );
}

/** A single one, and whether a request makes use of it. */
type Right = readonly [right: string, covers: (event: AuditEvent) => boolean];

/** Every single right of a rule. */
function rightsIn({ apiGroups, resources, verbs, resourceNames }: Rule): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource, subresource] = path.split("/"), dotted = group && `.${group}`;
      return verbs.flatMap((verb) =>
        (resourceNames ?? [undefined]).map((name) =>
          [
            `${verb} ${resource}${dotted}${subresource ? `/${subresource}` : ""}${name ? ` ${name}` : ""}`,
            ({ objectRef, verb: asked, responseStatus }: AuditEvent) =>
              objectRef !== undefined && (objectRef.apiGroup ?? "") === group &&
              objectRef.resource === resource && objectRef.subresource === subresource &&
              (name === undefined || objectRef.name === name) &&
              // Whoever applies what is not there has to be allowed to make it.
              (asked === verb || verb === "create" && asked === "patch" && responseStatus?.code === 201),
          ] as const
        )
      );
    })
  );
}

/** The rights as `ACCOUNT: VERB RESOURCE`, with whether anybody has made use of them. */
function rightsOf(
  grants: readonly Grant[],
  events: readonly AuditEvent[],
): readonly { readonly right: string; readonly used: boolean }[] {
  return grants.flatMap(({ account, rules, namespace }) => {
    const requests = events.filter(({ user, objectRef, responseStatus }) =>
      user.username === `system:serviceaccount:${system}:${account}` && responseStatus?.code !== 403 &&
      (namespace === undefined ? objectRef?.namespace !== system : objectRef?.namespace === namespace)
    );
    return rules.flatMap(rightsIn).map(([right, covers]) => ({
      right: `${account}: ${right}`,
      used: requests.some(covers),
    }));
  });
}

const shop = "shop", gatewayApi = "gateway.networking.k8s.io";
const fleet = (name: string, workload: Json) => ({
  apiVersion: "gatehouse.dev/v1alpha1",
  kind: "EnvoyFleet",
  metadata: { namespace: shop, name },
  spec: { workload, concurrency: 1, drain: { seconds: 1 } },
});
const gateway = (name: string) => ({
  apiVersion: `${gatewayApi}/v1`,
  kind: "Gateway",
  metadata: { namespace: shop, name },
  spec: {
    gatewayClassName: "gatehouse",
    infrastructure: { parametersRef: { group: "gatehouse.dev", kind: "EnvoyFleet", name } },
    allowedListeners: { namespaces: { from: "Same" } },
    listeners: [{ name: "http", protocol: "HTTP", port: 80 }],
  },
});
const route = (service: string) => ({
  apiVersion: `${gatewayApi}/v1`,
  kind: "HTTPRoute",
  metadata: { namespace: shop, name: "echo" },
  spec: { parentRefs: [{ name: "web" }], rules: [{ backendRefs: [{ name: service, port: 8080 }] }] },
});

/** Every kind that has a status of ours, and every kind that is made for a Gateway. */
const everything: readonly Json[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: shop } },
  ...backend.map((object) => ({ ...object, metadata: { ...object.metadata, namespace: shop } })),
  fleet("web", { autoscaling: { minReplicas: 1, maxReplicas: 2 }, disruption: { maxUnavailable: 1 } }),
  fleet("nodes", { kind: "DaemonSet" }),
  gateway("web"),
  gateway("nodes"),
  {
    apiVersion: `${gatewayApi}/v1`,
    kind: "ListenerSet",
    metadata: { namespace: shop, name: "echo" },
    spec: { parentRef: { name: "web" }, listeners: [{ name: "more", protocol: "HTTP", port: 8080 }] },
  },
  {
    apiVersion: `${gatewayApi}/v1`,
    kind: "BackendTLSPolicy",
    metadata: { namespace: shop, name: "echo" },
    spec: {
      targetRefs: [{ group: "", kind: "Service", name: "echo" }],
      validation: { hostname: "echo.example.com", wellKnownCACertificates: "System" },
    },
  },
  route("echo"),
];

/** Waits until the status of `echo` says so of its only parent or ancestor. */
async function isSaid(cluster: Cluster, plural: string, type: string, status = "True"): Promise<void> {
  await cluster.until({ what: `${plural}/echo to be ${type}=${status}`, seconds: 60 }, async () => {
    const text = await cluster.kubectl(
      "get",
      `--namespace=${shop}`,
      `${plural}.${gatewayApi}/echo`,
      "--output=json",
    );
    const { status: found = {} } = JSON.parse(text);
    const [{ conditions = [] } = {}] = found.parents ?? found.ancestors ?? [found];
    return conditions.some((condition: Json) => condition.type === type && condition.status === status);
  });
}

Deno.test("an installation has no right that it does not need", async (t) => {
  await using cluster = await startCluster();
  await using helm = await Helm.open(cluster);
  await helm.run(["install", "gatehouse", chart, `--namespace=${system}`, "--create-namespace", "--wait"]);
  const grants = await grantsOf(helm, "gatehouse");
  assertEquals([...new Set(grants.map(({ account }) => account))], ["gatehouse", "gatehouse-uninstall"]);

  await t.step("everything is made, served and told of", async () => {
    await classIsAccepted(cluster);
    await cluster.apply(everything);
    await programmed(cluster, shop);
    await cluster.until(
      { what: "the other Gateway to be programmed", seconds: 60 },
      async () => isTrue(await cluster.get(gatewayPath(shop).replace("/web", "/nodes")), "Programmed"),
    );
    for (const plural of ["httproutes", "listenersets", "backendtlspolicies"]) {
      await isSaid(cluster, plural, "Accepted");
    }
  });

  await t.step("what happens again is counted in its Event", async () => {
    for (const [service, status] of [["none", "False"], ["echo", "True"], ["none", "False"]] as const) {
      await cluster.apply([route(service)]);
      await isSaid(cluster, "httproutes", "ResolvedRefs", status);
    }
    await cluster.until({ what: "an Event to be counted twice" }, async () => {
      const { items } = await cluster.get(`/apis/events.k8s.io/v1/namespaces/${shop}/events`);
      return items.some(({ reason, series }: Json) => reason === "BackendNotFound" && series?.count === 2);
    });
  });

  await t.step("the authority is made anew where somebody has broken it", async () => {
    const path = `/api/v1/namespaces/${system}/secrets/gatehouse-xds-authority`, broken = btoa("broken");
    await cluster.kubectl(
      "patch",
      `--namespace=${system}`,
      "secret/gatehouse-xds-authority",
      `--patch={"data":{"authorities.pem":"${broken}"}}`,
    );
    await cluster.until(
      { what: "another authority" },
      async () => (await cluster.get(path)).data["authorities.pem"] !== broken,
    );
  });

  await t.step("what is wanted no longer is deleted", async () => {
    await cluster.apply([fleet("web", { kind: "DaemonSet" })]);
    await cluster.kubectl(
      "patch",
      `--namespace=${shop}`,
      "gateway/nodes",
      "--type=merge",
      '--patch={"spec":{"gatewayClassName":"of-somebody-else"}}',
    );
    await cluster.until(
      { what: "the children to go", seconds: 60 },
      async () =>
        Object.keys(await childrenIn(cluster, shop)).sort().join() ===
          ["ConfigMap", "DaemonSet", "Service", "ServiceAccount"].map((kind) => `${kind}/web-gatehouse`)
            .join(),
    );
  });

  await t.step("the uninstallation lets everything go", async () => {
    await helm.run(["uninstall", "gatehouse", `--namespace=${system}`, "--wait", "--timeout=2m"]);
  });

  await t.step("every right has been made use of, but for what is needed all the same", async () => {
    const rights = rightsOf(grants, (await cluster.audit()).events);
    const unused = rights.filter(({ right, used }) => !used && !needed.has(right));
    assertEquals(unused.map(({ right }) => right), [], "rights that nobody uses");
    const granted = new Set(rights.map(({ right }) => right));
    assertEquals([...needed.keys()].filter((right) => !granted.has(right)), [], "nobody has these");
  });
});
