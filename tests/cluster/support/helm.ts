/**
 * What an installation brings: the chart by real Helm, the kustomize base by kubectl.
 *
 * @module
 */
import { cacheDirectory } from "../../../standalone/envoy/find.ts";
import { type Result, root, run, succeed } from "../../support/command.ts";
import { clusterMinors, findKubectl } from "../../tools/kubectl.ts";
import { helm } from "../../tools/programs.ts";
import type { Json } from "./cluster.ts";
import { parseAllDocuments } from "yaml";

/** The folder of the chart. */
export const chart = `${root}deploy/helm/gatehouse`;

/** What `build` of a program takes: the cache of the tests. */
export const tools = {
  cache: `${cacheDirectory((name) => Deno.env.get(name), `${root}.gatehouse`)}/cluster`,
  progress: (line: string): void => void Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)),
};

/** Values of the chart, as `--set-json` takes them: `{ "log.level": "debug" }`. */
export interface Values {
  readonly [path: string]: unknown;
}

function flagsOf(values: Values): readonly string[] {
  return Object.entries(values).map(([path, value]) => `--set-json=${path}=${JSON.stringify(value)}`);
}

/** Helm with a home of its own; it ends with it. */
export class Helm implements AsyncDisposable {
  private constructor(
    readonly program: string,
    readonly folder: string,
    readonly cluster: { readonly kubeconfig: string } | undefined,
  ) {}

  /** Helm for a cluster, or for what needs none. */
  static async open(cluster?: { readonly kubeconfig: string }): Promise<Helm> {
    return new Helm(await helm(tools), await Deno.makeTempDir({ prefix: "gatehouse-helm-" }), cluster);
  }

  /** Runs a command that may fail. */
  async try(args: readonly string[], values: Values = {}): Promise<Result> {
    const { cluster, folder, program } = this;
    const env = { HOME: folder, ...cluster && { KUBECONFIG: cluster.kubeconfig } };
    return await run([program, ...args, ...flagsOf(values)], { env });
  }

  /** Runs a command; gives what it prints. */
  async run(args: readonly string[], values: Values = {}): Promise<string> {
    const { code, out, err } = await this.try(args, values);
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: exit status ${code}\n${out}\n${err}`);
    return out;
  }

  /** What an installation would bring to a cluster with the Gateway API: objects, hooks included. */
  async template(values: Values = {}): Promise<readonly Json[]> {
    const text = await this.run([
      "template",
      "gatehouse",
      chart,
      "--namespace=gatehouse-system",
      "--kube-version=1.37.2",
      "--api-versions=gateway.networking.k8s.io/v1/GatewayClass",
    ], values);
    return objectsIn(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The objects of a file of YAML. */
export function objectsIn(text: string): readonly Json[] {
  return parseAllDocuments(text).map((document) => document.toJS()).filter((object) => object);
}

/** The objects of the kustomize base. */
export async function base(): Promise<readonly Json[]> {
  const kubectl = await findKubectl({ ...tools, env: (name) => Deno.env.get(name), minors: clusterMinors });
  return objectsIn(await succeed([kubectl, "kustomize", `${root}deploy/kustomize/base`]));
}

export const isHook = ({ metadata }: Json): boolean => metadata.annotations?.["helm.sh/hook"] !== undefined;

export const nameOf = ({ kind, metadata: { namespace = "", name } }: Json): string =>
  `${kind} ${namespace}/${name}`;

/** The objects of a kind, but for hooks. */
export const ofKind = (objects: readonly Json[], kind: string): readonly Json[] =>
  objects.filter((object) => object.kind === kind && !isHook(object));
