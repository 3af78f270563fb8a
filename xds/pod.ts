/**
 * What an Envoy in a pod is started with: files of a ConfigMap, which all pods of a Gateway share, and arguments.
 *
 * @module
 */
import { bootstrap, type BootstrapOptions } from "./bootstrap.ts";
import { sdsFiles } from "./control_plane.ts";

export interface PodOptions extends Omit<BootstrapOptions, "proxy" | "credential" | "sdsDirectory"> {
  /** The folder with {@linkcode PodFiles.files} and, beside them, `ca.crt`: the authorities of the xDS server. */
  readonly configuration: string;
  /** The folder with the ServiceAccount's `token`, which the kubelet renews. */
  readonly token: string;
  /** The node id, `NAMESPACE/POD`; usually of references to the container's environment. */
  readonly node: string;
  /** How long a pod has for its clients to go elsewhere, in seconds. */
  readonly drain: number;
  /** Worker threads; by default one for each core of the node, whatever the container may use of them. */
  readonly concurrency?: number;
  /** As Envoy calls it: `trace`, `debug`, `info`, `warning`, `error`, `critical` or `off`. */
  readonly logLevel?: string;
}

/** For how long connections of a listener that has changed or gone may still be of use, in seconds: Envoy's own idea of it. */
const longestAnswer = 600;

export interface PodFiles {
  /** Contents of the ConfigMap, by key. They depend on the options alone. */
  readonly files: { readonly [key: string]: string };
  /** Arguments of Envoy. */
  readonly args: readonly string[];
}

/** Makes the files and the arguments of the pods of one Gateway. */
export function podFiles(options: PodOptions): PodFiles {
  const { configuration, token, node, drain, concurrency, logLevel = "warning" } = options;
  const made = bootstrap({ ...options, credential: "token", sdsDirectory: configuration });
  return {
    files: {
      "envoy.json": `${JSON.stringify(made, undefined, 2)}\n`,
      ...sdsFiles({ authority: configuration, token }, options),
    },
    args: [
      ...["--config-path", `${configuration}/envoy.json`],
      ...["--service-node", node],
      ...["--log-level", logLevel],
      ...concurrency === undefined ? [] : ["--concurrency", String(concurrency)],
      // As soon as a listener changes its clients are asked to come again, and what takes longer than that has time.
      ...["--drain-strategy", "immediate", "--drain-time-s", String(Math.max(drain, longestAnswer))],
      // Lines of the access log wait for others no longer than this.
      ...["--file-flush-interval-msec", "1000"],
      // A pod has one process, and is replaced as a whole.
      "--disable-hot-restart",
    ],
  };
}
