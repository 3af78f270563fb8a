/**
 * Which ServiceAccount the proxies of which Gateway run as.
 *
 * @module
 */
import type { Gateway } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import { childName, ownerOf } from "./child_names.ts";
import type { ClusterWorld } from "./world.ts";

/** The ServiceAccount of a Gateway's proxies. Row key: `namespace/name`. */
export interface ProxyAccount {
  readonly gateway: GatewayKey;
  /** Of the ServiceAccount: one of the same name that is made later is another. */
  readonly uid: string;
}

/** Derives the accounts: those that a Gateway controls and that have the name that we give to them. */
export function deriveAccounts(
  graph: Graph,
  { objects }: { readonly objects: { readonly Gateway: Table<Gateway> } },
  cluster: Pick<ClusterWorld, "ServiceAccount">,
): Table<ProxyAccount> {
  return graph.derive("accounts of proxies", cluster.ServiceAccount, ({ metadata }, read) => {
    const owner = ownerOf(metadata), gateway = owner && read(objects.Gateway, owner.gateway);
    if (!gateway || gateway.metadata.uid !== owner.uid || metadata.uid === undefined) return undefined;
    const name = childName(gateway.metadata.name, gateway.spec.gatewayClassName);
    return metadata.name === name ? { gateway: owner.gateway, uid: metadata.uid } : undefined;
  });
}
