/**
 * What the README and the documentation tell people to do on a cluster, done to the letter: but for building the image, bringing it
 * to the nodes and downloading, which there is nothing for here.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { root } from "../support/command.ts";
import { helm } from "../tools/programs.ts";
import { startCluster } from "./support/cluster.ts";
import { tools } from "./support/helm.ts";

const elsewhere = /^podman |^kubectl apply --server-side -f https:/;

/** The blocks of commands in a section of a document. */
async function commands(file: string, heading: string): Promise<readonly string[]> {
  const text = await Deno.readTextFile(root + file);
  const section = text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`));
  assert(section, `${file} has a section "${heading}"`);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) =>
    block!.split("\n").filter((line) => !elsewhere.test(line)).join("\n")
  );
}

Deno.test("what the documentation says to do on a cluster can be done, and does what it says", async (t) => {
  await using cluster = await startCluster();
  const programs = [cluster.programs.kubectl, await helm(tools)].map((path) => path.replace(/\/[^/]*$/, ""));
  const script = async (blocks: readonly string[]) => {
    const path = `PATH=${[...programs, Deno.env.get("PATH")].join(":")}`;
    const commands = [`cd ${root}`, ...blocks].join("\n");
    const { code, out, err } = await cluster.exec(["env", path, "sh", "-euxc", commands]);
    assertEquals(code, 0, `${out}\n${err}`);
    return out;
  };
  const readme = await commands("README.md", "On your cluster");
  const gone = async () => {
    for (const plural of ["deployments", "services"]) {
      const group = plural === "services" ? "/api/v1" : "/apis/apps/v1";
      await cluster.until({ what: `no ${plural} of it to be left`, seconds: 60 }, async () => {
        const { items } = await cluster.get(`${group}/namespaces/default/${plural}`);
        return items.every(({ metadata }: { metadata: { name: string } }) => metadata.name === "kubernetes");
      });
    }
  };

  await t.step("README: install, a first answer, away with all of it", async () => {
    assert(readme.join("\n").includes("helm uninstall"));
    assertStringIncludes(await script(readme), '"host": "echo.example.com"');
    await gone();
  });

  await t.step("docs/on-a-cluster.md: no load balancer; uninstall", async () => {
    const install = readme.find((block) => block.includes("helm install"))!;
    const gateway = await commands("docs/on-a-cluster.md", "4. A Gateway, a route, and something behind");
    const out = await script([install, ...gateway]);
    assertStringIncludes(out, '"host": "echo.example.com"');
    const { spec } = await cluster.get("/api/v1/namespaces/default/services/web-gatehouse");
    assertEquals(spec.type, "ClusterIP");
    const [uninstall] = await commands("docs/on-a-cluster.md", "Uninstall");
    // One more than the quickstart's, and one of somebody else's class, which stays.
    await cluster.apply(["gatehouse", "others"].map((gatewayClassName) => ({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { namespace: "default", name: `of-${gatewayClassName}` },
      spec: { gatewayClassName, listeners: [{ name: "http", protocol: "HTTP", port: 80 }] },
    })));
    await script([uninstall!]);
    const { items } = await cluster.get("/apis/gateway.networking.k8s.io/v1/gateways");
    assertEquals(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name), ["of-others"]);
    await gone();
    assertEquals(await cluster.get("/api/v1/namespaces/gatehouse-system"), undefined);
  });
});
