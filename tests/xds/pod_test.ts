/**
 * What an Envoy in a pod is started with.
 *
 * `deno test -A tests/xds/pod_test.ts -- --update` and `deno fmt` write `support/pod.json` anew; read the difference before you
 * commit it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createAuthority } from "../../controllers/runtime/pki.ts";
import { podFiles, type PodOptions } from "../../xds/pod.ts";
import { Bootstrap } from "../../xds/wire/envoy/bootstrap.ts";
import { decode, encode } from "../../xds/wire/mod.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";

const options: PodOptions = {
  gateway: "shop/web",
  xds: {
    host: "gatehouse.gatehouse-system.svc.cluster.local.",
    port: 18_000,
    serverName: "gatehouse.gatehouse-system.svc",
  },
  configuration: "/etc/gatehouse/envoy",
  token: "/var/run/secrets/gatehouse.dev",
  adminSocket: "/var/run/gatehouse/admin.sock",
  node: "$(POD_NAMESPACE)/$(POD_NAME)",
  readiness: { address: "0.0.0.0", port: 19_001 },
  metrics: { address: "0.0.0.0", port: 19_002 },
  drain: 20,
  concurrency: 2,
};

Deno.test("the files of a pod are as written down", async () => {
  const { files, args } = podFiles(options), file = new URL("support/pod.json", import.meta.url);
  const made = {
    args,
    files: Object.fromEntries(Object.entries(files).map(([name, content]) => [name, JSON.parse(content)])),
  };
  if (Deno.args.includes("--update")) await Deno.writeTextFile(file, JSON.stringify(made));
  else assertEquals(made, JSON.parse(await Deno.readTextFile(file)));
});

Deno.test("the files say nothing of a single pod", () => {
  const { files } = podFiles(options), other = podFiles({ ...options, node: "shop/web-7d9f-x2x4l" });
  assertEquals(other.files, files);
  assert(other.args.includes("shop/web-7d9f-x2x4l"));
});

Deno.test("Envoy takes the files and the arguments, with a token and an authority that are there", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-pod-" });
  try {
    const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
    const authority = await createAuthority({ commonName: "authority", ...validity });
    const { files, args } = podFiles({
      ...options,
      configuration: folder,
      token: folder,
      adminSocket: `${folder}/admin.sock`,
      node: "shop/web-1",
    });
    const made = JSON.parse(files["envoy.json"]!) as Bootstrap;
    assertEquals(decode(Bootstrap, encode(Bootstrap, made)), made);
    for (
      const [name, content] of Object.entries({ ...files, "ca.crt": authority.certificate, token: "a.b.c" })
    ) {
      await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    const { success, stderr } = await new Deno.Command(await envoyForTests(), {
      args: ["--mode", "validate", ...args],
    }).output();
    const complaints = new TextDecoder().decode(stderr);
    assert(success, complaints);
    assertEquals(complaints, "", "not even a warning");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
