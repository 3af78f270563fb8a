/**
 * Helm and promtool for tests, built from Go modules at pinned versions when they are first asked for.
 *
 * @module
 */
import type { CacheOptions } from "./cache.ts";
import { goProgram } from "./go.ts";

const folder = (name: string): string => new URL(name, import.meta.url).pathname;

/** The path of Helm; its version is in `helm/go.mod`. */
export async function helm(options: CacheOptions): Promise<string> {
  const packages = { helm: "helm.sh/helm/v4/cmd/helm" };
  return `${await goProgram(
    { name: "helm", module: folder("helm"), packages, takes: "5 minutes" },
    options,
  )}/helm`;
}

/** The path of promtool, which checks rules of alerts; its version is in `promtool/go.mod`. */
export async function promtool(options: CacheOptions): Promise<string> {
  const packages = { promtool: "github.com/prometheus/prometheus/cmd/promtool" };
  const found = await goProgram(
    { name: "promtool", module: folder("promtool"), packages, takes: "8 minutes" },
    options,
  );
  return `${found}/promtool`;
}
