/**
 * Who may do what with the ClusterRoles for people, along the personas of the Gateway API: by impersonation, on a real API server.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { Helm } from "./support/helm.ts";

const gatewayApi = "gateway.networking.k8s.io/v1";
const http = { name: "http", protocol: "HTTP", port: 80 };
const rules = [{ backendRefs: [{ name: "app", port: 80 }] }];

/** A valid object of each kind that people write. */
const kinds: { readonly [kind: string]: Json } = {
  GatewayClass: { spec: { controllerName: "example.com/controller" } },
  EnvoyFleet: { apiVersion: "gatehouse.dev/v1alpha1", spec: {} },
  Gateway: { spec: { gatewayClassName: "any", listeners: [http] } },
  ListenerSet: { spec: { parentRef: { name: "web" }, listeners: [http] } },
  ReferenceGrant: {
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "other" }],
      to: [{ group: "", kind: "Service" }],
    },
  },
  BackendTLSPolicy: {
    spec: {
      targetRefs: [{ group: "", kind: "Service", name: "app" }],
      validation: { hostname: "app.example.com", wellKnownCACertificates: "System" },
    },
  },
  HTTPRoute: { spec: {} },
  GRPCRoute: { spec: {} },
  TLSRoute: { spec: { hostnames: ["app.example.com"], rules } },
  TCPRoute: { spec: { rules } },
  UDPRoute: { spec: { rules } },
};

const routes = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];
const own = ["ListenerSet", "ReferenceGrant", "BackendTLSPolicy"];

interface Person {
  readonly name: string;
  /** The ClusterRole that is bound, in namespace `apps` or everywhere. */
  readonly role: string;
  readonly everywhere?: true;
  /** Kinds that this person may make, change and delete. */
  readonly writes: readonly string[];
  /** All kinds, unless these are named. */
  readonly reads?: readonly string[];
}

const people: readonly Person[] = [
  {
    name: "ian",
    role: "gatehouse-infrastructure-provider",
    everywhere: true,
    writes: ["GatewayClass", "EnvoyFleet"],
  },
  { name: "chihiro", role: "gatehouse-cluster-operator", writes: ["Gateway", "EnvoyFleet", ...own] },
  {
    name: "ana",
    role: "gatehouse-application-developer",
    writes: [...routes, ...own],
    reads: [...routes, ...own, "Gateway", "GatewayClass"],
  },
  { name: "victor", role: "gatehouse-viewer", writes: [] },
];

/** With aggregation, Kubernetes' own. */
const aggregated: readonly Person[] = [
  { name: "adam", role: "admin", writes: ["Gateway", "EnvoyFleet", ...own, ...routes] },
  { name: "edith", role: "edit", writes: [...routes, ...own] },
  { name: "vivien", role: "view", writes: [] },
];

const all = Object.keys(kinds), places = ["apps", "other"];
const inNoNamespace = "GatewayClass";

function binding({ name, role, everywhere }: Person): Json {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: everywhere ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name, ...!everywhere && { namespace: "apps" } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    // By group, as people mostly are.
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: `${name}s` }],
  };
}

/** Which kinds somebody could really make in a namespace, and delete afterwards. */
async function made(cluster: Cluster, { name }: Person, namespace: string): Promise<readonly string[]> {
  const file = `${cluster.folder}/${name}-${namespace}.json`;
  const items = Object.entries(kinds).map(([kind, object]) => ({
    apiVersion: gatewayApi,
    kind,
    metadata: { name, ...kind !== inNoNamespace && { namespace } },
    ...object,
  }));
  await Deno.writeTextFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const as = [`--as=${name}`, `--as-group=${name}s`, "--as-group=system:authenticated"];
  const done = async (...verb: readonly string[]) => {
    const { out, err } = await cluster.tryKubectl(...verb, `--filename=${file}`, "--output=name", ...as);
    const refused = err.split("\n").filter((line) => line.includes("Error") && !line.includes("(Forbidden)"));
    assertEquals(refused, [], "whatever is refused is refused for want of rights");
    const words = out.split("\n").map((line) => line.split(".")[0]!);
    return all.filter((kind) => words.includes(kind.toLowerCase()));
  };
  const kindsMade = await done("create");
  assertEquals(await done("delete", "--wait=false"), kindsMade, `${name} may delete what may be made`);
  return kindsMade;
}

