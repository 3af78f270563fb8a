/**
 * What the manifests say of pods: how little they may do, and how they are probed. It takes no cluster.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Json } from "./support/cluster.ts";
import { base, Helm, nameOf, ofKind } from "./support/helm.ts";

Deno.test("pods may do nothing that they do not need", async () => {
  await using helm = await Helm.open();
  const workloads = [...await helm.template(), ...await base()].filter(({ spec }) => spec?.template);
  assertEquals(workloads.map(nameOf), [
    "Deployment gatehouse-system/gatehouse",
    "Job gatehouse-system/gatehouse-uninstall",
    "Deployment gatehouse-system/gatehouse",
  ]);
  for (const { kind, spec: { template: { spec } } } of workloads) {
    // Pod Security, "restricted".
    assertEquals(spec.securityContext, {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    }, kind);
    assertEquals(spec.containers.map(({ securityContext }: Json) => securityContext), [{
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    }], kind);
    const others = ["initContainers", "volumes", "hostNetwork", "hostPID", "hostIPC", "hostUsers"];
    assertEquals(others.filter((field) => field in spec), [], kind);
  }
});

Deno.test("the operator is probed where it says how it is", async () => {
  await using helm = await Helm.open();
  for (const objects of [await helm.template(), await base()]) {
    const [container] = ofKind(objects, "Deployment")[0].spec.template.spec.containers;
    assertEquals(container.ports, [
      { name: "xds", containerPort: 18000 },
      { name: "reports", containerPort: 18001 },
      { name: "http", containerPort: 8081 },
    ]);
    // The defaults of the command are these.
    assertEquals(container.args.filter((arg: string) => /^--[a-z]+-port/.test(arg)), []);
    const at = (path: string) => ({ path, port: "http" });
    assertEquals(container.startupProbe, { httpGet: at("/livez"), periodSeconds: 1, failureThreshold: 60 });
    assertEquals(container.livenessProbe, { httpGet: at("/livez"), periodSeconds: 10, timeoutSeconds: 5 });
    assertEquals(container.readinessProbe, { httpGet: at("/readyz"), periodSeconds: 1 });
  }
});
