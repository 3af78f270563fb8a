/**
 * What an operator in a cluster asks of the API server, and so what it has to be allowed: the source of its RBAC.
 *
 * Whoever adds a request adds it here. Tests in a cluster run the operator with exactly these rights: every refusal is a failure,
 * and so is a right that is never used.
 *
 * @module
 */
import { clusterKinds } from "../controllers/infrastructure/world.ts";
import { statusKinds } from "../controllers/translate/derive_statuses.ts";
import { groups, kinds } from "../controllers/translate/world.ts";
import { type Kind, kindOf } from "../crds/mod.ts";

/** As in `rbac.authorization.k8s.io/v1`. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Rights {
  /** About objects that are in no namespace. */
  readonly cluster: readonly Rule[];
  /** In every namespace that is watched. */
  readonly namespaces: readonly Rule[];
  /** In the operator's own namespace. */
  readonly own: readonly Rule[];
}

export interface RightsOptions {
  /** Names of what is the installation's own. */
  readonly lease: string;
  readonly authority: string;
}

const watching = ["list", "watch"] as const;
/** Applied on the server's side, which takes both to make something; looked at before; deleted when nobody wants it any more. */
const applying = ["get", "create", "patch", "delete"] as const;

/** What is made for a Gateway. */
const children = [
  ["", "serviceaccounts"],
  ["", "configmaps"],
  ["", "services"],
  ["apps", "deployments"],
  ["apps", "daemonsets"],
  ["autoscaling", "horizontalpodautoscalers"],
  ["policy", "poddisruptionbudgets"],
] as const;

/** The rights of one installation. */
export function rightsOf({ lease, authority }: RightsOptions): Rights {
  const watched: readonly Kind[] = [
    ...kinds.map((name) => kindOf(groups[name], name)!),
    ...clusterKinds.map(({ kind }) => kind),
  ];
  const withStatus = watched.filter(({ kind }) => statusKinds.includes(kind));
  const watch = (namespaced: boolean) =>
    watched.filter((kind) => kind.namespaced === namespaced).map(({ group, plural }) =>
      [group, plural, watching] as const
    );
  const write = (namespaced: boolean) =>
    withStatus.filter((kind) => kind.namespaced === namespaced).map(({ group, plural }) =>
      [group, `${plural}/status`, ["patch"]] as const
    );
  const gateway = "gateway.networking.k8s.io";
  return {
    cluster: rules([
      ...watch(false),
      ...write(false),
      // Its finalizer.
      [gateway, "gatewayclasses", ["patch"]],
      ["authentication.k8s.io", "tokenreviews", ["create"]],
    ]),
    namespaces: rules([
      ...watch(true),
      ...write(true),
      [gateway, "gateways", ["patch"]],
      // To own what is made for them in a way that blocks their deletion.
      [gateway, "gateways/finalizers", ["update"]],
      ...children.map(([group, plural]) => [group, plural, applying] as const),
      ["events.k8s.io", "events", ["create", "patch"]],
    ]),
    own: [
      ...rules([
        ["coordination.k8s.io", "leases", ["create"]],
        ["", "secrets", ["create"]],
      ]),
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        resourceNames: [lease],
        verbs: ["get", "list", "watch", "update"],
      },
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [authority],
        verbs: ["list", "watch", "patch"],
      },
    ],
  };
}

/** Rules that say the same as the grants, with as few words as may be. */
function rules(
  grants: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[],
): readonly Rule[] {
  const verbsOf = new Map<string, { group: string; resource: string; verbs: Set<string> }>();
  for (const [group, resource, verbs] of grants) {
    const key = `${group}/${resource}`, entry = verbsOf.get(key) ?? { group, resource, verbs: new Set() };
    for (const verb of verbs) entry.verbs.add(verb);
    verbsOf.set(key, entry);
  }
  const byVerbs = new Map<string, { group: string; verbs: readonly string[]; resources: string[] }>();
  for (const { group, resource, verbs } of verbsOf.values()) {
    const sorted = [...verbs].sort(), key = `${group} ${sorted}`;
    const entry = byVerbs.get(key) ?? { group, verbs: sorted, resources: [] };
    entry.resources.push(resource);
    byVerbs.set(key, entry);
  }
  return [...byVerbs.values()]
    .map(({ group, verbs, resources }) => ({ apiGroups: [group], resources: resources.sort(), verbs }))
    .sort((a, b) => order(a) < order(b) ? -1 : 1);
}

const order = ({ apiGroups, resources }: Rule): string => `${apiGroups} ${resources}`;
