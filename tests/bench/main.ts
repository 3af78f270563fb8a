/**
 * Runs the benchmarks: a table for people, `build/bench.json` for machines, and `docs/performance.md` if all of them ran
 * or `--page` asks for it.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { type Bench, type Figure, quantile, type Report, type Target } from "./bench.ts";
import { envoyBinaryForTests } from "../standalone/envoy_for_tests.ts";
import { partOf } from "./marked.ts";
import { type Machine, page, picture } from "./page.ts";

const folder = new URL("./", import.meta.url);

async function benches(words: readonly string[]): Promise<readonly Bench[]> {
  const files = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  const found: Bench[] = [];
  for (const file of files.filter((name) => name.endsWith("_bench.ts"))) {
    const module: { readonly default: Bench } = await import(new URL(file, folder).href);
    found.push(module.default);
  }
  return found.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
}

function number(value: number): string {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3);
}

function print(figures: readonly Figure[]): void {
  const header = ["bench", "figure", "n", "p50", "p99", "max", "unit", "at most"];
  const rows = [
    header,
    ...figures.map(({ bench, name, count, unit, p50, p99, max, target }) => [
      ...[bench, name, `${count}`, number(p50)],
      ...count === 1 ? ["", ""] : [number(p99), number(max)],
      ...[unit, target === undefined ? "" : `${number(target)}${p50 <= target ? "" : "  missed"}`],
    ]),
  ];
  const widths = header.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  for (const row of rows) {
    console.log(
      row.map((cell, i) => i >= 2 && i <= 5 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)).join("  "),
    );
  }
}

const wanted = Deno.args.filter((argument) => argument !== "--page").map((argument) => {
  const [word = "", sizes = ""] = argument.split("=");
  return { word, sizes: sizes.split(",").filter((size) => size !== "").map(Number) };
});
const loadBefore = load();
const figures: Figure[] = [];
for (const bench of await benches(wanted.map(({ word }) => word))) {
  console.error(`running ${bench.name}`);
  const add = (figure: Omit<Figure, "bench" | "target">, target?: Target) =>
    void figures.push({ bench: bench.name, ...figure, ...target && { target: target.most } });
  const report: Report = {
    samples(name, unit, values, target) {
      const [p50, p99, max] = [quantile(values, 0.5), quantile(values, 0.99), Math.max(...values)];
      add({ name, count: values.length, unit, p50, p99, max }, target);
    },
    value: (name, unit, value, target) =>
      add({ name, count: 1, unit, p50: value, p99: value, max: value }, target),
    ratio: (name, value, { most }) => report.value(name, "×", value / most, { most: 1 }),
  };
  await bench.run(report, wanted.find(({ word }) => bench.name.includes(word))?.sizes ?? []);
}
print(figures);
const { os, arch } = Deno.build;
const machine: Machine = {
  os,
  arch,
  cpu: /model name\s*: (.*)/.exec(await Deno.readTextFile("/proc/cpuinfo").catch(() => ""))?.[1] ??
    "Unknown processor",
  cores: navigator.hardwareConcurrency,
  memory: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
  deno: Deno.version.deno,
  envoy: `Envoy ${(await envoyBinaryForTests()).version}`,
  load: [loadBefore, load()],
  date: new Date().toISOString().slice(0, 10),
};
await Deno.mkdir("build", { recursive: true });
await Deno.writeTextFile("build/bench.json", JSON.stringify({ machine, figures }, undefined, 2) + "\n");
if (wanted.length === 0 || Deno.args.includes("--page")) {
  // What others have written there stays.
  const cluster = partOf(await Deno.readTextFile("docs/performance.md").catch(() => ""), "cluster");
  const text = page(figures, machine);
  await Deno.writeTextFile("docs/performance.md", cluster ? `${text.trimEnd()}\n\n${cluster}\n` : text);
  await Deno.writeTextFile("docs/performance.svg", picture(figures));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", "docs/performance.md"] }).output();
}

/** The load average of the last minute. */
function load(): number {
  return Math.round(10 * Deno.loadavg()[0]!) / 10;
}
