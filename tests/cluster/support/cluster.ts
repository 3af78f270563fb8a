/**
 * A Kubernetes cluster for one test file: a real control plane, whose pods are processes of this machine.
 *
 * `tests/cluster/lab` is the cluster; this starts it, and does what tests do with one.
 *
 * @module
 */
import type { Kube } from "../../../kube/types.ts";
import { cacheDirectory } from "../../../standalone/envoy/find.ts";
import { moduleFolder } from "../../crds/upstream.ts";
import { type Result, root, run, succeed } from "../../support/command.ts";
import { kubeOf } from "../../support/kube.ts";
import { type CacheOptions } from "../../tools/cache.ts";
import { goProgram, kubernetesVariables } from "../../tools/go.ts";
import { clusterMinors, findKubectl, kubernetesVersion } from "../../tools/kubectl.ts";
import { allImages, type Images } from "./images.ts";
import { pathWithSbin, prepareMachine } from "./machine.ts";
import { keepRemains } from "./remains.ts";

export interface ClusterOptions {
  /** Gateway API's CRDs to install; none if `false`. */
  readonly gatewayApi?: { readonly version: string; readonly channel: "standard" | "experimental" } | false;
  /** Projected tokens are renewed after this part of their life; 0.8 if absent, which is the kubelet's. */
  readonly renewTokensAfter?: number;
  /** Beside those of `images.ts`. */
  readonly images?: Images;
  progress?(line: string): void;
}

/** One line of the API server's audit log; see `audit.k8s.io/v1`. */
export interface AuditEvent {
  readonly stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly apiVersion?: string;
    readonly resource: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

export interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** Says what a test waits for, and how long, in seconds. */
export interface Patience {
  readonly what: string;
  /** 30 if absent. */
  readonly seconds?: number;
}

/** An object as JSON, for kinds that Gatehouse has no model of. */
// deno-lint-ignore no-explicit-any -- tests look into objects of any kind
export type Json = any;

const patience = 30;

/** Builds what is missing. Gives the programs' folder, the images and a kubectl. */
export async function buildCluster(
  progress: (line: string) => void,
): Promise<{ readonly lab: string; readonly images: Images; readonly kubectl: string }> {
  await prepareMachine(progress);
  const env = (name: string) => Deno.env.get(name);
  const options: CacheOptions = { cache: `${cacheDirectory(env, `${root}.gatehouse`)}/cluster`, progress };
  const lab = await goProgram({
    name: "lab",
    module: `${root}tests/cluster/lab`,
    packages: { lab: ".", podinit: "./cmd/podinit" },
    takes: "8 minutes",
    variables: kubernetesVariables(kubernetesVersion),
  }, options);
  const kubectl = await findKubectl({ env, minors: clusterMinors, progress });
  return { lab, images: await allImages(options), kubectl };
}

/** Starts a cluster of one's own. It goes when it is disposed of, or with this process. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const progress = options.progress ??
    ((line) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)));
  const built = await buildCluster(progress);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-cluster-" });
  const child = await up({ ...options, folder, progress, attached: true }, built);
  const cluster = await Cluster.open(folder, { kubectl: built.kubectl, child });
  try {
    await install(cluster, options);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts the processes of a cluster; resolves once it is ready. `attached` ones end with this process. */
export async function up(
  { folder, attached, images = {}, renewTokensAfter, progress }: ClusterOptions & {
    readonly folder: string;
    readonly attached: boolean;
  },
  built: { readonly lab: string; readonly images: Images },
): Promise<Deno.ChildProcess> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/images.json`, JSON.stringify({ ...built.images, ...images }, null, 2));
  const args = ["up", `--dir=${folder}`, `--images=${folder}/images.json`];
  if (attached) args.push("--attached");
  if (renewTokensAfter !== undefined) args.push(`--renew-tokens-after=${renewTokensAfter}`);
  const log = `${folder}/up.log`;
  await Deno.writeTextFile(log, "");
  // Through a file, so that one that is not attached outlives the reader.
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$0" "$@" >>"$LOG" 2>&1', `${built.lab}/lab`, ...args],
    env: { PATH: pathWithSbin(), LOG: log },
    stdin: attached ? "piped" : "null",
    stdout: "null",
    stderr: "null",
    detached: !attached,
  }).spawn();
  if (!attached) child.unref();
  let ended = false;
  void child.status.then(() => ended = true);
  let shown = 0;
  await poll({ what: `the cluster in ${folder} to start`, seconds: 60 }, async () => {
    const lines = (await Deno.readTextFile(log)).split("\n").slice(0, -1);
    for (; shown < lines.length; shown++) progress?.(lines[shown]!);
    if (lines.some((line) => line.endsWith("s ready"))) return true;
    if (ended) throw new Error(`The cluster ended:\n${lines.join("\n")}\n${await tail(`${folder}/lab.log`)}`);
    return false;
  });
  return child;
}

async function tail(path: string): Promise<string> {
  return (await Deno.readTextFile(path).catch(() => "")).split("\n").slice(-20).join("\n");
}

/** Gives a cluster its DNS, and the CRDs. */
export async function install(
  cluster: Cluster,
  { gatewayApi = { version: "v1.6.3", channel: "experimental" } }: ClusterOptions = {},
): Promise<void> {
  const files = [`${root}tests/cluster/support/dns.yaml`];
  if (gatewayApi) {
    const crds = `${await moduleFolder(gatewayApi.version)}/config/crd/${gatewayApi.channel}`;
    for await (const { name } of Deno.readDir(crds)) {
      if (/^gateway\..*_/.test(name)) files.push(`${crds}/${name}`);
    }
  }
  await cluster.kubectl("apply", "--server-side", ...files.map((file) => `--filename=${file}`));
  await cluster.until({ what: "DNS" }, async () => {
    const dns = await cluster.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns");
    return dns?.status?.availableReplicas === 1;
  });
  await cluster.until({ what: "the CRDs to be established" }, async () => {
    const { items } = await cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    return items.every((crd: Json) =>
      crd.status?.conditions?.some((c: Json) => c.type === "Established" && c.status === "True")
    );
  });
}

async function poll<T>(
  { what, seconds = patience }: Patience,
  holds: () => Promise<T>,
): Promise<NonNullable<Exclude<T, false>>> {
  for (const end = performance.now() + seconds * 1000;;) {
    const value = await holds();
    if (value) return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > end) throw new Error(`Waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A cluster that runs. */
export class Cluster implements AsyncDisposable {
  /** The API server as pods see it, but for the network: cut off, killed, paused. Each resolves once it is so. */
  readonly apiServer = {
    /** Drops every packet between the API server and pods and the host; {@linkcode exec} still reaches it. */
    cut: () => this.#control("apiserver cut"),
    /** As {@linkcode cut}, but connections are refused and reset. */
    refuse: () => this.#control("apiserver refuse"),
    /** Ends {@linkcode cut} and {@linkcode refuse}. */
    restore: () => this.#control("apiserver restore"),
    /** SIGKILL; for everybody, controllers and node included, until {@linkcode start}. */
    kill: () => this.#control("apiserver kill"),
    start: () => this.#control("apiserver start"),
    /** SIGSTOP: connections are accepted, nothing is answered. */
    pause: () => this.#control("apiserver pause"),
    resume: () => this.#control("apiserver resume"),
  };

