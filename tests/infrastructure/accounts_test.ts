/**
 * Which ServiceAccount belongs to which Gateway.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { deriveAccounts } from "../../controllers/infrastructure/accounts.ts";
import { ownerReference } from "../../controllers/infrastructure/child_names.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import type { Gateway, ServiceAccount } from "../../crds/mod.ts";

function gateway(uid: string, gatewayClassName = "gatehouse"): Gateway {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { namespace: "shop", name: "web", uid },
    spec: { gatewayClassName, listeners: [] },
  } as unknown as Gateway;
}

function account(metadata: Partial<ServiceAccount["metadata"]> = {}): ServiceAccount {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      namespace: "shop",
      name: "web-gatehouse",
      uid: "uid-account",
      ownerReferences: [ownerReference("web", "uid-web")],
      ...metadata,
    },
  } as ServiceAccount;
}

Deno.test("the ServiceAccount that a Gateway controls, of the right name, is that of its proxies, and no other", () => {
  const graph = new Graph();
  const Gateway = graph.source<Gateway>("gateways"),
    ServiceAccount = graph.source<ServiceAccount>("accounts");
  const accounts = deriveAccounts(graph, { objects: { Gateway } }, { ServiceAccount });
  const after = (edit: () => void) => {
    edit();
    graph.settle();
    return [...accounts.entries()];
  };
  const rows = [["shop/web-gatehouse", { gateway: "shop/web", uid: "uid-account" }]];
  const put = (object: ServiceAccount) => () =>
    ServiceAccount.replace([[`${object.metadata.namespace}/${object.metadata.name}`, object]]);
  assertEquals(after(put(account())), []);
  assertEquals(after(() => Gateway.set("shop/web", gateway("uid-web"))), rows);
  assertEquals(after(put(account({ ownerReferences: [] }))), []);
  assertEquals(after(put(account({ name: "mine" }))), []);
  assertEquals(after(put(account({ namespace: "other" }))), []);
  assertEquals(after(put(account())), rows);
  assertEquals(after(() => Gateway.set("shop/web", gateway("uid-later"))), []);
  assertEquals(after(() => Gateway.set("shop/web", gateway("uid-web", "another"))), []);
});
