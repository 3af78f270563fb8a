/**
 * `gatehouse uninstall`: what has to be done before an installation is deleted.
 *
 * @module
 */
import type { Command } from "commander";
import { systemClock } from "../controllers/runtime/clock.ts";
import { kept } from "../controllers/teardown.ts";
import { defaultConfig } from "../controllers/translate/mod.ts";
import { deployment, pod } from "../crds/mod.ts";
import { isStatus } from "../kube/errors.ts";
import { list } from "../kube/list.ts";
import type { Kube } from "../kube/types.ts";
import { connect } from "./connect.ts";
import { type Io, UsageError } from "./io.ts";
import { contextOption, kubeconfigOption, names } from "./options.ts";
import { finalizersOf, removeAll } from "./remove_finalizers.ts";

interface Options {
  readonly namespace: string;
  readonly deployment: string;
  readonly controllerName: string;
  readonly watchNamespaces?: readonly string[];
  readonly timeout: number;
  readonly inCluster?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Between two looks at the pods, in milliseconds. */
const interval = 500;

export function registerUninstall(program: Command, io: Io): void {
  program.command("uninstall")
    .description("Stop an operator in a cluster and let everything go that its finalizers keep")
    .option("--namespace <namespace>", "namespace of the operator", "gatehouse-system")
    .option("--deployment <name>", "its Deployment", "gatehouse")
    .option("--controller-name <name>", "whose finalizers", defaultConfig.controllerName)
    .option("--watch-namespaces <names>", "as the operator was told: look there and nowhere else", names)
    .option("--timeout <seconds>", "how long to wait for the operator to stop", Number, 60)
    .option("--in-cluster", "as the ServiceAccount of the pod that this runs in")
    .addOption(kubeconfigOption()).addOption(contextOption())
    .addHelpText(
      "after",
      `
Gateways and their Envoys stay, and go on serving what they have: delete the Gateways first if that is not meant.
The chart's pre-delete hook runs this; what it is for otherwise is an installation by kubectl.

Examples:
  gatehouse uninstall && kubectl delete -k deploy/kustomize/base`,
    )
    .action(async (options: Options) => {
      if (!(options.timeout >= 0)) throw new UsageError("Expected --timeout to be a number of seconds");
      const kube = await connect(io, options);
      await stop(kube, options, io);
      const where = options.watchNamespaces;
      await removeAll(kube, await kept(kube, finalizersOf(options.controllerName), io.signal, where), io);
    });
}

/** Scales the operator down and waits until its last pod is gone, since it would put the finalizers back. */
async function stop(kube: Kube, { namespace, deployment: name, timeout }: Options, io: Io): Promise<void> {
  let selector: string;
  try {
    const { spec } = await kube.patch(deployment, { namespace, name }, [
      { op: "replace", path: "/spec/replicas", value: 0 },
    ], { signal: io.signal });
    selector = Object.entries(spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
      .join();
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    return io.err(`There is no Deployment "${name}" in ${namespace}`);
  }
  const deadline = systemClock.monotonic() + timeout * 1000;
  for (;;) {
    const { objects } = await list(kube, pod, { namespace, labelSelector: selector, signal: io.signal });
    if (objects.length === 0) break;
    if (systemClock.monotonic() > deadline) {
      const names = objects.map(({ metadata }) => metadata.name).join(", ");
      throw new UsageError(
        `Cannot stop the operator: after ${timeout} s there still is ${names}; delete it and try again`,
        { status: 1 },
      );
    }
    await systemClock.sleep(interval, { signal: io.signal });
  }
  io.out(`deployment/${name} stopped\n`);
}