  private constructor(
    /** Its state: logs, credentials. */
    readonly folder: string,
    readonly kube: Kube & Disposable,
    readonly programs: { readonly kubectl: string },
    readonly pid: string,
    readonly child: Deno.ChildProcess | undefined,
  ) {}

  /** A cluster that has been started in `folder`. */
  static async open(
    folder: string,
    { kubectl, child }: { readonly kubectl: string; readonly child?: Deno.ChildProcess },
  ): Promise<Cluster> {
    const pid = (await Deno.readTextFile(`${folder}/pid`)).trim();
    const kube = await kubeOf(`${folder}/host.kubeconfig`) as Kube & Disposable;
    return new Cluster(folder, kube, { kubectl }, pid, child);
  }

  /** For programs on this machine. */
  get kubeconfig(): string {
    return `${this.folder}/host.kubeconfig`;
  }

  /** Runs kubectl on this machine, as an administrator; gives what it prints. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await succeed(this.#kubectl(args), { env: this.#environment });
  }

  /** As {@linkcode kubectl}, for commands that may fail. */
  async tryKubectl(...args: readonly string[]): Promise<Result> {
    return await run(this.#kubectl(args), { env: this.#environment });
  }

  #kubectl(args: readonly string[]): [string, ...string[]] {
    return [this.programs.kubectl, `--kubeconfig=${this.kubeconfig}`, ...args];
  }

  get #environment(): Record<string, string> {
    return { KUBECONFIG: this.kubeconfig, HOME: this.folder, PATH: pathWithSbin() };
  }

