/** A real API server judges EnvoyFleets, by the definition that a cluster is given. */
import { envoyFleet } from "../../crds/mod.ts";
import { KubeError } from "../../kube/errors.ts";
import { judgedAlike } from "../crds/judge_envoy_fleets.ts";
import { root } from "../support/command.ts";
import { isTrue, startCluster } from "./support/cluster.ts";

Deno.test("kube-apiserver judges EnvoyFleets by the files in deploy/crds", async (t) => {
  await using cluster = await startCluster({ gatewayApi: false });
  const folder = `${root}deploy/crds`;
  const files = (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name))
    .filter((name) => name !== "kustomization.yaml");
  await cluster.kubectl("apply", "--server-side", ...files.map((name) => `--filename=${folder}/${name}`));
  await cluster.until({ what: "the kind to be there" }, async () => {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/envoyfleets.gatehouse.dev";
    return isTrue(await cluster.get(path), "Established");
  });
  await judgedAlike(t, async (fleet) => {
    try {
      return { object: await cluster.kube.create(envoyFleet, fleet) };
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 422) throw error;
      return { error: error.message };
    }
  });
});
