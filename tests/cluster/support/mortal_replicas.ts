/**
 * Replicas of the operator in pods of their own, of the image, with the arguments and the rights of the Deployment. Mortal ones
 * are killed right after their first write, before they hear of it, and others take their place; steady ones live.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { root } from "../../support/command.ts";
import type { Cluster, Json } from "./cluster.ts";
import { startFatalApi } from "./fatal_api.ts";
import { objectsIn } from "./helm.ts";
import { system } from "./installation.ts";

export const mortal = "mortal-", steady = "steady-";

/** How many mortal ones there are: one that leads, and one that waits. */
const together = 2;

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${system}/leases/gatehouse`;
const podPath = (name: string) => `/api/v1/namespaces/${system}/pods/${name}`;
const kubeconfig = { folder: "/var/run/secrets/crash", name: "crash" };

/** The tables of what an operator has to write. */
const due = ["due", "finalizers", "due for infrastructure"];

/** Deletes what is at a path of the API, at once. It may be gone. */
export async function remove(cluster: Cluster, path: string): Promise<void> {
  if (await cluster.get(path) === undefined) return;
  const querystring = new URLSearchParams({ gracePeriodSeconds: "0" });
  await cluster.kube.performRequest({ method: "DELETE", path, querystring, expectJson: true });
}

export class MortalReplicas implements AsyncDisposable {
  /** What mortal ones have died of, as `METHOD path`. */
  readonly deaths: string[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #alive = new Set<string>();
  #count = 0;
  #failure: unknown;

  private constructor(readonly cluster: Cluster, readonly pod: Json) {}

  /** Installs all but replicas and a GatewayClass. */
  static async install(cluster: Cluster): Promise<MortalReplicas> {
    const objects = objectsIn(await cluster.kubectl("kustomize", `${root}deploy/kustomize/base`));
    const { spec: { template } } = objects.find(({ kind }) => kind === "Deployment");
    await cluster.apply(objects.filter(({ kind }) => !["Deployment", "GatewayClass"].includes(kind)));
    const replicas = new MortalReplicas(cluster, template);
    const api = replicas.#stack.use(await startFatalApi(cluster, mortal));
    const token = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    await cluster.apply([{
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: system, name: kubeconfig.name },
      data: {
        kubeconfig: JSON.stringify({
          "current-context": "crash",
          contexts: [{ name: "crash", context: { cluster: "crash", user: "crash" } }],
          clusters: [{ name: "crash", cluster: { server: api.url } }],
          users: [{ name: "crash", user: { tokenFile: token } }],
        }),
      },
    }]);
    void (async () => {
      for await (const { pod, write } of api.writes) {
        replicas.deaths.push(write);
        await replicas.#kill(pod);
        await remove(cluster, leasePath);
        await replicas.#start(mortal);
      }
    })().catch((error) => replicas.#failure = error);
    return replicas;
  }

  async #start(prefix: string): Promise<string> {
    const { metadata: { labels }, spec } = this.pod, [container] = spec.containers;
    const name = `${prefix}${++this.#count}`, { folder, name: configMap } = kubeconfig;
    this.#alive.add(name);
    await this.cluster.kube.performRequest({
      method: "POST",
      path: `/api/v1/namespaces/${system}/pods`,
      bodyJson: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, labels },
        spec: {
          ...spec,
          restartPolicy: "Never",
          containers: [{
            ...container,
            args: [...container.args, `--kubeconfig=${folder}/kubeconfig`],
            volumeMounts: [{ name: "kubeconfig", mountPath: folder, readOnly: true }],
          }],
          volumes: [{ name: "kubeconfig", configMap: { name: configMap } }],
        },
      },
      expectJson: true,
    });
    return name;
  }

  async #kill(name: string): Promise<void> {
    this.#alive.delete(name);
    await this.cluster.signal({ namespace: system, pod: name, container: "operator" }, "KILL");
    await remove(this.cluster, podPath(name));
  }

  /** Kills all that there are, in no moment in particular. */
  async end(): Promise<void> {
    for (const name of this.#alive) {
      await this.cluster.ready(system, name);
      await this.#kill(name);
    }
    await remove(this.cluster, leasePath);
  }

  /** Has others take the place of all that there are: mortal ones, or one that is steady. */
  async replace(prefix: typeof mortal | typeof steady): Promise<void> {
    await this.end();
    for (let i = 0; i < (prefix === mortal ? together : 1); i++) await this.#start(prefix);
  }

  /** Whether one leads, and sees nothing that it would have to write. */
  async content(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure;
    const holder = (await this.cluster.get(leasePath))?.spec?.holderIdentity?.split("_")[0] ?? "";
    const pod = this.#alive.has(holder) && await this.cluster.get(podPath(holder));
    if (!pod) return false;
    const { out } = await this.cluster.exec(
      ["curl", "--silent", "--max-time", "5", `http://${pod.status.podIP}:8081/metrics`],
    );
    const values = new Map(
      [...out.matchAll(/^(gatehouse_\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name, value]) => [name, value]),
    );
    return values.get("gatehouse_leader") === "1" &&
      due.every((table) => values.get(`gatehouse_table_rows{table="${table}"}`) === "0");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
    assertEquals(this.#failure, undefined);
  }
}
