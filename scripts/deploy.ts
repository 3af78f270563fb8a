/**
 * Writes what `deploy/` has from the code: the CustomResourceDefinitions of our own kinds, what RBAC has to allow, alert rules with
 * their tests, and the dashboard. `--check` compares instead of writing.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { stringify } from "yaml";
import { rightsOf, type Rule } from "../cli/rights.ts";
import { version } from "../cli/version.ts";
import { definitionOf } from "../crds/definition.ts";
import { gatehouseKinds, type Kind } from "../crds/mod.ts";
import { alerts, healthy } from "./alerts.ts";
import { dashboard } from "./dashboard.ts";

const chart = "deploy/helm/gatehouse/files", base = "deploy/kustomize/base";

/** The folders that hold nothing but what is written here. */
const monitoring = "deploy/monitoring";
const folders = [
  "deploy/crds",
  `${chart}/crds`,
  `${chart}/rules`,
  `${chart}/monitoring`,
  `${base}/rbac`,
  monitoring,
];

/** Quotes what only is a text in YAML 1.2, such as `off`: Kubernetes reads 1.1. */
const yaml = (value: unknown): string =>
  stringify(value, { lineWidth: 110, aliasDuplicateObjects: false, compat: "yaml-1.1" });
const header = '# Written by "deno task deploy" from the code; do not edit.\n';

/** The name of a default installation, and of everything in it. */
const name = "gatehouse", namespace = "gatehouse-system";
/** In the chart the names are the release's. */
const template = { lease: "LEASE", authority: "AUTHORITY" };

function role(kind: "Role" | "ClusterRole", rules: readonly Rule[]): string {
  const labels = {
    "app.kubernetes.io/name": name,
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/version": version,
  };
  const metadata = kind === "Role" ? { name, namespace, labels } : { name, labels };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  return [{ apiVersion, kind, metadata, rules }, {
    apiVersion,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  }].map(yaml).join("---\n");
}

const fileOf = ({ group, plural }: Kind): string => `${group}_${plural}.yaml`;

/** Of the chart: with the definition everything would go that people have written of its kind. */
function keptDefinition(kind: Kind): unknown {
  const definition = definitionOf(kind);
  const annotations = { "helm.sh/resource-policy": "keep" };
  return { ...definition, metadata: { ...definition.metadata, annotations } };
}

const { cluster, namespaces, own } = rightsOf({ lease: name, authority: `${name}-xds-authority` });

const rules = header + yaml({
  groups: [{
    name: "gatehouse",
    rules: alerts.map(({ name, expr, for: time, severity, summary, description }) => ({
      alert: name,
      expr,
      for: time,
      labels: { severity },
      annotations: { summary, description },
    })),
  }],
});

/** Tests for `promtool test rules`: each alert fires once, and only that one is looked at; where all is well none does. */
const rulesTest = header + yaml({
  rule_files: ["alerts.yaml"],
  evaluation_interval: "1m",
  tests: [
    ...alerts.map(({ name, severity, fires, labels }) => ({
      interval: "1m",
      input_series: fires,
      promql_expr_test: [{
        expr: `count by (alertstate) (ALERTS{alertname="${name}"})`,
        eval_time: "30m",
        exp_samples: [{ labels: '{alertstate="firing"}', value: 1 }],
      }, {
        expr: `count(ALERTS{alertname="${name}", severity="${severity}"${
          Object.entries(labels).map(([label, value]) => `, ${label}="${value}"`).join("")
        }})`,
        eval_time: "30m",
        exp_samples: [{ labels: "{}", value: 1 }],
      }],
    })),
    {
      interval: "1m",
      input_series: healthy,
      promql_expr_test: [{ expr: "ALERTS", eval_time: "30m", exp_samples: [] }],
    },
  ],
});
const board = `${JSON.stringify(dashboard(), null, 2)}\n`;

/** What each file says. */
const files: ReadonlyMap<string, string> = new Map([
  ...gatehouseKinds.flatMap((kind) =>
    [
      [`deploy/crds/${fileOf(kind)}`, header + yaml(definitionOf(kind))],
      [`${chart}/crds/${fileOf(kind)}`, header + yaml(keptDefinition(kind))],
    ] as const
  ),
  ["deploy/crds/kustomization.yaml", header + yaml({ resources: gatehouseKinds.map(fileOf) })],
  ...Object.entries(rightsOf(template)).map(([scope, rules]) =>
    [`${chart}/rules/${scope}.yaml`, header + yaml(rules)] as const
  ),
  [`${monitoring}/alerts.yaml`, rules],
  [`${monitoring}/alerts_test.yaml`, rulesTest],
  [`${monitoring}/dashboard.json`, board],
  [`${chart}/monitoring/alerts.yaml`, rules],
  [`${chart}/monitoring/dashboard.json`, board],
  [`${base}/rbac/cluster.yaml`, header + role("ClusterRole", [...cluster, ...namespaces])],
  [`${base}/rbac/own.yaml`, header + role("Role", own)],
]);

async function read(file: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const strangers: string[] = [], stale: (readonly [file: string, text: string])[] = [];
for (const folder of folders) {
  await Deno.mkdir(folder, { recursive: true });
  for await (const { name } of Deno.readDir(folder)) {
    if (!files.has(`${folder}/${name}`)) strangers.push(`${folder}/${name}`);
  }
}
for (const [file, text] of files) if (await read(file) !== text) stale.push([file, text]);
if (Deno.args.includes("--check")) {
  for (const file of [...stale.map(([file]) => file), ...strangers]) {
    console.error(`${file} is out of step with the code: run "deno task deploy"`);
  }
  if (stale.length + strangers.length > 0) Deno.exit(1);
} else {
  for (const file of strangers) await Deno.remove(file);
  for (const [file, text] of stale) await Deno.writeTextFile(file, text);
}
