/**
 * What single kinds do that others do not when they are written.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import type { NameForm } from "./metadata.ts";
import type { Unstructured } from "./resources.ts";
import { assignAddresses } from "./service_addresses.ts";
import { balancerCauses, withoutLeftovers } from "./service_types.ts";
import type { Cause } from "./status.ts";
import type { Transaction } from "./store.ts";

export interface Strategy {
  readonly name: NameForm;
  /** Whether a PUT of an object that does not exist makes it. */
  readonly createOnUpdate: boolean;
  /** Whether a PUT may leave out the resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** What is looked at of an object that is to replace another one. */
  adjust(object: ApiObject, old: ApiObject): ApiObject;
  /** Fills in what the server decides, in an object that has been found valid. `old` is absent at creation. */
  prepare(tx: Transaction, object: ApiObject, old: ApiObject | undefined): ApiObject;
  /** What may not be changed. */
  transition(object: ApiObject, old: ApiObject): readonly Cause[];
}

const plain: Strategy = {
  name: "subdomain",
  createOnUpdate: false,
  unconditionalUpdate: true,
  adjust: (object) => object,
  prepare: (_tx, object) => object,
  transition: () => [],
};

const custom: Strategy = { ...plain, unconditionalUpdate: false };

const immutable = (field: string): Cause => ({
  reason: "FieldValueInvalid",
  field,
  message: "Invalid value: field is immutable",
});

function frozenContent(object: ApiObject, old: ApiObject, fields: readonly string[]): readonly Cause[] {
  const [now, before] = [object as Unstructured, old as Unstructured];
  if (before["immutable"] !== true) return [];
  const causes: Cause[] = [];
  if (now["immutable"] !== true) {
    causes.push({
      reason: "FieldValueForbidden",
      field: "immutable",
      message: "Forbidden: field is immutable when `immutable` is set",
    });
  }
  for (const field of fields) {
    if (JSON.stringify(now[field]) === JSON.stringify(before[field])) continue;
    causes.push({
      reason: "FieldValueForbidden",
      field,
      message: "Forbidden: field is immutable when `immutable` is set",
    });
  }
  return causes;
}

const byId: { readonly [id: string]: Strategy } = {
  namespaces: {
    ...plain,
    name: "label",
    prepare(_tx, object, old) {
      const { metadata, ...rest } = object as Unstructured;
      if (old) return { ...object, spec: (old as Unstructured)["spec"] } as ApiObject;
      const { finalizers = [] } = (rest["spec"] ?? {}) as { readonly finalizers?: readonly string[] };
      const labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
      return {
        ...rest,
        metadata: { ...metadata, labels },
        spec: { finalizers: [...finalizers.filter((name) => name !== "kubernetes"), "kubernetes"] },
        status: { phase: "Active" },
      } as unknown as ApiObject;
    },
  },
  services: {
    ...plain,
    name: "label",
    createOnUpdate: true,
    adjust: withoutLeftovers,
    transition: balancerCauses,
    prepare(tx, object, old) {
      const service = assignAddresses(tx, object, old);
      return old ? service : { ...service, status: { loadBalancer: {} } } as ApiObject;
    },
  },
  secrets: {
    ...plain,
    transition(object, old) {
      const type = (object as Unstructured)["type"] === (old as Unstructured)["type"]
        ? []
        : [immutable("type")];
      return [...type, ...frozenContent(object, old, ["data"])];
    },
  },
  configmaps: { ...plain, transition: (object, old) => frozenContent(object, old, ["data", "binaryData"]) },
  "leases.coordination.k8s.io": { ...plain, createOnUpdate: true, unconditionalUpdate: false },
  events: { ...plain, createOnUpdate: true },
  "events.events.k8s.io": { ...plain, createOnUpdate: true },
  "endpointslices.discovery.k8s.io": {
    ...plain,
    transition(object, old) {
      const [now, before] = [object as Unstructured, old as Unstructured];
      return now["addressType"] === before["addressType"] ? [] : [immutable("addressType")];
    },
  },
};

/** How the objects of a resource are written. */
export function strategyOf(resource: { readonly id: string; readonly custom: boolean }): Strategy {
  return byId[resource.id] ?? (resource.custom ? custom : plain);
}
