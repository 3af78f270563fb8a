/**
 * What an Envoy is started with.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import { bootstrap, type BootstrapOptions } from "../../xds/bootstrap.ts";
import { sdsFiles } from "../../xds/control_plane.ts";
import { Bootstrap } from "../../xds/wire/envoy/bootstrap.ts";
import { decode, encode } from "../../xds/wire/mod.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";
import { ask, exchange } from "./support/http.ts";
import { route } from "./support/ir.ts";
import { modelRig } from "./support/rig.ts";
import { freePort } from "../support/free_port.ts";

const options: BootstrapOptions = {
  proxy: "pod-1",
  gateway: "default/gw",
  xds: { host: "xds.gatehouse-system.svc", port: 18_000, serverName: "xds.gatehouse-system.svc" },
  sdsDirectory: "/etc/sds",
  adminSocket: "/run/admin.sock",
};

Deno.test("every bootstrap is a Bootstrap, and Envoy takes it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bootstrap-" });
  try {
    const local = { ...options, sdsDirectory: folder, adminSocket: `${folder}/admin.sock` };
    const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
    const authority = await createAuthority({ commonName: "authority", ...validity });
    const { certificate, key } = await issue(authority, {
      commonName: "pod-1",
      usages: ["client"],
      ...validity,
    });
    for (
      const [name, content] of [["ca.crt", authority.certificate], ["tls.crt", certificate], [
        "tls.key",
        key,
      ]] as const
    ) {
      await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    for (
      const [name, content] of Object.entries(sdsFiles({ authority: folder, certificate: folder }, local))
    ) {
      await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    for (
      const more of [
        {},
        { xds: { ...options.xds, host: "10.0.0.1" } },
        { readiness: { address: "0.0.0.0", port: 19_001 }, maxConnections: 10, maxHeap: 1 << 30 },
        { metrics: { address: "::", port: 19_002 } },
        { stats: { all: true, prefixes: [] } },
        { stats: { all: false, prefixes: ["runtime."] } },
      ]
    ) {
      const made = bootstrap({ ...local, ...more });
      assertEquals(decode(Bootstrap, encode(Bootstrap, made)), made);
      await Deno.writeTextFile(`${folder}/envoy.json`, JSON.stringify(made));
      const { success, stderr } = await new Deno.Command(await envoyForTests(), {
        args: ["--mode", "validate", "-c", `${folder}/envoy.json`, "--log-level", "warning"],
      }).output();
      const complaints = new TextDecoder().decode(stderr);
      assert(success, complaints);
      assertEquals(complaints, "", "not even a warning");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a proxy says who it is, and asks for everything by delta ADS", () => {
  const { node, dynamic_resources } = bootstrap(options);
  assertEquals(node, { id: "pod-1", cluster: "default/gw" });
  assertEquals(dynamic_resources?.ads_config?.api_type, "DELTA_GRPC");
  assertEquals(dynamic_resources?.lds_config, { ads: {}, resource_api_version: "V3" });
});

Deno.test("/ready answers once the first configuration is there; nothing else of the admin interface does", async () => {
  await using rig = await modelRig();
  const port = freePort(), readiness = { address: "127.0.0.1", port: freePort() };
  rig.model.listener(port).routes(port, { "*": [route("a", { kind: "respond", status: 204 })] });
  rig.settle();
  await rig.envoy("proxy", "default/gw", { readiness });
  await rig.synced();
  const probe = await ask(readiness.port, "/ready");
  assertEquals([probe.status, probe.body.trim()], [200, "LIVE"]);
  for (const path of ["/", "/stats", "/quitquitquit", "/ready/x"]) {
    assertEquals((await ask(readiness.port, path, { method: "POST" })).status, 404, path);
  }
});

Deno.test("/stats/prometheus tells statistics, for those who ask and not for those who would change something", async () => {
  await using rig = await modelRig();
  const port = freePort(), metrics = { address: "127.0.0.1", port: freePort() };
  rig.model.listener(port).routes(port, { "*": [route("a", { kind: "respond", status: 204 })] });
  rig.settle();
  await rig.envoy("proxy", "default/gw", { metrics });
  await rig.synced();
  const stats = await ask(metrics.port, "/stats/prometheus");
  assertEquals(stats.status, 200);
  assertMatch(stats.body, /^envoy_server_live\{\} 1$/m);
  assertEquals((await ask(metrics.port, "/stats/prometheus?usedonly")).status, 200);
  for (const path of ["/stats/prometheus", "/stats", "/quitquitquit", "/reset_counters", "/ready"]) {
    assertEquals((await ask(metrics.port, path, { method: "POST" })).status, 404, path);
  }
});

Deno.test("a proxy takes up certificates that have been replaced", async () => {
  await using rig = await modelRig();
  const port = freePort();
  rig.model.listener(port).routes(port, { "*": [route("a", { kind: "respond", status: 204 })] });
  rig.settle();
  const envoy = await rig.envoy();
  await rig.synced();
  await envoy.replaceCertificate(
    await rig.issue("proxy", { uris: ["gatehouse:default/gw"], usages: ["client"] }),
  );
  await rig.replaceAuthority();
  await envoy.replaceAuthority(rig.authority);
  const connections = () => rig.events.filter(({ type }) => type === "connected").length;
  await envoy.replaceCertificate(
    await rig.issue("proxy", { uris: ["gatehouse:default/gw"], usages: ["client"] }),
  );
  await rig.restartServer();
  await rig.until("the proxy is back, with what the new authority has signed", () => connections() === 2);
  assertMatch((await exchange({ port, path: "/" })).status.toString(), /204/);
});

Deno.test("statistics that nobody looks at are kept only if that is asked for", async () => {
  await using rig = await modelRig();
  const kept = async (proxy: string, stats?: NonNullable<BootstrapOptions["stats"]>) => {
    const envoy = await rig.envoy(proxy, "default/gw", stats ? { stats } : {});
    const names = (await envoy.admin("/stats")).split("\n").map((line) => line.split(".")[0]);
    return ["server", "runtime", "thread_local_cluster_manager"].filter((name) => names.includes(name));
  };
  assertEquals(await kept("pruned"), ["server"]);
  assertEquals(await kept("more", { all: false, prefixes: ["runtime."] }), ["server", "runtime"]);
  assertEquals(await kept("all", { all: true, prefixes: [] }), [
    "server",
    "runtime",
    "thread_local_cluster_manager",
  ]);
});
