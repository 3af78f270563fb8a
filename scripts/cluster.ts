/**
 * A Kubernetes cluster on this machine to try things on: `deno task cluster [start|stop|status|exec]`.
 *
 * It is the one that the cluster tests run on, left running; its state is in `build/cluster`, or `build/cluster-NAME`.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { dirname } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { buildCluster, Cluster, install, up } from "../tests/cluster/support/cluster.ts";
import { root } from "../tests/support/command.ts";
import { clusterMinors, findKubectl, kubernetesVersion } from "../tests/tools/kubectl.ts";

const say = (line: string) => console.log(line);
const program = new Command("deno task cluster");

/** The cluster's name; undefined for the one that has none. */
const named = (): string | undefined => program.opts().name;
const folderName = (): string => named() === undefined ? "build/cluster" : `build/cluster-${named()}`;
const folderOf = (): string => root + folderName();
/** The command line that is about this cluster. */
const task = (): string =>
  named() === undefined ? "deno task cluster" : `deno task cluster --name=${named()}`;

/** A kubectl that works, which starting the cluster has found or built. */
const kubectl = (): Promise<string> =>
  findKubectl({ env: (name) => Deno.env.get(name), minors: clusterMinors, progress: () => undefined });

/** Whether the process that `up` left in the folder still runs. */
async function isRunning(): Promise<boolean> {
  const folder = folderOf();
  const pid = await Deno.readTextFile(`${folder}/pid`).catch(() => undefined);
  if (pid === undefined) return false;
  const command = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
  return command.includes(`--dir\0${folder}\0`);
}

async function start({ build }: { readonly build?: boolean }): Promise<void> {
  const built = await buildCluster(say);
  if (build) return;
  if (await isRunning()) say("The cluster runs already.");
  else {
    const folder = folderOf();
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await up({ folder, attached: false, progress: say }, built);
    await using cluster = await Cluster.open(folder, built);
    await install(cluster);
  }
  await tell(built.kubectl);
}

async function tell(kubectl: string): Promise<void> {
  const folder = folderOf();
  const images = Object.keys(JSON.parse(await Deno.readTextFile(`${folder}/images.json`)));
  say(`
Kubernetes ${kubernetesVersion} with Gateway API's CRDs. From this machine:

  export KUBECONFIG=${folder}/host.kubeconfig
  ${kubectl} get pods --all-namespaces

Pods, Services and load balancers are reached from inside:

  ${task()} exec -- curl http://ADDRESS/

Images that pods can run: ${images.join(", ")}

${task()} stop ends it.`);
}

async function stop(): Promise<void> {
  if (!await isRunning()) return say("No cluster runs.");
  const pid = Number(await Deno.readTextFile(`${folderOf()}/pid`));
  Deno.kill(pid, "SIGTERM");
  while (await isRunning()) await new Promise((resolve) => setTimeout(resolve, 50));
  say(`The cluster has ended; its logs are in ${folderName()}.`);
}

async function exec(command: readonly string[]): Promise<void> {
  if (!await isRunning()) throw new Error(`No cluster runs; start one: ${task()}`);
  const folder = folderOf(), programs = { kubectl: await kubectl() };
  await using cluster = await Cluster.open(folder, programs);
  const [program, ...args] = cluster.command(command);
  const PATH = `${Deno.env.get("PATH") ?? ""}:${dirname(programs.kubectl)}`;
  const { code } = await new Deno.Command(program, {
    args,
    env: { KUBECONFIG: `${folder}/admin.kubeconfig`, PATH },
  }).spawn().status;
  Deno.exit(code);
}

program
  .description(
    `Run Kubernetes ${kubernetesVersion} on this machine: a real control plane, pods as local processes`,
  )
  .addHelpText(
    "after",
    `
Needs Linux, root, and Go, nft, ip and nsenter, which are installed with apt if they are missing. What has been built
stays in the user's cache: the first start takes about 10 minutes, the next ones 5 seconds.

Examples:
  deno task cluster                                start it, and say how to use it
  deno task cluster exec -- kubectl get gateways   run a command inside
  deno task cluster stop
  deno task cluster --name=other                   one more, beside it`,
  )
  .option("--name <name>", "which one, where there are several", (name) => {
    if (/^[a-z0-9-]+$/.test(name)) return name;
    throw new InvalidArgumentError("Expected lowercase letters, digits and dashes.");
  });
program.command("start", { isDefault: true }).description("build what is missing, start, say how to use it")
  .option("--build", "build only")
  .action(start);
program.command("stop").description("end the cluster").action(stop);
program.command("status").description("say whether it runs, and how to use it")
  .action(async () => {
    if (!await isRunning()) {
      say("No cluster runs.");
      Deno.exit(1);
    }
    await tell(await kubectl());
  });
program.command("exec").description("run a command where pods and Services can be reached")
  .argument("<command...>", "after --, as in: exec -- curl http://10.96.0.1")
  .action(exec);

try {
  await program.parseAsync(Deno.args, { from: "user" });
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  Deno.exit(1);
}
