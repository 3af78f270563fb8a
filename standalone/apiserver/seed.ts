/**
 * What is there before anybody has written anything.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { create } from "./create.ts";
import { defineKinds } from "./definitions.ts";
import type { Writing } from "./target.ts";

const namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];

/** Makes the namespaces of every cluster, and the definitions of the kinds that are served. */
export async function seed(api: Writing): Promise<void> {
  await defineKinds(api);
  const found = api.resources.at("v1", "namespaces");
  if (!found) return;
  for (const name of namespaces) {
    if (api.store.get("namespaces", name)) continue;
    const object: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    const target = { ...found, namespace: undefined, name: undefined, subresource: undefined };
    await create(api, target, object, { dryRun: false, fieldValidation: "Strict" });
  }
}
