/**
 * The API server of a standalone gateway dies, and comes back where it was.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ApiProcess } from "../../cli/api_process.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { configMap } from "../../crds/mod.ts";
import { kubeOf } from "../support/kube.ts";
import { gatehouse } from "../support/command.ts";

async function inDirectory(test: (data: string) => Promise<void>): Promise<void> {
  const data = await Deno.makeTempDir({ prefix: "gatehouse-" });
  try {
    await test(data);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
}

function start(data: string, err: (line: string) => void): Promise<ApiProcess> {
  return ApiProcess.start({
    data,
    apiPort: 0,
    channel: "experimental",
    logLevel: "warn",
    logFormat: "json",
    clock: systemClock,
    io: { self: () => gatehouse(), err, errIsTerminal: false },
  });
}

const draft = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { name },
});

Deno.test("an API server that is killed comes back with its port, its certificates and its objects", () =>
  inDirectory(async (data) => {
    const lines: string[] = [], again = Promise.withResolvers<void>();
    await using api = await start(data, (line) => {
      lines.push(line);
      again.resolve();
    });
    const kube = await kubeOf(api.kubeconfig);
    try {
      await kube.create(configMap, draft("kept"));
      const { pid } = api;
      Deno.kill(pid, "SIGKILL");
      await again.promise;
      assertMatch(lines[0]!, /^the API server ended \(killed by SIGKILL\), starting it again/);
      // The same client: it finds the server at the address that it knows, with a certificate that it trusts.
      for (let tries = 0;; tries++) {
        try {
          assertEquals((await kube.get(configMap, { namespace: "default", name: "kept" })).data, {
            name: "kept",
          });
          break;
        } catch (error) {
          if (tries === 200) throw error;
          await systemClock.sleep(50);
        }
      }
      assert(api.pid !== pid);
      await kube.create(configMap, draft("later"));
      assertEquals(api.ended.aborted, false);
    } finally {
      kube[Symbol.dispose]?.();
    }
  }));

Deno.test("an API server that cannot come back has ended for good, and says why", () =>
  inDirectory(async (data) => {
    await using api = await start(data, () => {});
    await Deno.writeTextFile(`${data}/pki/server.pem`, "no certificate");
    Deno.kill(api.pid, "SIGKILL");
    await new Promise<void>((resolve) => api.ended.addEventListener("abort", () => resolve()));
    assertMatch(api.lastWords, /^Cannot read certificate ".*server\.pem"/);
  }));
