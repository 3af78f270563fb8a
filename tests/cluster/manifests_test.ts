/**
 * What `deploy/` holds, by the programs that people apply it with: Helm, kubectl and promtool. It takes no cluster.
 *
 * @module
 */
import { assert, assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { definitions } from "../../controllers/runtime/metric_definitions.ts";
import { root, succeed } from "../support/command.ts";
import { promtool } from "../tools/programs.ts";
import type { Json } from "./support/cluster.ts";
import { base, chart, Helm, isHook, nameOf, objectsIn, ofKind, tools } from "./support/helm.ts";

/** Objects by name, without what Helm alone says about them. */
function byName(objects: readonly Json[]): { readonly [name: string]: Json } {
  const plain = objects.map((object) => {
    const { labels = {}, annotations = {}, ...metadata } = object.metadata;
    const others = (all: Json) =>
      Object.fromEntries(Object.entries(all).filter(([key]) => !key.startsWith("helm.sh/")));
    const kept = { ...metadata, labels: others(labels), annotations: others(annotations) };
    return [nameOf(object), { ...object, metadata: kept }] as const;
  });
  assertEquals(new Set(plain.map(([name]) => name)).size, plain.length, "no object is there twice");
  return Object.fromEntries(plain.toSorted(([a], [b]) => a < b ? -1 : 1));
}

Deno.test("the chart has nothing to be complained of", async () => {
  await using helm = await Helm.open();
  assertStringIncludes(await helm.run(["lint", "--strict", chart]), "0 chart(s) failed");
});

Deno.test("with its default values the chart is the kustomize base", async () => {
  await using helm = await Helm.open();
  // Helm makes the namespace by itself, and has a hook for what people run by hand otherwise.
  const chosen = (await helm.template()).filter((object) => !isHook(object));
  const ours = byName(chosen), theirs = byName((await base()).filter(({ kind }) => kind !== "Namespace"));
  assertEquals(Object.keys(ours), Object.keys(theirs));
  for (const [name, object] of Object.entries(ours)) assertEquals(object, theirs[name], name);
});

Deno.test("values do what they say", async (t) => {
  await using helm = await Helm.open();
  const standard = await helm.template();

  await t.step("networkPolicy.enabled", async () => {
    assertEquals(ofKind(standard, "NetworkPolicy").length, 1);
    assertEquals(ofKind(await helm.template({ "networkPolicy.enabled": false }), "NetworkPolicy"), []);
  });

  await t.step("networkPolicy.metricsFrom", async () => {
    const from = [{ namespaceSelector: { matchLabels: { team: "monitoring" } } }];
    const [policy] = ofKind(await helm.template({ "networkPolicy.metricsFrom": from }), "NetworkPolicy");
    const rules = policy.spec.ingress.filter(({ ports }: Json) => ports.some((p: Json) => p.port === "http"));
    assertEquals(rules, [{ ports: [{ port: "http" }], from }]);
  });

  await t.step("replicas: a budget for one would keep its node from being drained", async () => {
    const one = await helm.template({ replicas: 1 });
    assertEquals(ofKind(standard, "PodDisruptionBudget").length, 1);
    assertEquals(ofKind(one, "PodDisruptionBudget"), []);
    assertEquals(ofKind(one, "Deployment")[0].spec.replicas, 1);
  });

  await t.step("monitoring", async () => {
    assertEquals([...ofKind(standard, "PodMonitor"), ...ofKind(standard, "PrometheusRule")], []);
    const all = await helm.template({
      monitoring: { podMonitor: true, rules: true, dashboard: true },
    });
    const [monitor] = ofKind(all, "PodMonitor"), [deployment] = ofKind(all, "Deployment");
    assertEquals(monitor.spec.selector.matchLabels, deployment.spec.selector.matchLabels);
    const ports = deployment.spec.template.spec.containers[0].ports.map(({ name }: Json) => name);
    assert(ports.includes(monitor.spec.podMetricsEndpoints[0].port));
    const [rule] = ofKind(all, "PrometheusRule");
    const [alerts] = objectsIn(await Deno.readTextFile(`${root}deploy/monitoring/alerts.yaml`));
    assertEquals(rule.spec, alerts);
    const [board] = ofKind(all, "ConfigMap");
    assertEquals(
      JSON.parse(board.data["gatehouse.json"]),
      JSON.parse(await Deno.readTextFile(`${root}deploy/monitoring/dashboard.json`)),
    );
  });

  await t.step("watchNamespaces: Roles there, and nothing in the cluster as a whole", async () => {
    const values = { watchNamespaces: ["team-a", "team-b"], "userRoles.create": false, classNames: ["a"] };
    const objects = await helm.template({ ...values, "gatewayClass.create": false, "crds.install": false });
    const beyond = objects.filter(({ metadata }) => metadata.namespace === undefined);
    assertEquals(beyond.map(nameOf), [], "who installs it needs rights in these namespaces alone");
    const roles = (kind: string) => ofKind(objects, kind).map(({ metadata }) => metadata.namespace).sort();
    assertEquals(roles("Role"), ["gatehouse-system", "team-a", "team-b"]);
    assertEquals(roles("RoleBinding"), roles("Role"));
    const { args } = ofKind(objects, "Deployment")[0].spec.template.spec.containers[0];
    assert(args.includes("--watch-namespaces=team-a,team-b") && args.includes("--class-names=a"));
    const [job] = objects.filter(({ kind }) => kind === "Job");
    assert(job.spec.template.spec.containers[0].args.includes("--watch-namespaces=team-a,team-b"));
  });

  await t.step("certificateLifetime", async () => {
    const [{ spec }] = ofKind(await helm.template({ certificateLifetime: "12h" }), "Deployment");
    assert(spec.template.spec.containers[0].args.includes("--certificate-lifetime=12h"));
  });

  await t.step("userRoles.aggregate", async () => {
    const aggregated = await helm.template({ "userRoles.aggregate": true });
    const into = (name: string) =>
      aggregated.filter(({ kind, metadata }) =>
        kind === "ClusterRole" && metadata.labels[`rbac.authorization.k8s.io/aggregate-to-${name}`] === "true"
      ).map(({ metadata }) => metadata.name);
    assertEquals(into("admin"), [
      "gatehouse-application-developer",
      "gatehouse-cluster-operator",
      "gatehouse-viewer",
    ]);
    assertEquals(into("edit"), ["gatehouse-application-developer", "gatehouse-viewer"]);
    assertEquals(into("view"), ["gatehouse-viewer"]);
  });

  await t.step("gatewayClass.parametersRef", async () => {
    const [named] = ofKind(
      await helm.template({ "gatewayClass.parametersRef": { name: "standard" } }),
      "GatewayClass",
    );
    assertEquals(named.spec.parametersRef, {
      group: "gatehouse.dev",
      kind: "EnvoyFleet",
      name: "standard",
      namespace: "gatehouse-system",
    });
  });

  await t.step(
    "what is about pods is in the operator's, and what says where it may run in the hook's",
    async () => {
      const everywhere = {
        imagePullSecrets: [{ name: "pull" }],
        nodeSelector: { "kubernetes.io/arch": "amd64" },
        tolerations: [{ key: "infra", operator: "Exists" }],
      };
      const own = {
        affinity: { podAntiAffinity: {} },
        priorityClassName: "system-cluster-critical",
        topologySpreadConstraints: [{ topologyKey: "rack", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
      };
      const resources = { requests: { cpu: "1", memory: "1Gi" }, limits: { memory: "1Gi" } };
      const objects = await helm.template({
        ...everywhere,
        ...own,
        resources,
        podAnnotations: { note: "a" },
        podLabels: { team: "b" },
        "image.pullPolicy": "Always",
        "envoy.image": "r.example.com/envoy:1",
        clusterDomain: "example.local",
        "log.format": "text",
        "serviceAccount.annotations": { role: "c" },
      });
      const [operator, hook] = ["Deployment", "Job"].map((kind) =>
        objects.find((object) => object.kind === kind)!.spec.template
      );
      assertObjectMatch(operator.spec, { ...everywhere, ...own });
      assertObjectMatch(hook.spec, everywhere);
      for (const { spec: { containers: [container] } } of [operator, hook]) {
        assertEquals([container.resources, container.imagePullPolicy], [resources, "Always"]);
      }
      assertObjectMatch(operator.metadata, { annotations: { note: "a" }, labels: { team: "b" } });
      const { args } = operator.spec.containers[0];
      for (
        const arg of [
          "--envoy-image=r.example.com/envoy:1",
          "--cluster-domain=example.local",
          "--log-format=text",
        ]
      ) assert(args.includes(arg), arg);
      assertEquals(ofKind(objects, "ServiceAccount")[0].metadata.annotations, { role: "c" });
    },
  );

  await t.step("podDisruptionBudget.enabled, uninstallHook.enabled, gatewayClass.create", async () => {
    const less = await helm.template({
      "podDisruptionBudget.enabled": false,
      "uninstallHook.enabled": false,
      "gatewayClass.create": false,
    });
    const gone = standard.map(nameOf).filter((name) => !less.map(nameOf).includes(name));
    assertEquals([...new Set(gone.map((name) => name.split(" ")[0]))].toSorted(), [
      "ClusterRole",
      "ClusterRoleBinding",
      "GatewayClass",
      "Job",
      "PodDisruptionBudget",
      "Role",
      "RoleBinding",
      "ServiceAccount",
    ]);
    assertEquals(less.filter(isHook), []);
  });

  await t.step("image.digest wins over image.tag", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const [deployment] = ofKind(
      await helm.template({ image: { repository: "r.example.com/g", tag: "1", digest } }),
      "Deployment",
    );
    assertEquals(deployment.spec.template.spec.containers[0].image, `r.example.com/g@${digest}`);
  });
});

Deno.test("what is no value, or none of its kind, is refused", async () => {
  await using helm = await Helm.open();
  const wrong: readonly (readonly [path: string, value: unknown, words: string])[] = [
    ["replica", 3, "'replica' not allowed"],
    ["log.levle", "debug", "'levle' not allowed"],
    ["log.level", "loud", "at '/log/level'"],
    ["certificateLifetime", "1 day", "at '/certificateLifetime'"],
    ["replicas", "three", "at '/replicas'"],
    ["controllerName", "gatehouse", "at '/controllerName'"],
    ["watchNamespaces", "team-a", "at '/watchNamespaces'"],
    ["image.digest", "latest", "at '/image/digest'"],
    // What can be said has a value; ports are also in the Service and the NetworkPolicy.
    ["extraArgs", ["--xds-port=18100"], "'extraArgs' not allowed"],
  ];
  for (const [path, value, words] of wrong) {
    const { code, err } = await helm.try(["template", "gatehouse", chart], { [path]: value });
    assert(code !== 0, path);
    assertStringIncludes(err, words);
  }
  const [values] = objectsIn(await Deno.readTextFile(`${chart}/values.yaml`)) as [Json];
  const schema = JSON.parse(await Deno.readTextFile(`${chart}/values.schema.json`));
  const { global: _, ...known } = schema.properties;
  assertEquals(Object.keys(known).sort(), Object.keys(values).sort(), "all of them have a default");
});

Deno.test("without the Gateway API the chart says what to do", async () => {
  await using helm = await Helm.open();
  const { code, err } = await helm.try(["template", "gatehouse", chart]);
  assert(code !== 0);
  assertStringIncludes(err, "the CRDs of the Gateway API are not installed. Install them first");
  assertEquals((await helm.try(["template", "gatehouse", chart, "--set=gatewayClass.create=false"])).code, 0);
});

Deno.test("promtool: the alerts are well-formed, each of them fires, and none where all is well", async () => {
  const tool = await promtool(tools), folder = `${root}deploy/monitoring`;
  const [{ groups }] = objectsIn(await Deno.readTextFile(`${folder}/alerts.yaml`)) as [Json];
  const alerts: readonly string[] = groups.flatMap(({ rules }: Json) =>
    rules.map((rule: Json) => rule.alert)
  );
  assertStringIncludes(
    await succeed([tool, "check", "rules", "--lint=all", "--lint-fatal", `${folder}/alerts.yaml`]),
    `${alerts.length} rules found`,
  );
  assertStringIncludes(await succeed([tool, "test", "rules", `${folder}/alerts_test.yaml`]), "SUCCESS");
  const tested = await Deno.readTextFile(`${folder}/alerts_test.yaml`);
  for (const alert of alerts) {
    assertStringIncludes(tested, `count by (alertstate) (ALERTS{alertname="${alert}"})`);
  }
  const [{ tests }] = objectsIn(tested) as [Json];
  const told = new Set(tests.at(-1).input_series.map(({ series }: Json) => series.replace(/\{.*/, "")));
  const asked = JSON.stringify(groups.flatMap(({ rules }: Json) => rules.map(({ expr }: Json) => expr)))
    .match(/\b(gatehouse|controller_runtime|workqueue)_[a-z_]+\b/g)!;
  assertEquals(told, new Set(asked), "what is told where all is well is what alerts ask for");
});

Deno.test("promtool: what the dashboard asks for can be asked, of metrics that there are", async () => {
  const board = JSON.parse(await Deno.readTextFile(`${root}deploy/monitoring/dashboard.json`));
  // As Grafana fills them in.
  const expressions: readonly string[] = board.panels.flatMap(({ targets = [] }: Json) =>
    targets.map(({ expr }: Json) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$__all", ".+").replaceAll("$job", ".+")
    )
  );
  assert(expressions.length > 20);
  const rules = {
    groups: [{ name: "board", rules: expressions.map((expr, i) => ({ record: `r${i}`, expr })) }],
  };
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, JSON.stringify(rules));
    assertStringIncludes(
      await succeed([await promtool(tools), "check", "rules", file]),
      `${expressions.length} rules found`,
    );
  } finally {
    await Deno.remove(file);
  }
  const known = new Set(
    Object.values(definitions).flatMap(({ name, type }) =>
      type === "histogram" ? [`${name}_bucket`] : [name]
    ),
  );
  for (const expression of expressions) {
    const [metric = ""] = /[a-z_]+(?=\{)/.exec(expression) ?? [];
    assert(known.has(metric), `${expression}: no metric "${metric}"`);
  }
});
