/**
 * `@cloudydeno/kubernetes-apis/core/v1`.
 *
 * @module
 */
import * as core from "./core.ts";
import type { ApiKind, JSONValue, RestClient } from "./deps.ts";
import type { KindCodec } from "./meta.ts";
import {
  type AllNamespacesMethods,
  defineAllNamespaces,
  defineLists,
  defineNamespaced,
  defineObjects,
  defineStatus,
  type ListMethods,
  type NamespacedMethods,
  type ObjectMethods,
  ownNamespace,
  Resource,
  type StatusMethods,
} from "./resource.ts";

export {
  fromConfigMap,
  fromEventSource,
  fromNamespace,
  fromObjectReference,
  fromSecret,
  fromService,
  fromServiceAccount,
  toConfigMap,
  toConfigMapList,
  toEventSource,
  toNamespace,
  toNamespaceList,
  toObjectReference,
  toSecret,
  toSecretList,
  toService,
  toServiceAccount,
  toServiceAccountList,
  toServiceList,
} from "./core.ts";
export type {
  ClientIPConfig,
  ConfigMap,
  ConfigMapList,
  EventSource,
  LoadBalancerIngress,
  LoadBalancerStatus,
  LocalObjectReference,
  Namespace,
  NamespaceCondition,
  NamespaceList,
  NamespaceSpec,
  NamespaceStatus,
  ObjectReference,
  PortStatus,
  Secret,
  SecretList,
  Service,
  ServiceAccount,
  ServiceAccountList,
  ServiceList,
  ServicePort,
  ServiceSpec,
  ServiceStatus,
  SessionAffinityConfig,
} from "./core.ts";

const root = "/api/v1/";

/** The namespaced kinds below `path`. */
function resources(client: RestClient, path: string) {
  const all = <T, L>(plural: string, codec: KindCodec<T>, toList: (input: JSONValue) => L & ApiKind) =>
    new Resource<T, L>(client, `${root}${path}${plural}`, codec, toList);
  return {
    configMaps: all("configmaps", core.configMapCodec, core.toConfigMapList),
    secrets: all("secrets", core.secretCodec, core.toSecretList),
    serviceAccounts: all("serviceaccounts", core.serviceAccountCodec, core.toServiceAccountList),
    services: all("services", core.serviceCodec, core.toServiceList),
  };
}

export interface CoreV1Api
  extends
    AllNamespacesMethods<"ConfigMap", core.ConfigMap, core.ConfigMapList>,
    AllNamespacesMethods<"Secret", core.Secret, core.SecretList>,
    AllNamespacesMethods<"ServiceAccount", core.ServiceAccount, core.ServiceAccountList>,
    AllNamespacesMethods<"Service", core.Service, core.ServiceList>,
    ListMethods<"Namespace", core.Namespace, core.NamespaceList>,
    ObjectMethods<"Namespace", core.Namespace>,
    StatusMethods<"Namespace", core.Namespace> {}
export class CoreV1Api {
  readonly #client: RestClient;
  constructor(client: RestClient) {
    this.#client = client;
    const { configMaps, secrets, serviceAccounts, services } = resources(client, "");
    defineAllNamespaces(this, "ConfigMap", configMaps);
    defineAllNamespaces(this, "Secret", secrets);
    defineAllNamespaces(this, "ServiceAccount", serviceAccounts);
    defineAllNamespaces(this, "Service", services);
    const namespaces = new Resource(client, `${root}namespaces`, core.namespaceCodec, core.toNamespaceList);
    defineLists(this, "Namespace", namespaces);
    defineObjects(this, "Namespace", namespaces);
    defineStatus(this, "Namespace", namespaces);
  }

  namespace(name: string): CoreV1NamespacedApi {
    return new CoreV1NamespacedApi(this.#client, name);
  }
  myNamespace(): CoreV1NamespacedApi {
    return this.namespace(ownNamespace(this.#client));
  }
}

export interface CoreV1NamespacedApi
  extends
    NamespacedMethods<"ConfigMap", core.ConfigMap, core.ConfigMapList>,
    NamespacedMethods<"Secret", core.Secret, core.SecretList>,
    NamespacedMethods<"ServiceAccount", core.ServiceAccount, core.ServiceAccountList>,
    NamespacedMethods<"Service", core.Service, core.ServiceList>,
    StatusMethods<"Service", core.Service> {}
export class CoreV1NamespacedApi {
  constructor(client: RestClient, namespace: string) {
    const { configMaps, secrets, serviceAccounts, services } = resources(client, `namespaces/${namespace}/`);
    defineNamespaced(this, "ConfigMap", configMaps);
    defineNamespaced(this, "Secret", secrets);
    defineNamespaced(this, "ServiceAccount", serviceAccounts);
    defineNamespaced(this, "Service", services);
    defineStatus(this, "Service", services);
  }
}
