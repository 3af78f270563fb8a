/**
 * What is left of a test's cluster, for whoever has to find out why the test failed: what the programs have printed, over their
 * restarts, and the pods, which tell how they ended.
 *
 * @module
 */
import { root } from "../../support/command.ts";
import type { Cluster } from "./cluster.ts";

/** `deno task test:cluster` empties it first. */
const kept = `${root}build/test-cluster/logs`;

/** Which files of the cluster's folder; all of the folder `logs`. */
const files = ["lab.log", "apiserver.log"];

/** Keeps it in a folder that is named after the test and the cluster. Does nothing for what is no test. */
export async function keepRemains(cluster: Cluster): Promise<void> {
  const [, test] = /([a-z_]+)_test\.ts$/.exec(Deno.mainModule) ?? [];
  if (test === undefined) return;
  const to = `${kept}/${test}-${cluster.folder.slice(cluster.folder.lastIndexOf("-") + 1)}`;
  await Deno.mkdir(to, { recursive: true });
  const { out, err } = await cluster.tryKubectl(
    ...["get", "pods", "--all-namespaces", "--output=yaml", "--request-timeout=5s"],
  );
  await Deno.writeTextFile(`${to}/pods.yaml`, out || err);
  await Deno.mkdir(`${cluster.folder}/logs`, { recursive: true }); // It may not have come to any pod.
  const logs = await Array.fromAsync(Deno.readDir(`${cluster.folder}/logs`));
  for (const file of [...files, ...logs.map(({ name }) => `logs/${name}`)]) {
    await Deno.copyFile(`${cluster.folder}/${file}`, `${to}/${file.replace("logs/", "")}`);
  }
}
