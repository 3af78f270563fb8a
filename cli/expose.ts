/**
 * `gatehouse expose`: make a server that runs outside of Kubernetes a Service that routes can name.
 *
 * @module
 */
import type { Command } from "commander";
import { stringify } from "yaml";
import type { ApiObject } from "../crds/kind.ts";
import { endpointSlice, kindFor } from "../crds/mod.ts";
import { isStatus } from "../kube/errors.ts";
import { list } from "../kube/list.ts";
import type { Kube } from "../kube/types.ts";
import { exposeManifests, managedBy } from "../standalone/expose.ts";
import { connect } from "./connect.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./io.ts";
import { contextOption, dataOption, kubeconfigOption, port } from "./options.ts";
import { write } from "./write.ts";

interface Options {
  readonly port: number;
  readonly to: readonly string[];
  readonly namespace: string;
  readonly dryRun?: boolean;
  readonly data: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function registerExpose(program: Command, io: Io): void {
  program.command("expose")
    .description("Write a Service and an EndpointSlice for a server that runs elsewhere")
    .argument("<name>", "name of the Service")
    .requiredOption("--port <port>", "port of the Service", port)
    .requiredOption("--to <address:port...>", "where the server listens; several share the traffic")
    .option("-n, --namespace <namespace>", "namespace of the Service", "default")
    .option("--dry-run", "print the objects instead of writing them")
    .addOption(dataOption()).addOption(kubeconfigOption()).addOption(contextOption())
    .addHelpText(
      "after",
      `
Examples:
  gatehouse expose web --port 80 --to 127.0.0.1:3000
  gatehouse expose web --port 80 --to 10.0.0.5:3000 --to 10.0.0.6:3000 -n shop
  gatehouse expose web --port 80 --to 127.0.0.1:3000 --dry-run | kubectl apply -f -`,
    )
    .action(async (name: string, options: Options) => {
      const result = exposeManifests(name, options);
      if ("error" in result) throw new UsageError(result.error);
      if (options.dryRun) {
        // Kubernetes reads YAML 1.1, where a name such as "on" takes quotes.
        io.out(result.objects.map((object) => stringify(object, { compat: "yaml-1.1" })).join("---\n"));
        return;
      }
      const kube = await connect(io, options);
      await refuseOthers(kube, result.objects, io.signal);
      for (const object of result.objects) {
        const kind = kindFor(object)!;
        io.out(`${kind.singular}/${object.metadata.name} ${await write(kube, kind, object, io.signal)}\n`);
      }
      for (const former of await removeFormer(kube, name, result.objects, io.signal)) {
        io.out(`${endpointSlice.singular}/${former} deleted\n`);
      }
    });
}

function isOurs({ metadata }: ApiObject): boolean {
  return metadata.labels?.["app.kubernetes.io/managed-by"] === managedBy;
}

/** Throws if one of the objects is there already and somebody else made it: their routes would lead elsewhere all at once. */
async function refuseOthers(kube: Kube, objects: readonly ApiObject[], signal: AbortSignal): Promise<void> {
  for (const object of objects) {
    const { namespace, name } = object.metadata;
    const before = await kube.get(kindFor(object)!, object.metadata, signal).catch((error) => {
      if (isStatus(error, 404)) return undefined;
      throw error;
    });
    if (before === undefined || isOurs(before)) continue;
    throw new UsageError(
      `Cannot expose "${
        objects[0]!.metadata.name
      }": ${object.kind} "${namespace}/${name}" is there already and ` +
        "was not made by expose; choose another name, or delete it first",
      { status: 1 },
    );
  }
}

/** Deletes the slices of an earlier expose that are not written any more; their servers would go on getting traffic. */
async function removeFormer(
  kube: Kube,
  service: string,
  written: readonly ApiObject[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { namespace } = written[0]!.metadata;
  const { objects } = await list(kube, endpointSlice, {
    namespace,
    labelSelector: `kubernetes.io/service-name=${service},app.kubernetes.io/managed-by=${managedBy}`,
    signal,
  });
  const former = objects.filter(({ metadata }) =>
    !written.some(({ kind, metadata: { name } }) => kind === "EndpointSlice" && name === metadata.name)
  );
  for (const { metadata } of former) await kube.delete(endpointSlice, metadata, { signal });
  return former.map(({ metadata }) => metadata.name);
}
