/**
 * A Gateway with something behind it, one in each namespace that asks for one; and what there is of it on a cluster.
 *
 * @module
 */
import { managedSelector } from "../../../controllers/infrastructure/names.ts";
import { type Cluster, isTrue, type Json } from "./cluster.ts";

const gatewayApi = "gateway.networking.k8s.io/v1";

/** What all of them have behind them: an echo server. */
export const backend: readonly Json[] = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "echo", labels: { app: "echo" } },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [{
        name: "echo",
        image: "localhost/gatehouse:test",
        args: ["echo", "--host=0.0.0.0", "--port=8080", "--name=echo"],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        readinessProbe: { httpGet: { port: 8080, path: "/" }, periodSeconds: 1 },
      }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "echo" },
    spec: { selector: { app: "echo" }, ports: [{ port: 8080 }] },
  },
];

export interface WebOptions {
  /** How many proxies; 1 if absent. */
  readonly proxies?: number;
  /** How long each has to be left by its clients, in seconds; 1 if absent. */
  readonly drain?: number;
  readonly className?: string;
  readonly annotations?: { readonly [name: string]: string };
}

/** Gateway `web` in a namespace of its own, for routes of all namespaces. */
export function gatewayIn(namespace: string, options: WebOptions = {}): readonly Json[] {
  const { proxies = 1, drain = 1, className = "gatehouse", annotations = {} } = options;
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    },
    {
      apiVersion: "gatehouse.dev/v1alpha1",
      kind: "EnvoyFleet",
      metadata: { namespace, name: "web" },
      spec: { workload: { replicas: proxies }, drain: { seconds: drain }, concurrency: 1 },
    },
    {
      apiVersion: gatewayApi,
      kind: "Gateway",
      metadata: { namespace, name: "web", annotations },
      spec: {
        gatewayClassName: className,
        infrastructure: { parametersRef: { group: "gatehouse.dev", kind: "EnvoyFleet", name: "web" } },
        listeners: [{
          name: "http",
          protocol: "HTTP",
          port: 80,
          allowedRoutes: { namespaces: { from: "All" } },
        }],
      },
    },
  ];
}

/** A route of {@linkcode gatewayIn}, in namespace `default` and for every hostname, or for `host`. */
export function routeTo(namespace: string, name: string, host?: string): Json {
  return {
    apiVersion: gatewayApi,
    kind: "HTTPRoute",
    metadata: { namespace: "default", name },
    spec: {
      parentRefs: [{ namespace, name: "web" }],
      ...host !== undefined && { hostnames: [host] },
      rules: [{ backendRefs: [{ name: "echo", port: 8080 }] }],
    },
  };
}

export function gatewayPath(namespace: string): string {
  return `/apis/${gatewayApi}/namespaces/${namespace}/gateways/web`;
}

export function routePath(name: string): string {
  return `/apis/${gatewayApi}/namespaces/default/httproutes/${name}`;
}

/** Waits until proxies have what the Gateway says; gives its address. */
export async function programmed(cluster: Cluster, namespace: string): Promise<string> {
  const gateway = await cluster.until(
    { what: `Gateway ${namespace}/web to be programmed`, seconds: 120 },
    async () => {
      const found = await cluster.get(gatewayPath(namespace));
      const { status, metadata } = found ?? {};
      const condition = status?.conditions?.find(({ type }: Json) => type === "Programmed");
      return isTrue(found, "Programmed") && condition.observedGeneration === metadata.generation && found;
    },
  );
  return gateway.status.addresses[0].value;
}

const lists = {
  Service: "/api/v1/namespaces/*/services",
  ServiceAccount: "/api/v1/namespaces/*/serviceaccounts",
  ConfigMap: "/api/v1/namespaces/*/configmaps",
  Deployment: "/apis/apps/v1/namespaces/*/deployments",
  DaemonSet: "/apis/apps/v1/namespaces/*/daemonsets",
  HorizontalPodAutoscaler: "/apis/autoscaling/v2/namespaces/*/horizontalpodautoscalers",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/*/poddisruptionbudgets",
} as const;

/** The objects that were made for Gateways in a namespace, but for pods, by `Kind/name`. */
export async function childrenIn(
  cluster: Cluster,
  namespace: string,
): Promise<{ readonly [name: string]: Json }> {
  const found: { [name: string]: Json } = {};
  await Promise.all(
    Object.entries(lists).map(async ([kind, path]) => {
      const list = await cluster.get(
        `${path.replace("*", namespace)}?labelSelector=${encodeURIComponent(managedSelector)}`,
      );
      for (const object of list.items) found[`${kind}/${object.metadata.name}`] = object;
    }),
  );
  return found;
}

/** The pods of Gateway `web`'s proxies, those that are about to end as well. */
export async function proxiesIn(cluster: Cluster, namespace: string): Promise<readonly Json[]> {
  const selector = encodeURIComponent("gateway.networking.k8s.io/gateway-name=web");
  const { items } = await cluster.get(`/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`);
  return items;
}

/** The container of a proxy's pod. */
export function envoyOf(pod: Json): {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
} {
  const { metadata: { namespace, name }, spec } = pod;
  return { namespace, pod: name, container: spec.containers[0].name };
}

/** What a proxy's admin interface answers; undefined if it does not. */
export async function askAdmin(cluster: Cluster, pod: Json, path: string): Promise<string | undefined> {
  const socket = `/run/lab/${pod.metadata.uid}/volumes/run/admin.sock`;
  const { code, out } = await cluster.exec(
    ["curl", "--silent", "--max-time", "5", "--unix-socket", socket, `http://admin${path}`],
  );
  return code === 0 ? out : undefined;
}

/** The status of an answer to a GET from within the cluster; 0 if there is none. */
export async function statusOf(cluster: Cluster, address: string, host = "web.example.com"): Promise<number> {
  const curl = [
    "curl",
    "--silent",
    "--max-time",
    "3",
    "--output",
    "/dev/null",
    "--write-out",
    "%{http_code}",
  ];
  const { out } = await cluster.exec([...curl, "--header", `Host: ${host}`, `http://${address}/`]);
  return Number(out);
}

/** Gives a route of {@linkcode routeTo} another hostname. */
export async function rename(cluster: Cluster, route: string, host: string): Promise<void> {
  await cluster.kube.performRequest({
    method: "PATCH",
    path: routePath(route),
    contentType: "application/merge-patch+json",
    bodyJson: { spec: { hostnames: [host] } },
    expectJson: true,
  });
}
