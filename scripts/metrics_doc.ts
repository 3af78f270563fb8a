/**
 * Writes `docs/metrics.md` from the table of metrics. `--check` compares instead of writing.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { buildInfo, definitions } from "../controllers/runtime/metric_definitions.ts";

const file = "docs/metrics.md";

function document(): string {
  const rows = Object.values(definitions).map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  const header = ["Metric", "Type", "Labels", "What it tells"];
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return `# Metrics

Prometheus' text format. Those of controller-runtime and client-go have the names that dashboards know; a
controller and its queue share a name. Times are in seconds. \`deno task metrics-doc\` writes this file.

${[line(header), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")}

Besides these there are \`${buildInfo}\`, \`gatehouse_heap_used_bytes\`, \`process_start_time_seconds\`,
\`process_cpu_seconds_total\` and \`process_resident_memory_bytes\`.
`;
}

const wanted = document();
if (!Deno.args.includes("--check")) await Deno.writeTextFile(file, wanted);
else if (wanted !== await Deno.readTextFile(file).catch(() => "")) {
  console.error(`${file} is out of step with the table of metrics: run "deno task metrics-doc"`);
  Deno.exit(1);
}