  /** Applies YAML or objects, by server-side apply. */
  async apply(manifest: string | readonly unknown[]): Promise<void> {
    const input = typeof manifest === "string"
      ? manifest
      : JSON.stringify({ apiVersion: "v1", kind: "List", items: manifest });
    const { code, err } = await run(this.#kubectl(["apply", "--server-side", "--filename=-"]), {
      env: this.#environment,
      input,
    });
    if (code !== 0) throw new Error(`Cannot apply: ${err}\n${input}`);
  }

  /** The object, or list, at a path of the API; `undefined` if there is none. */
  async get(path: string): Promise<Json> {
    const [at, query] = path.split("?");
    try {
      return await this.kube.performRequest({
        method: "GET",
        path: at!,
        querystring: new URLSearchParams(query),
        expectJson: true,
      });
    } catch (error) {
      if (error instanceof Error && "status" in error && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Looks again and again until it `holds`; gives what that is. */
  until<T>(patience: Patience, holds: () => Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    return poll(patience, holds);
  }

  /** The pod, once it is ready. */
  async ready(namespace: string, pod: string): Promise<Json> {
    return await this.until({ what: `pod ${namespace}/${pod} to be ready` }, async () => {
      const found = await this.get(`/api/v1/namespaces/${namespace}/pods/${pod}`);
      return isTrue(found, "Ready") && found;
    });
  }

  /** The command line that runs a command in the cluster's network, or in a pod's. */
  command(
    command: readonly string[],
    pod?: { readonly metadata: { readonly uid: string } },
  ): [string, ...string[]] {
    const enter = ["-n", "-m", "-p", "-u", `--wd=${Deno.cwd()}`, "--"];
    const within = pod ? ["ip", "netns", "exec", `pod-${pod.metadata.uid.slice(0, 13)}`] : [];
    return ["nsenter", `--target=${this.pid}`, ...enter, ...within, ...command];
  }

  /**
   * Runs a command where the cluster's pods, Services and load balancers can be reached; with a pod (as from
   * {@linkcode get}), where that one is. `$KUBECONFIG` is set.
   */
  async exec(
    command: readonly string[],
    { pod, input }: { readonly pod?: Json; readonly input?: string } = {},
  ): Promise<Result> {
    const env = { ...this.#environment, KUBECONFIG: `${this.folder}/admin.kubeconfig` };
    return await run(this.command(command, pod), { env, ...input !== undefined && { input } });
  }

  /** All that a container has printed, over restarts too. */
  async logs({ namespace, pod, container }: ContainerName): Promise<string> {
    return await Deno.readTextFile(`${this.folder}/logs/${namespace}_${pod}_${container}.log`).catch(() =>
      ""
    );
  }

  /** Sends a signal to the first process of a container. */
  async signal(
    { namespace, pod, container }: ContainerName,
    signal: "KILL" | "STOP" | "CONT" | "TERM",
  ): Promise<void> {
    await this.#control(`signal ${namespace} ${pod} ${container} ${signal}`);
  }

  /** The requests that the API server has answered, in order; `from` is where to begin, in bytes. */
  async audit(from = 0): Promise<{ readonly events: AuditEvent[]; readonly end: number }> {
    const bytes = (await Deno.readFile(`${this.folder}/audit.jsonl`)).subarray(from);
    const whole = bytes.subarray(0, bytes.lastIndexOf(10) + 1);
    const lines = new TextDecoder().decode(whole).split("\n").filter((line) => line !== "");
    return { events: lines.map((line) => JSON.parse(line) as AuditEvent), end: from + whole.length };
  }

  async #control(line: string): Promise<void> {
    using connection = await Deno.connect({ transport: "unix", path: `${this.folder}/control` });
    await connection.write(new TextEncoder().encode(`${line}\n`));
    const answer = (await new Response(connection.readable).text()).trim();
    if (answer !== "ok") throw new Error(`Cannot do "${line}": ${answer}`);
  }

  /** Ends the cluster. Its folder goes as well, but for logs, unless `$KEEP_CLUSTER` is set. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child) await keepRemains(this);
    this.kube[Symbol.dispose]();
    if (!this.child) return;
    await this.child.stdin.close();
    await this.child.status;
    if (Deno.env.get("KEEP_CLUSTER")) return;
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Whether a condition of an object is True. */
export function isTrue(object: Json, type: string): boolean {
  return object?.status?.conditions?.some((c: Json) => c.type === type && c.status === "True") ?? false;
}
