/**
 * `gatehouse status`: every object, its conditions, every proxy.
 *
 * @module
 */
import type { Command } from "commander";
import { stringify } from "yaml";
import type { ApiObject, Condition } from "../crds/kind.ts";
import { keyOf } from "../crds/kind.ts";
import { kindOf } from "../crds/mod.ts";
import { KubeError } from "../kube/client.ts";
import { list } from "../kube/list.ts";
import type { Kube } from "../kube/types.ts";
import { askReport, followReports, type ProxyReport, type Report } from "./admin.ts";
import { isGood, isNegative } from "./conditions.ts";
import { connect, type ConnectOptions } from "./connect.ts";
import { type Io, UsageError } from "./io.ts";
import { contextOption, dataOption, kubeconfigOption, outputOption } from "./options.ts";
import { type Paint, painter } from "./style.ts";

interface Options extends ConnectOptions {
  readonly data: string;
  readonly namespace?: string;
  readonly watch?: boolean;
  readonly output: "text" | "json" | "yaml";
}

/** A part of an object that has conditions of its own: a listener, a parent. */
interface Part {
  readonly name: string;
  readonly facts: readonly string[];
  readonly conditions: readonly Condition[];
  /** Whether the conditions are those of the object's current generation. */
  readonly current: boolean;
}

interface Entry {
  readonly kind: string;
  readonly name: string;
  readonly parts: readonly Part[];
  readonly proxies?: readonly ProxyReport[];
}

/** The kinds that have something to say, in the order in which they depend on each other. */
const shown = [
  "GatewayClass",
  "Gateway",
  "ListenerSet",
  "HTTPRoute",
  "GRPCRoute",
  "TLSRoute",
  "TCPRoute",
  "UDPRoute",
  "BackendTLSPolicy",
] as const;

export function registerStatus(program: Command, io: Io): void {
  program.command("status")
    .description("Show every object with its conditions, and every proxy with what it lacks")
    .option("-n, --namespace <namespace>", "only objects of this namespace")
    .option("-w, --watch", "show it again after every change, until Ctrl-C")
    .addOption(outputOption("text", "json", "yaml"))
    .addOption(dataOption()).addOption(kubeconfigOption()).addOption(contextOption())
    .addHelpText(
      "after",
      `
The exit status is 1 if something is not as it should be.

Examples:
  gatehouse status
  gatehouse status --watch
  gatehouse status -n shop -o json
  gatehouse status --kubeconfig ~/.kube/config --context prod`,
    )
    .action(async (options: Options) => {
      const kube = await connect(io, options), socket = `${options.data}/operator.sock`;
      let healthy: boolean;
      if (options.watch) {
        const reports = followReports(socket, io.signal);
        healthy = await follow(reports, (report) => show(kube, report, options, io), io);
      } else healthy = (await show(kube, await askReport(socket, io.signal), options, io)).healthy;
      if (!healthy) throw new UsageError("Something is not as it should be, see above", { status: 1 });
    });
}

interface Shown {
  readonly healthy: boolean;
}

/** Shows again what has changed, until the operator or the user stops. Resolves with whether all was well at last. */
async function follow(
  reports: AsyncIterable<Report>,
  show: (report: Report) => Promise<Shown>,
  io: Io,
): Promise<boolean> {
  let last: Shown | undefined;
  try {
    for await (const report of reports) last = await show(report);
  } catch (error) {
    if (!io.signal.aborted) throw error;
  }
  if (!last) {
    throw new UsageError("Cannot watch: no operator runs on this machine with this --data", { status: 1 });
  }
  return last.healthy;
}

async function show(kube: Kube, report: Report | undefined, options: Options, io: Io): Promise<Shown> {
  const entries = await collect(kube, report, options, io.signal);
  const healthy = entries.every(isHealthy) && (report?.failures.length ?? 0) === 0;
  const result = { healthy, objects: entries, ...report && { operator: report } };
  const text = options.output === "text"
    ? asText(entries, report, painter(io.outIsTerminal, io.env))
    : options.output === "yaml"
    ? stringify(result)
    // One line for each state, so that programs can follow.
    : JSON.stringify(result, null, options.watch ? 0 : 2) + "\n";
  const clear = options.watch && io.outIsTerminal ? "\x1b[H\x1b[2J" : "";
  const separator = options.watch && !clear && options.output !== "json" ? "---\n" : "";
  io.out(clear + separator + text);
  return { healthy };
}

async function collect(
  kube: Kube,
  report: Report | undefined,
  { namespace }: Options,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const lists = await Promise.all(shown.map(async (name) => {
    const kind = kindOf("gateway.networking.k8s.io", name)!;
    try {
      const { objects } = await list(kube, kind, {
        signal,
        ...namespace !== undefined && kind.namespaced && { namespace },
      });
      return objects.map((object) => entryOf(name, object, report));
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return [];
      throw error;
    }
  }));
  return lists.flat();
}

interface ListenerLike {
  readonly name: string;
  readonly port: number;
}

interface StatusLike {
  readonly conditions?: readonly Condition[];
  readonly addresses?: readonly { readonly value: string }[];
  readonly listeners?: readonly {
    readonly name: string;
    readonly attachedRoutes: number;
    readonly conditions: readonly Condition[];
  }[];
  readonly parents?: readonly {
    readonly parentRef: { readonly namespace?: string; readonly name: string; readonly sectionName?: string };
    readonly conditions?: readonly Condition[];
  }[];
  readonly ancestors?: readonly {
    readonly ancestorRef: { readonly kind?: string; readonly name: string };
    readonly conditions?: readonly Condition[];
  }[];
}

