/**
 * What GatewayClasses say of Gatehouse and of the installed Gateway API.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { translate } from "../../controllers/translate/batch.ts";
import { supportedFeatures } from "../../controllers/translate/features.ts";
import { hasGo, moduleFolder } from "../crds/upstream.ts";
import { gatewayClass } from "./cluster.ts";

const onCluster = supportedFeatures({ infrastructure: true });

/** The names of features in the Go module. */
async function upstreamFeatures(version: string): Promise<readonly string[]> {
  const folder = `${await moduleFolder(version)}/pkg/features`, names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    names.push(...[...text.matchAll(/^\s*Support\w+(?: FeatureName)? += "(\w+)"/gm)].map(([, n]) => n!));
  }
  assert(names.length >= 58, `${version} names ${names.length} features`);
  return names;
}

Deno.test("supported features are sorted, and no more than a status holds", () => {
  assertEquals(onCluster, [...new Set(onCluster)].sort());
  assert(onCluster.length <= 64);
});

Deno.test("what is about objects of a cluster is claimed on a cluster only", () => {
  const elsewhere = supportedFeatures({ infrastructure: false });
  assertEquals(elsewhere, onCluster.filter((name) => name !== "GatewayInfrastructure"));
  assert(onCluster.includes("GatewayInfrastructure"));
});

Deno.test({
  name: "supported features are such by the names of the Go modules",
  ignore: !hasGo(),
  async fn() {
    const named = new Set([...await upstreamFeatures("v1.6.3"), ...await upstreamFeatures("v1.7.0")]);
    assertEquals(onCluster.filter((name) => !named.has(name)), []);
  },
});

Deno.test("what is installed is not claimed to be known before a definition has been seen", () => {
  const { statuses, graph, world } = translate([gatewayClass()]);
  const version = () => {
    const status = statuses.get("GatewayClass/gatehouse");
    assert(status?.kind === "GatewayClass");
    const [, found] = status.conditions;
    return `${found?.type} ${found?.status} ${found?.reason}`;
  };
  assertEquals(version(), "SupportedVersion Unknown Pending");
  const define = (bundle?: string) => {
    const name = "gateways.gateway.networking.k8s.io";
    const annotations = bundle === undefined ? {} : { "gateway.networking.k8s.io/bundle-version": bundle };
    const type = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    world.objects.CustomResourceDefinition.set(name, { ...type, metadata: { name, annotations } });
    return graph.settle().changed;
  };
  define("v1.7.1");
  assertEquals(version(), "SupportedVersion True SupportedVersion");
  define("v1.3.9");
  assertEquals(version(), "SupportedVersion False UnsupportedVersion");
  define();
  assertEquals(version(), "SupportedVersion False UnsupportedVersion");
  world.objects.CustomResourceDefinition.replace([]);
  graph.settle();
  assertEquals(version(), "SupportedVersion Unknown Pending");
});

Deno.test("definitions of others cost nothing", () => {
  const { graph, world } = translate([gatewayClass()]);
  for (let i = 0; i < 100; i++) {
    const name = `widgets.example${i}.com`;
    const type = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    world.objects.CustomResourceDefinition.set(name, { ...type, metadata: { name } });
  }
  assertEquals(graph.settle().written, 100, "the rows of the source are all");
});