/** Whether somebody may, in the words of the API server. */
async function may(
  cluster: Cluster,
  { name }: Person,
  resourceAttributes: { readonly verb: string; readonly group: string; readonly resource: string } & Json,
): Promise<boolean> {
  const { status }: Json = await cluster.kube.performRequest({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    bodyJson: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: name, groups: [`${name}s`, "system:authenticated"], resourceAttributes },
    },
    expectJson: true,
  });
  return status.allowed;
}

const plural = (kind: string): string =>
  kind === "BackendTLSPolicy"
    ? "backendtlspolicies"
    : kind === "GatewayClass"
    ? "gatewayclasses"
    : `${kind.toLowerCase()}s`;

/** The kinds about which somebody may do something in a namespace; with `subresource`, about that. */
async function kindsFor(
  cluster: Cluster,
  person: Person,
  { verb, namespace, subresource }: {
    readonly verb: string;
    readonly namespace: string;
    readonly subresource?: string;
  },
): Promise<readonly string[]> {
  const answers = await Promise.all(all.map((kind) =>
    may(cluster, person, {
      verb,
      group: kind === "EnvoyFleet" ? "gatehouse.dev" : "gateway.networking.k8s.io",
      resource: plural(kind),
      ...kind !== inNoNamespace && { namespace },
      ...subresource && { subresource },
    })
  ));
  return all.filter((_, i) => answers[i]);
}

/** Holds what somebody can do against what is said above. */
async function check(cluster: Cluster, person: Person): Promise<void> {
  for (const namespace of places) {
    const here = person.everywhere || namespace === "apps";
    // What is bound in a namespace says nothing about what is in none.
    const expected = (kinds: readonly string[]) =>
      all.filter((kind) => kinds.includes(kind) && here && (person.everywhere || kind !== inNoNamespace));
    assertEquals(await made(cluster, person, namespace), expected(person.writes), `in ${namespace}`);
    for (const verb of ["update", "patch", "deletecollection"]) {
      assertEquals(await kindsFor(cluster, person, { verb, namespace }), expected(person.writes), verb);
    }
    for (const verb of ["get", "list", "watch"]) {
      assertEquals(await kindsFor(cluster, person, { verb, namespace }), expected(person.reads ?? all), verb);
    }
    for (const subresource of ["status", "finalizers"]) {
      const found = await kindsFor(cluster, person, { verb: "update", namespace, subresource });
      assertEquals(found, [], `${subresource} is for controllers`);
    }
  }
}

Deno.test("who may write and read which kind where", async (t) => {
  await using cluster = await startCluster();
  await using helm = await Helm.open();
  const userRoles = async (aggregate: boolean) => {
    const objects = await helm.template({ "userRoles.aggregate": aggregate });
    const forPeople = ({ kind, metadata }: Json) =>
      kind === "ClusterRole" && metadata.name !== "gatehouse" &&
      metadata.annotations?.["helm.sh/hook"] === undefined;
    await cluster.apply(
      objects.filter((object) => object.kind === "CustomResourceDefinition" || forPeople(object)),
    );
  };
  await userRoles(false);
  await cluster.apply([
    ...places.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...[...people, ...aggregated].map(binding),
  ]);
  await cluster.until({ what: "EnvoyFleets to be served" }, async () =>
    isTrue(
      await cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/envoyfleets.gatehouse.dev"),
      "Established",
    ));

  for (const person of people) await t.step(person.role, () => check(cluster, person));

  await t.step("nobody else has anything from it", async () => {
    const nobody = { name: "nobody", role: "none", writes: [], reads: [] };
    await check(cluster, nobody);
    for (const person of aggregated) await check(cluster, { ...person, writes: [], reads: [] });
  });

  await userRoles(true);
  for (const person of aggregated) {
    await t.step(`aggregated into ${person.role}`, async () => {
      await cluster.until({ what: `${person.role} to have it all` }, async () => {
        const [reads, writes] = await Promise.all(
          ["list", "update"].map((verb) => kindsFor(cluster, person, { verb, namespace: "apps" })),
        );
        return reads!.length === all.length - 1 && writes!.length === person.writes.length;
      });
      await check(cluster, person);
    });
  }
});
