/**
 * What the test cluster does not act on (NetworkPolicy, topology spread, budgets) is about the pods that it is meant for: the selectors
 * of the operator's objects, held against its pods and those of the proxies.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import type { ApiObject } from "../../crds/kind.ts";
import { root } from "../support/command.ts";
import { infrastructure, stored } from "./support.ts";

// deno-lint-ignore no-explicit-any -- looks into objects of any kind
type Json = any;

const base = async (file: string): Promise<Json> =>
  parse(await Deno.readTextFile(`${root}deploy/kustomize/base/${file}.yaml`));

/** Whether a selector that says nothing but `matchLabels` selects these labels. */
function selects({ matchLabels, ...rest }: Json, labels: Json): boolean {
  assertEquals(rest, {});
  const wanted = Object.entries(matchLabels);
  assert(wanted.length > 0, "it selects some");
  return wanted.every(([name, value]) => labels[name] === value);
}

/** The labels of a proxy's pod, in a namespace of its own and with labels of its own. */
function proxyLabels(): Json {
  const { children } = infrastructure([
    { kind: "GatewayClass", spec: { controllerName: "gatehouse.dev/gateway-controller" } },
    {
      kind: "Gateway",
      metadata: { name: "web", namespace: "shop" },
      spec: {
        gatewayClassName: "gatehouse",
        infrastructure: { labels: { team: "shop" } },
        listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      },
    },
  ].map((object) =>
    stored(
      { apiVersion: "gateway.networking.k8s.io/v1", metadata: { name: "gatehouse" }, ...object } as ApiObject,
    )
  ));
  const [, made]: Json = [...children.entries()].find(([, { kind }]) => kind === "Deployment");
  return made.spec.template.metadata.labels;
}

Deno.test("the NetworkPolicy lets proxies in for xDS, replicas for reports, everybody for probes, and nobody else", async () => {
  const { spec: policy } = await base("network-policy"), { spec: { template } } = await base("deployment");
  const operator = template.metadata.labels, proxy = proxyLabels();
  assert(selects(policy.podSelector, operator) && !selects(policy.podSelector, proxy));
  assertEquals(policy.policyTypes, ["Ingress"], "it may reach whatever it wants");
  const rules: { readonly [port: string]: Json } = Object.fromEntries(
    policy.ingress.map(({ ports: [{ port }, ...more], from }: Json) => {
      assertEquals(more, []);
      return [port, from];
    }),
  );
  const [container] = template.spec.containers;
  assertEquals(Object.keys(rules), container.ports.map(({ name }: Json) => name), "each port has its rule");
  assertEquals(rules["xds"].length, 1);
  assertEquals(rules["xds"][0].namespaceSelector, {}, "Gateways are in any namespace");
  assert(selects(rules["xds"][0].podSelector, proxy) && !selects(rules["xds"][0].podSelector, operator));
  assertEquals(rules["reports"].map(Object.keys), [["podSelector"]], "in the same namespace");
  assert(selects(rules["reports"][0].podSelector, operator));
  assertEquals(rules["http"], undefined);
});

Deno.test("the Service, the budget and the spreading of the operator are about its pods", async () => {
  const { spec: { template, selector } } = await base("deployment"), { labels } = template.metadata;
  assert(selects(selector, labels));
  const [budget, service] = [await base("pod-disruption-budget"), await base("service")];
  assert(selects(budget.spec.selector, labels));
  assert(selects({ matchLabels: service.spec.selector }, labels));
  assertEquals(
    template.spec.topologySpreadConstraints.map((constraint: Json) => {
      assert(selects(constraint.labelSelector, labels));
      return [constraint.topologyKey, constraint.whenUnsatisfiable];
    }),
    [["kubernetes.io/hostname", "ScheduleAnyway"], ["topology.kubernetes.io/zone", "ScheduleAnyway"]],
  );
});
