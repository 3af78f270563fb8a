/**
 * When a standalone gateway is ready, and what to tell the user then.
 *
 * @module
 */
import { request } from "node:http";
import { intersect } from "../controllers/translate/hostnames.ts";
import type { Addresses } from "../controllers/translate/mod.ts";
import { systemClock } from "../controllers/runtime/clock.ts";
import type { Operator } from "./operate.ts";
import { pendingIn } from "./pending.ts";
import { type Paint, shellWord } from "./style.ts";

/** A request that a route answers. */
export interface Example {
  readonly address: string;
  readonly port: number;
  readonly host?: string;
  readonly path: string;
}

/** Milliseconds between two notes that something is still waited for, and between two tries of a request. */
const notes = 10_000, tries = 20;

export class Readiness {
  #wake = Promise.withResolvers<void>();

  /** To be called after every settle. */
  settled(_operator: Operator): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Resolves once nothing is pending any more and an example request is answered, or `signal` is aborted. */
  async reached(
    operator: Operator,
    { signal, progress }: { readonly signal: AbortSignal; readonly progress: (line: string) => void },
  ): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => aborted.resolve(), { once: true });
    let last = systemClock.monotonic();
    while (!signal.aborted) {
      // It is asked after every settle, so no further than it takes.
      const missing = missingIn(operator).take(6).toArray();
      if (missing.length === 0) break;
      const wait = Promise.withResolvers<void>();
      using _timer = systemClock.timer(notes, () => wait.resolve());
      await Promise.race([this.#wake.promise, wait.promise, aborted.promise]);
      if (systemClock.monotonic() - last < notes) continue;
      last = systemClock.monotonic();
      progress(`still waiting for ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", …" : ""}`);
    }
    for (const example of examplesIn(operator).slice(0, 1)) {
      while (!signal.aborted && !await answers(example)) {
        await systemClock.sleep(tries, { signal }).catch(() => {});
      }
    }
  }

  /** What works now, and how to go on. */
  describe(
    operator: Operator,
    { kubeconfig, status, paint }: {
      readonly kubeconfig: string;
      /** The command that shows more. */
      readonly status: string;
      readonly paint: Paint;
    },
  ): string {
    const lines = [paint("green", "ready"), "", `  export KUBECONFIG=${shellWord(kubeconfig)}`, ""];
    for (const [key, { ports }] of sorted(operator.translation.gateways.entries())) {
      const addresses = operator.world.addresses.get(key);
      const shown = addresses?.assigned.map(({ value }) => value).join(", ") || "no address";
      const numbers = ports.map(({ port, transport }) => portText(addresses, port, transport)).join(", ");
      lines.push(`  Gateway ${key}  ${paint("bold", shown)}${numbers ? `  ports ${numbers}` : ""}`);
    }
    const [example] = examplesIn(operator);
    lines.push(
      "",
      ...example ? [`  ${curlLine(example)}`] : [],
      `  ${status}`,
      "",
      "Ctrl-C stops everything.",
      "",
    );
    return lines.join("\n");
  }
}

function portText(addresses: Addresses | undefined, port: number, transport: string): string {
  const key = transport === "udp" ? `${port}/udp` : `${port}`, state = addresses?.ports?.[key];
  if (state?.state === "failed") return `${key} (${state.message})`;
  return state && state.port !== port ? `${key} (as ${state.port}, since it may not be bound)` : key;
}

/** Tells one by one what keeps the gateway from being ready. */
function* missingIn(operator: Operator): Generator<string, void> {
  for (const plural of operator.loop.awaited) yield `the list of ${plural}`;
  // Tables that are half way say nothing about what is due.
  if (operator.graph.settling) yield "changes that are being taken in";
  for (const [key] of operator.translation.due.entries()) yield `the status of ${key}`;
  yield* pendingIn(operator);
}

interface RouteLike {
  readonly metadata: { readonly namespace?: string };
  readonly spec: {
    readonly parentRefs?: readonly {
      readonly namespace?: string;
      readonly name: string;
      readonly sectionName?: string;
      readonly port?: number;
    }[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly {
      readonly matches?: readonly {
        readonly path?: { readonly type?: string; readonly value?: string };
        readonly headers?: readonly unknown[];
        readonly queryParams?: readonly unknown[];
        readonly method?: string;
      }[];
    }[];
  };
}

/** Requests that programmed routes answer, one for each route that a plain GET can reach. */
function examplesIn({ world, translation }: Operator): readonly Example[] {
  const examples: Example[] = [];
  for (const [key, contribution] of sorted(translation.ir.contributions.entries())) {
    const { gateway, origin } = contribution;
    if (!origin.startsWith("HTTPRoute/") || world.verdicts.get(key)?.state !== "programmed") continue;
    const route = world.objects.HTTPRoute.get(origin.slice("HTTPRoute/".length)) as RouteLike | undefined;
    const addresses = world.addresses.get(gateway), address = addresses?.assigned[0]?.value;
    const listeners = world.objects.Gateway.get(gateway)?.spec.listeners ?? [];
    if (!route || address === undefined) continue;
    const match = route.spec.rules?.flatMap(({ matches }) => matches ?? [{}]).find((match) =>
      match.path?.type !== "RegularExpression" && !match.headers?.length && !match.queryParams?.length &&
      (match.method ?? "GET") === "GET"
    );
    if (!match) continue;
    for (const { name, port, protocol, hostname = "*" } of listeners) {
      const state = addresses?.ports?.[port];
      const wanted = route.spec.parentRefs?.some((parent) =>
        `${parent.namespace ?? route.metadata.namespace}/${parent.name}` === gateway &&
        (parent.sectionName ?? name) === name && (parent.port ?? port) === port
      );
      if (protocol !== "HTTP" || state?.state === "failed" || !wanted) continue;
      const host = (route.spec.hostnames ?? ["*"]).map((own) => intersect(hostname, own)).find((both) =>
        both
      );
      if (host === undefined) continue;
      examples.push({
        address,
        port: state?.port ?? port,
        path: match.path?.value ?? "/",
        ...host !== "*" && { host: host.replace(/^\*/, "www") },
      });
      break;
    }
  }
  return examples;
}

/** A command that works as it stands. */
function curlLine({ address, port, host, path }: Example): string {
  const name = address.includes(":") ? `[${address}]` : address;
  const header = host === undefined ? "" : ` -H 'Host: ${host}'`;
  const url = `http://${name}${port === 80 ? "" : `:${port}`}${path}`;
  return `curl${header} ${/^[\w.:/[\]-]+$/.test(url) && !url.includes("[") ? url : `'${url}'`}`;
}

/** Whether the gateway answers at all: what the backend says is its own business. */
async function answers({ address, port, host, path }: Example): Promise<boolean> {
  const status = Promise.withResolvers<number>();
  const call = request({
    host: address,
    port,
    path,
    headers: { host: host ?? address },
    agent: false,
    timeout: 5_000,
  });
  call.on("response", (response) => {
    response.resume();
    response.on("close", () => status.resolve(response.statusCode ?? 0));
  });
  call.on("timeout", () => call.destroy(new Error("late")));
  call.on("error", () => status.resolve(0));
  call.end();
  return await status.promise !== 0;
}

function sorted<V>(entries: Iterable<readonly [string, V]>): readonly (readonly [string, V])[] {
  return [...entries].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
}
