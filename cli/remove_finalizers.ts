/**
 * `gatehouse remove-finalizers`: let Gateways and GatewayClasses go that wait for an operator which is no more.
 *
 * @module
 */
import type { Command } from "commander";
import { type Finalizers, type Kept, kept, letGo } from "../controllers/teardown.ts";
import {
  defaultConfig,
  gatewayExists,
  gatewayFinalizer,
  withFinalizer,
} from "../controllers/translate/mod.ts";
import type { Kube } from "../kube/types.ts";
import { connect } from "./connect.ts";
import { type Io, UsageError } from "./io.ts";
import { contextOption, dataOption, kubeconfigOption } from "./options.ts";

interface Options {
  readonly all?: boolean;
  readonly namespace: string;
  readonly controllerName: string;
  readonly dryRun?: boolean;
  readonly data: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function registerRemoveFinalizers(program: Command, io: Io): void {
  program.command("remove-finalizers")
    .description("Let Gateways and GatewayClasses go without waiting for the operator or for proxies")
    .argument("[names...]", "gateway/NAME or gatewayclass/NAME")
    .option("--all", "all that this controller's finalizers keep, in all namespaces")
    .option("-n, --namespace <namespace>", "namespace of the Gateways", "default")
    .option("--controller-name <name>", "whose finalizers", defaultConfig.controllerName)
    .option("--dry-run", "only say what would be done")
    .addOption(dataOption()).addOption(kubeconfigOption()).addOption(contextOption())
    .addHelpText(
      "after",
      `
Only finalizers of Gatehouse are removed, those of others stay. While an operator runs it puts them back on
objects that are not being deleted.

Examples:
  gatehouse remove-finalizers gateway/web -n shop
  gatehouse remove-finalizers gatewayclass/gatehouse
  gatehouse remove-finalizers --all --dry-run      what is kept, after the operator has been uninstalled`,
    )
    .action(async (names: readonly string[], options: Options) => {
      if (names.length === 0 && !options.all) {
        throw new UsageError("Cannot tell what to let go: name it, as in gateway/web, or say --all");
      }
      if (names.length > 0 && options.all) throw new UsageError("Cannot take names and --all together");
      const wanted = names.map((name) => wantedOf(name, options.namespace));
      const kube = await connect(io, options);
      const found = await kept(kube, finalizersOf(options.controllerName), io.signal);
      const chosen = options.all ? found : found.filter((one) => wanted.includes(nameOf(one)));
      await removeAll(kube, chosen, io, options.dryRun);
      const missed = wanted.filter((name) => !chosen.some((one) => nameOf(one) === name));
      for (const name of missed) io.err(`${name} has no finalizer of ${options.controllerName}`);
    });
}

/** The finalizers of the installation with that controller name. */
export function finalizersOf(controllerName: string): Finalizers {
  return { controllerName, gateway: gatewayFinalizer(controllerName), gatewayClass: gatewayExists };
}

/** Lets go of everything in a list, and says so. */
export async function removeAll(kube: Kube, all: readonly Kept[], io: Io, dryRun = false): Promise<void> {
  for (const one of all) {
    if (!dryRun) await letGo(kube, one, (metadata, name) => withFinalizer(metadata, name, false), io.signal);
    io.out(`${nameOf(one)} ${dryRun ? "would be let go" : "let go"}\n`);
  }
  if (all.length === 0) io.err("Nothing is kept");
}

function nameOf({ kind, object: { metadata: { namespace, name } } }: Kept): string {
  return namespace === undefined ? `${kind.singular}/${name}` : `${kind.singular}/${name} in ${namespace}`;
}

const kinds: { readonly [word: string]: "gateway" | "gatewayclass" } = {
  gateway: "gateway",
  gateways: "gateway",
  gtw: "gateway",
  gatewayclass: "gatewayclass",
  gatewayclasses: "gatewayclass",
  gc: "gatewayclass",
};

/** What {@linkcode nameOf} would say of it. */
function wantedOf(argument: string, namespace: string): string {
  const [word = "", name = "", ...rest] = argument.split("/");
  const kind = kinds[word.toLowerCase()];
  if (kind === undefined || name === "" || rest.length > 0) {
    throw new UsageError(`Cannot read "${argument}": expected gateway/NAME or gatewayclass/NAME`);
  }
  return kind === "gateway" ? `gateway/${name} in ${namespace}` : `gatewayclass/${name}`;
}
