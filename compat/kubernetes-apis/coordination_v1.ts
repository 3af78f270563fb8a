/**
 * `@cloudydeno/kubernetes-apis/coordination.k8s.io/v1`.
 *
 * @module
 */
import type { ApiKind, JSONValue, RestClient } from "./deps.ts";
import { kind, type ListOf, listOf, type ObjectMeta, objectMetaCodec } from "./meta.ts";
import {
  type AllNamespacesMethods,
  defineAllNamespaces,
  defineNamespaced,
  type NamespacedMethods,
  ownNamespace,
  Resource,
} from "./resource.ts";
import { microTime, num, opt, str, struct, type Value } from "./tables.ts";

const leaseSpecCodec = struct({
  acquireTime: opt(microTime),
  holderIdentity: opt(str),
  leaseDurationSeconds: opt(num),
  leaseTransitions: opt(num),
  preferredHolder: opt(str),
  renewTime: opt(microTime),
  strategy: opt(str),
});
export interface LeaseSpec extends Value<typeof leaseSpecCodec> {}
export const toLeaseSpec: (input: JSONValue) => LeaseSpec = leaseSpecCodec.to;
export const fromLeaseSpec: (input: LeaseSpec) => JSONValue = leaseSpecCodec.from;

/** Who leads, and for how long. */
export interface Lease {
  apiVersion?: "coordination.k8s.io/v1";
  kind?: "Lease";
  metadata?: ObjectMeta | null;
  spec?: LeaseSpec | null;
}
export interface LeaseList extends ListOf<Lease> {
  apiVersion?: "coordination.k8s.io/v1";
  kind?: "LeaseList";
}

const leaseCodec = kind<Lease>(
  "coordination.k8s.io/v1",
  "Lease",
  struct({ metadata: opt(objectMetaCodec), spec: opt(leaseSpecCodec) }),
);
export const toLease: (input: JSONValue) => Lease & ApiKind = leaseCodec.to;
export const fromLease: (input: Lease) => JSONValue = leaseCodec.from;
export const toLeaseList: (input: JSONValue) => LeaseList & ApiKind = listOf(
  "coordination.k8s.io/v1",
  "LeaseList",
  leaseCodec,
);

const root = "/apis/coordination.k8s.io/v1/";

function leases(client: RestClient, path: string): Resource<Lease, LeaseList> {
  return new Resource(client, `${root}${path}leases`, leaseCodec, toLeaseList);
}

export interface CoordinationV1Api extends AllNamespacesMethods<"Lease", Lease, LeaseList> {}
export class CoordinationV1Api {
  readonly #client: RestClient;
  constructor(client: RestClient) {
    this.#client = client;
    defineAllNamespaces(this, "Lease", leases(client, ""));
  }

  namespace(name: string): CoordinationV1NamespacedApi {
    return new CoordinationV1NamespacedApi(this.#client, name);
  }
  myNamespace(): CoordinationV1NamespacedApi {
    return this.namespace(ownNamespace(this.#client));
  }
}

export interface CoordinationV1NamespacedApi extends NamespacedMethods<"Lease", Lease, LeaseList> {}
export class CoordinationV1NamespacedApi {
  constructor(client: RestClient, namespace: string) {
    defineNamespaced(this, "Lease", leases(client, `namespaces/${namespace}/`));
  }
}
