/**
 * `gatehouse translate`: what would be served, offline.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { stringify } from "yaml";
import { systemClock } from "../controllers/runtime/clock.ts";
import type { DesiredStatus } from "../controllers/translate/mod.ts";
import { type ApiObject, splitApiVersion } from "../crds/kind.ts";
import { absent } from "./absent.ts";
import { isGood } from "./conditions.ts";
import { placed, readManifests } from "./files.ts";
import { type Io, UsageError } from "./io.ts";
import { outputOption } from "./options.ts";
import { painter } from "./style.ts";

interface Options {
  readonly output: "yaml" | "json";
  readonly show: "all" | "status" | "xds" | "none";
  readonly channel: "standard" | "experimental";
  readonly now?: Date;
}

export function registerTranslate(program: Command, io: Io): void {
  program.command("translate")
    .description("Translate manifests into statuses and Envoy configuration, without a cluster")
    .argument("<files...>", "YAML or JSON files, directories of them, or - for standard input")
    .addOption(outputOption("yaml", "json"))
    .addOption(
      new Option("--show <what>", "what to print").choices(["all", "status", "xds", "none"]).default("all"),
    )
    .addOption(
      new Option("--channel <channel>", "fields of which channel of the Gateway API to accept")
        .choices(["standard", "experimental"]).default("experimental"),
    )
    .option(
      "--now <time>",
      "the time by which certificates are valid or not; default: the current one",
      moment,
    )
    .addHelpText(
      "after",
      `
Problems go to standard error, one a line. The exit status is 1 if there are any, so that a pipeline stops.
What only proxies know is left out: addresses, and the condition Programmed.

Examples:
  gatehouse translate gateway.yaml routes/
  gatehouse translate --show none manifests/           only check
  gatehouse translate --show none --now 2027-01-01T00:00:00Z manifests/
  kubectl get gatewayclass,gateway,httproute,referencegrant,service,endpointslice,namespace -A -o yaml |
    gatehouse translate --show xds -`,
    )
    .action(async (paths: readonly string[], options: Options) => {
      const problems = await translateFiles(paths, options, io);
      const paint = painter(io.errIsTerminal, io.env);
      for (const problem of problems) io.err(`${paint("red", "problem:")} ${problem}`);
      if (problems.length > 0) {
        throw new UsageError(`${problems.length} ${problems.length === 1 ? "problem" : "problems"}`, {
          status: 1,
        });
      }
    });
}

async function translateFiles(
  paths: readonly string[],
  options: Options,
  io: Io,
): Promise<readonly string[]> {
  const [{ translate }, { defaultConfig }, { deriveXds }, { viewResource }] = await Promise.all([
    import("../controllers/translate/batch.ts"),
    import("../controllers/translate/mod.ts"),
    import("../xds/build/mod.ts"),
    import("../xds/view.ts"),
  ]);
  const { objects, problems } = await admit(paths, options, io);
  problems.push(...absent(objects));
  let xds: ReturnType<typeof deriveXds> | undefined;
  const now = options.now ?? systemClock.now();
  const batch = translate(objects, defaultConfig, (graph, world, { ir }) => {
    world.time.set("now", now.getTime());
    // Addresses are assigned where proxies run; here every address stands for them.
    for (const object of objects) {
      if (object.kind !== "Gateway") continue;
      const { namespace, name } = object.metadata;
      world.addresses.set(`${namespace}/${name}`, { assigned: [], bind: [] });
    }
    xds = deriveXds(graph, ir);
  });
  const sorted = <V>(entries: Iterable<readonly [string, V]>) =>
    [...entries].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  const statuses = sorted(batch.statuses.entries()).map(([key, status]) => [key, offline(status)] as const);
  problems.push(...statuses.flatMap(([key, status]) => faults(key, status)));
  for (const { kind, metadata } of batch.ignored) {
    io.err(`ignored: ${kind} "${metadata.name}": this kind does not matter here`);
  }
  const resources: Record<string, Record<string, unknown>> = {};
  for (const [, resource] of sorted(xds!.entries())) {
    (resources[resource.gateway] ??= {})[resource.id] = viewResource(resource);
  }
  const result = {
    ...(options.show === "all" || options.show === "status") && { status: Object.fromEntries(statuses) },
    ...(options.show === "all" || options.show === "xds") && { xds: resources },
  };
  if (options.show !== "none") {
    io.out(
      options.output === "json"
        ? JSON.stringify(result, null, 2) + "\n"
        : stringify(result, { aliasDuplicateObjects: false, lineWidth: 0 }),
    );
  }
  return problems;
}

/** Checks and completes the objects as an API server would; those with errors are left out. */
async function admit(
  paths: readonly string[],
  { channel }: Options,
  io: Io,
): Promise<{ readonly objects: readonly ApiObject[]; readonly problems: string[] }> {
  const [{ kindOf }, { validate }] = await Promise.all([
    import("../crds/mod.ts"),
    import("../crds/validate.ts"),
  ]);
  const objects: ApiObject[] = [], problems: string[] = [];
  const seen = new Map<string, string>();
  for (const { file, document, object } of await readManifests(paths, io)) {
    const { group, version } = splitApiVersion(object.apiVersion);
    const kind = kindOf(group, object.kind);
    const where = `${file}, document ${document}: ${object.kind} "${object.metadata.name}"`;
    if (!kind?.versions.some(({ name }) => name === version)) {
      if (group === "gateway.networking.k8s.io") {
        problems.push(`${where}: no kind "${object.kind}" in version "${object.apiVersion}"`);
      } else objects.push(object);
      continue;
    }
    const complete = placed(kind, object);
    const name = `${group}/${kind.kind}/${complete.metadata.namespace ?? ""}/${complete.metadata.name}`;
    const before = seen.get(name);
    if (before) problems.push(`${where}: the same object is in ${before} already`);
    seen.set(name, `${file}, document ${document}`);
    const result = validate(kind, version, complete, { channel, fieldValidation: "Strict" });
    for (const { field, message } of result.errors) problems.push(`${where}: ${field}: ${message}`);
    if (result.errors.length === 0) objects.push(result.object as ApiObject);
  }
  return { objects, problems };
}

/**
 * What a status says as long as no proxy has been heard of: no addresses, and nothing about what is programmed; nor about
 * definitions, which are seldom among manifests.
 */
function offline(status: DesiredStatus): unknown {
  return JSON.parse(
    JSON.stringify({ ...status, kind: undefined, generation: undefined, addresses: undefined }),
    (_, value) =>
      Array.isArray(value)
        ? value.filter((element: { readonly type?: unknown; readonly status?: unknown } | null) =>
          element?.type !== "Programmed" &&
          !(element?.type === "SupportedVersion" && element.status === "Unknown")
        )
        : value,
  );
}

/** Conditions that say that something is wrong, in one line each. */
function faults(key: string, status: unknown, part = ""): readonly string[] {
  if (typeof status !== "object" || status === null) return [];
  const { type, status: value, reason, message, name, parentRef } = status as Record<string, unknown>;
  const place = typeof name === "string"
    ? `${part} listener "${name}"`
    : parentRef
    ? `${part} parent "${(parentRef as { name: string }).name}"`
    : part;
  if (typeof type === "string" && typeof reason === "string") {
    return isGood({ type, status: String(value) })
      ? []
      : [`${key}:${place} ${type}=${value} (${reason}): ${message}`];
  }
  return Object.values(status).flatMap((inner) => faults(key, inner, place));
}

/** Parses a time as RFC 3339 has it. */
function moment(text: string): Date {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError("Expected a time such as 2027-01-01T00:00:00Z.");
  }
  return time;
}
