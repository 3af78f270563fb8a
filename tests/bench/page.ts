/**
 * What the benchmarks have measured, as a page with a picture.
 *
 * @module
 */
import type { Figure } from "./bench.ts";

/** What it was measured on. */
export interface Machine {
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  readonly cores: number;
  /** In GB. */
  readonly memory: number;
  readonly deno: string;
  readonly envoy: string;
  /** The load of the last minute, before and after: what others did meanwhile. */
  readonly load: readonly [number, number];
  readonly date: string;
}

/** A number with as many digits as it deserves. */
export function digits(value: number): string {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

/** `docs/performance.md`. */
export function page(figures: readonly Figure[], machine: Machine): string {
  const { os, arch, cpu, cores, memory, deno, envoy, load, date } = machine;
  const benches = [...new Set(figures.map(({ bench }) => bench))];
  const table = (bench: string) => [
    `### ${bench}`,
    "",
    "| Figure | n | p50 | p99 | Unit | At most |",
    "| --- | ---: | ---: | ---: | --- | ---: |",
    ...figures.filter((figure) => figure.bench === bench).map(({ name, count, unit, p50, p99, target }) =>
      `| ${
        [
          name,
          `${count}`,
          digits(p50),
          count > 1 ? digits(p99) : "",
          unit,
          target === undefined ? "" : mark(p50, target),
        ]
          .join(" | ")
      } |`
    ),
    "",
  ];
  return [
    "# Performance",
    "",
    "`deno task bench` has written this page. The figures are measured and not promised; a target that was missed says so. Work is",
    "asserted by the tests, as counts of rows and bytes.",
    "",
    "**The floor** is what Envoy itself needs: the same configuration, made before the clock runs and pushed to another Envoy",
    "in the same run by a server that does nothing else. New routes are measured in turns with it, so that whatever else the",
    "machine does meets both; the clock runs from when the route is sent to the API server, or the configuration to Envoy.",
    "",
    "A target is one for the median, where something was measured more than once. The event loop is taken for blocked while a",
    "probe waits for an answer, less the time in which its thread is ready and others have the cores. The proxies of `fleet` are",
    "stand-ins on the xDS server, the ledger and the tables of an operator. `soak` compares with the third time, when everything",
    "has been needed once. What is at most linear may be 1.5 times that.",
    "",
    "![Each figure as a share of its target](performance.svg)",
    "",
    "## Machine",
    "",
    `${cpu}, ${cores} cores, ${memory} GB of memory, ${os} on ${arch}, Deno ${deno}, ${envoy}, on ${date}. API server,`,
    "operator, Envoy, backend and client share it.",
    `The load average was ${load[0]} at the start and ${
      load[1]
    } at the end; the benchmarks themselves make up to 2 of it.`,
    "",
    "## Figures",
    "",
    ...benches.flatMap(table),
  ].join("\n");
}

function mark(value: number, target: number): string {
  return value <= target ? digits(target) : `**${digits(target)}** missed`;
}

/** `docs/performance.svg`: the figures that have a target, as bars to a line. */
export function picture(figures: readonly Figure[]): string {
  const shown = figures.filter(({ target }) => target !== undefined && target > 0);
  const row = 26, left = 560, unit = 220, top = 40, height = top + shown.length * row + 20;
  const bars = shown.map(({ bench, name, p50, target = 1 }, i) => {
    const share = p50 / target, y = top + i * row;
    const width = Math.max(1, Math.min(1.6, Math.max(0, share)) * unit).toFixed(0);
    const color = share <= 1 ? "#2f855a" : "#c05621";
    return [
      `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${escaped(`${bench}: ${name}`)}</text>`,
      `<rect x="${left}" y="${y + 3}" width="${width}" height="${row - 8}" fill="${color}"/>`,
      `<text x="${left + Number(width) + 6}" y="${y + 15}">${digits(100 * share)} %</text>`,
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="${height}" viewBox="0 0 1000 ${height}" ` +
    `font-family="sans-serif" font-size="12">`,
    `<rect width="1000" height="${height}" fill="#ffffff"/>`,
    `<text x="${left}" y="20" font-weight="bold">Share of the target; the line is the target</text>`,
    ...bars,
    `<line x1="${left + unit}" y1="${top - 8}" x2="${left + unit}" y2="${
      height - 12
    }" stroke="#1a202c" stroke-dasharray="4 3"/>`,
    "</svg>",
    "",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
