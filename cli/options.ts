/**
 * Options that several commands share.
 *
 * @module
 */
import { InvalidArgumentError, Option } from "commander";

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

/** Collects an option that may be given several times. */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
