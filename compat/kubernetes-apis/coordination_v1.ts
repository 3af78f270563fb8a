/**
 * `@cloudydeno/kubernetes-apis/coordination.k8s.io/v1`.
 *
 * @module
 */
import type { JsonPatch, PatchType, WatchEventStream } from "./common.ts";
import type { ApiKind, JSONValue, RestClient } from "./deps.ts";
import { kind, type ListOf, listOf, type ObjectMeta, objectMetaCodec, type Status } from "./meta.ts";
import type * as operations from "./operations.ts";
import { ownNamespace, Resource } from "./resource.ts";
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

export class CoordinationV1Api {
  readonly #client: RestClient;
  readonly #leases: Resource<Lease, LeaseList>;
  constructor(client: RestClient) {
    this.#client = client;
    this.#leases = new Resource(client, `${root}leases`, leaseCodec, toLeaseList);
  }

  namespace(name: string): CoordinationV1NamespacedApi {
    return new CoordinationV1NamespacedApi(this.#client, name);
  }
  myNamespace(): CoordinationV1NamespacedApi {
    return this.namespace(ownNamespace(this.#client));
  }

  getLeaseListForAllNamespaces(opts?: operations.GetListOpts): Promise<LeaseList> {
    return this.#leases.list(opts);
  }
  watchLeaseListForAllNamespaces(opts?: operations.WatchListOpts): Promise<WatchEventStream<Lease>> {
    return this.#leases.watch(opts);
  }
}

export class CoordinationV1NamespacedApi {
  readonly #leases: Resource<Lease, LeaseList>;
  constructor(client: RestClient, namespace: string) {
    this.#leases = new Resource(client, `${root}namespaces/${namespace}/leases`, leaseCodec, toLeaseList);
  }

  getLeaseList(opts?: operations.GetListOpts): Promise<LeaseList> {
    return this.#leases.list(opts);
  }
  watchLeaseList(opts?: operations.WatchListOpts): Promise<WatchEventStream<Lease>> {
    return this.#leases.watch(opts);
  }
  createLease(body: Lease, opts?: operations.PutOpts): Promise<Lease> {
    return this.#leases.create(body, opts);
  }
  deleteLeaseList(opts?: operations.DeleteListOpts): Promise<LeaseList> {
    return this.#leases.deleteList(opts);
  }
  getLease(name: string, opts?: operations.NoOpts): Promise<Lease> {
    return this.#leases.get(name, opts);
  }
  deleteLease(name: string, opts?: operations.DeleteOpts): Promise<Lease | Status> {
    return this.#leases.delete(name, opts);
  }
  replaceLease(name: string, body: Lease, opts?: operations.PutOpts): Promise<Lease> {
    return this.#leases.replace(name, body, opts);
  }
  patchLease(
    name: string,
    type: PatchType,
    body: Lease | JsonPatch,
    opts?: operations.PatchOpts,
  ): Promise<Lease> {
    return this.#leases.patch(name, type, body, opts);
  }
}