function entryOf(kind: string, object: ApiObject, report: Report | undefined): Entry {
  const status = (object as { readonly status?: StatusLike }).status ?? {};
  const key = keyOf(object), generation = object.metadata.generation ?? 0;
  const { spec } = object as { readonly spec?: { readonly listeners?: readonly ListenerLike[] } };
  const part = (
    name: string,
    conditions: readonly Condition[] = [],
    facts: readonly string[] = [],
  ): Part => ({
    name,
    facts,
    conditions,
    current: conditions.length > 0 &&
      conditions.every(({ observedGeneration }) => (observedGeneration ?? 0) >= generation),
  });
  const proxies = kind === "Gateway" ? report?.gateways[key] : undefined;
  return {
    kind,
    name: key,
    parts: [
      ...(kind === "GatewayClass" || kind === "Gateway" || kind === "ListenerSet"
        ? [part("", status.conditions, status.addresses?.map(({ value }) => value))]
        : []),
      ...(status.listeners ?? []).map((l) =>
        part(`listener ${l.name}`, l.conditions, [
          ...(spec?.listeners ?? []).filter(({ name }) => name === l.name).map(({ port }) => `port ${port}`),
          `${l.attachedRoutes} ${l.attachedRoutes === 1 ? "route" : "routes"}`,
        ])
      ),
      ...(status.parents ?? []).map(({ parentRef, conditions }) =>
        part(
          `parent ${parentRef.name}${parentRef.sectionName ? `/${parentRef.sectionName}` : ""}`,
          conditions,
        )
      ),
      ...(status.ancestors ?? []).map(({ ancestorRef, conditions }) =>
        part(`ancestor ${ancestorRef.kind ?? "Gateway"} ${ancestorRef.name}`, conditions)
      ),
    ],
    ...proxies && { proxies },
  };
}

function isInSync({ connected, behind, refused }: ProxyReport): boolean {
  return connected && behind === 0 && refused.length === 0;
}

function isHealthy({ parts, proxies = [] }: Entry): boolean {
  return parts.length > 0 && parts.every(({ current, conditions }) => current && conditions.every(isGood)) &&
    proxies.every(isInSync);
}

function asText(entries: readonly Entry[], report: Report | undefined, paint: Paint): string {
  const lines: string[] = [];
  for (const entry of entries) {
    const whole = entry.parts.find(({ name }) => name === "");
    const title = `${paint("bold", `${entry.kind} ${entry.name}`)}`;
    lines.push(whole ? `${title}  ${partText(whole, paint)}` : title);
    if (whole) lines.push(...reasons(whole, "    ", paint));
    if (entry.parts.length === 0) {
      lines.push(`  ${paint("yellow", "no controller has said anything about it")}`);
    }
    for (const part of entry.parts.filter((part) => part !== whole)) {
      lines.push(`  ${part.name}  ${partText(part, paint)}`, ...reasons(part, "    ", paint));
    }
    for (const proxy of entry.proxies ?? []) lines.push(...proxyText(proxy, paint));
  }
  if (entries.length === 0) lines.push("There are no objects of the Gateway API.");
  if (!report) {
    lines.push(paint("dim", "No operator runs on this machine with this --data: proxies are not shown."));
  }
  for (const [plural, state] of Object.entries(report?.watches ?? {})) {
    lines.push(paint("yellow", `watch of ${plural}: ${state}`));
  }
  for (const failure of report?.failures ?? []) lines.push(paint("red", `bug: ${failure}`));
  return lines.join("\n") + "\n";
}

function partText({ conditions, facts, current }: Part, paint: Paint): string {
  const marks = conditions.map((condition) =>
    isGood(condition)
      ? paint("green", `${isNegative(condition.type) ? "not " : ""}${condition.type}`)
      : paint("red", `${isNegative(condition.type) ? "" : "not "}${condition.type}`)
  );
  const late = current ? [] : [paint("yellow", "(of an earlier generation)")];
  return [...facts, ...marks, ...late].join("  ");
}

/** Why conditions are not good; of those that are, what their messages add after a semicolon, such as another port. */
function reasons({ conditions }: Part, indent: string, paint: Paint): readonly string[] {
  return conditions.flatMap((condition) => {
    const { type, reason, message } = condition;
    if (!isGood(condition)) return [`${indent}${paint("yellow", `${type}: ${reason}`)}: ${message}`];
    const note = message.indexOf("; ");
    return note < 0 ? [] : [`${indent}${message.slice(note + 2)}`];
  });
}

function proxyText(proxy: ProxyReport, paint: Paint): readonly string[] {
  const { connected, behind, silent, refused, process } = proxy;
  const state = !connected
    ? paint("red", "not connected")
    : isInSync(proxy)
    ? paint("green", "in sync")
    : paint("yellow", "not in sync");
  const facts = process
    ? [`Envoy ${process.version}`, process.state, ...process.pid === undefined ? [] : [`pid ${process.pid}`]]
    : [];
  const restarts = process && process.restarts > 0
    ? [`restarted ${process.restarts} ${process.restarts === 1 ? "time" : "times"}`]
    : [];
  return [
    `  proxy ${proxy.proxy}  ${[state, ...facts, ...restarts].join("  ")}`,
    ...(process?.lastExit ? [`    last exit: ${process.lastExit}`] : []),
    ...(behind > 0 ? [`    lacks ${behind} ${behind === 1 ? "resource" : "resources"}`] : []),
    ...(silent ? [`    ${paint("red", "has not answered for more than 15 seconds")}`] : []),
    ...refused.map(({ id, message }) => `    ${paint("red", `refused ${id}`)}: ${message}`),
  ];
}
