/**
 * Options that several commands share.
 *
 * @module
 */
import { InvalidArgumentError, Option } from "commander";
import { durationMs } from "../crds/schema/formats.ts";
import type { Config } from "../controllers/translate/mod.ts";

/** `-o, --output`; the first format is the default. */
export function outputOption(...formats: readonly [string, ...string[]]): Option {
  return new Option("-o, --output <format>", "how to print").choices(formats).default(formats[0]);
}

/** Where `standalone` keeps everything that lasts. */
export const defaultData = ".gatehouse";

export function dataOption(): Option {
  return new Option("--data <dir>", "directory of a standalone gateway's state").default(defaultData);
}

export function kubeconfigOption(): Option {
  return new Option(
    "--kubeconfig <path>",
    `default: $KUBECONFIG, then the standalone gateway in --data, then ~/.kube/config`,
  );
}

export function contextOption(): Option {
  return new Option("--context <name>", "the kubeconfig's context to use");
}

/** Where the proxies run, for hints of EndpointSlices. */
export interface PlaceOptions {
  readonly zone?: string;
  readonly node?: string;
}

export function zoneOption(): Option {
  return new Option(
    "--zone <name>",
    "zone that this machine is in: Services that prefer endpoints close to clients are then served by those in it",
  );
}

export function nodeOption(): Option {
  return new Option(
    "--node <name>",
    "node of the cluster that this machine is, for Services that prefer the same node",
  );
}

/** What `--zone` and `--node` come to in the configuration. */
export function placeOf({ zone, node }: PlaceOptions): Pick<Config, "place"> {
  if (zone === undefined && node === undefined) return {};
  return { place: { ...zone !== undefined && { zone }, ...node !== undefined && { node } } };
}

export function logLevelOption(): Option {
  return new Option("--log-level <level>", "least severe log lines to print")
    .choices(["debug", "info", "warn", "error"]).default("info");
}

export function logFormatOption(): Option {
  return new Option("--log-format <format>", "auto: readable on a terminal, JSON elsewhere")
    .choices(["auto", "text", "json"]).default("auto");
}

/** Parses a TCP port; 0 lets the system choose. */
export function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65535) {
    throw new InvalidArgumentError(`Expected a port from 0 to 65535.`);
  }
  return value;
}

/** How long the certificates of an operator's replicas are good, in milliseconds. */
export function certificateLifetimeOption(): Option {
  const least = "30s", most = "720h", standard = "24h";
  return new Option(
    "--certificate-lifetime <duration>",
    `how long a replica's certificate is good, from ${least} to ${most}; after two thirds of it there is another`,
  ).default(durationMs(standard), standard).argParser((text) => {
    const value = durationMs(text);
    if (value === undefined || value < durationMs(least)! || value > durationMs(most)!) {
      throw new InvalidArgumentError(`Expected a duration from ${least} to ${most}, such as 12h or 1h30m.`);
    }
    return value;
  });
}

/** Collects an option that may be given several times. */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Parses IP addresses separated by commas. */
export function addresses(text: string): readonly [string, ...string[]] {
  const [first, ...others] = names(text) ?? [];
  if (first === undefined) throw new InvalidArgumentError("Expected IP addresses separated by commas.");
  return [first, ...others];
}

/** Parses names separated by commas. */
export function names(text: string): readonly string[] | undefined {
  const all = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  if (text !== "" && all.length === 0) throw new InvalidArgumentError("Expected names separated by commas.");
  return all.length > 0 ? all : undefined;
}
