/**
 * The whole path, as a reader of the README walks it: one command, kubectl, curl, and back.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gatehouse, run, Running, succeed } from "../support/command.ts";
import { findKubectl, standaloneMinors } from "../tools/kubectl.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";

interface Standalone extends AsyncDisposable {
  readonly running: Running;
  kubectl(...args: readonly string[]): Promise<string>;
  /** The command that it offers to try. */
  readonly curl: string;
}

async function start(data: string, pool: string, ...flags: readonly string[]): Promise<Standalone> {
  const command = gatehouse(
    ...["standalone", "--data", data, "--api-port", "0", "--addresses", pool],
    ...["--envoy", await envoyForTests(), ...flags],
  );
  const running = new Running(command);
  try {
    await running.line(/^ready\b/);
    const [, kubeconfig] = await running.line(/KUBECONFIG=(\S+)/);
    const [, curl] = await running.line(/^\s*(curl .*)$/);
    const kubectl = await findKubectl({
      env: (name) => Deno.env.get(name),
      minors: standaloneMinors,
      progress: () => {},
    });
    return {
      running,
      curl: curl!,
      kubectl: (...args) => succeed([kubectl, "--kubeconfig", kubeconfig!, ...args]),
      [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    };
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
}

/** The status of the answer to the command that `standalone` printed, as it stands. */
async function status(curl: string): Promise<string> {
  return await succeed(["sh", "-c", `${curl} --silent --output /dev/null --write-out '%{http_code}'`]);
}

/** Asks again until the answer is `expected`; the load of asking is what bounds the pace. */
async function until(expected: string, ask: () => Promise<string>): Promise<void> {
  const deadline = AbortSignal.timeout(20_000);
  for (;;) {
    const answer = await ask();
    if (answer === expected) return;
    if (deadline.aborted) throw new Error(`Still "${answer}", not "${expected}"`);
  }
}

/** Processes whose command line names a directory. */
async function processesOf(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (line.includes(directory)) found.push(line.replaceAll("\0", " "));
  }
  return found;
}

Deno.test("one command brings traffic, kubectl changes it, and a second start continues", async (t) => {
  const data = await Deno.makeTempDir({ prefix: "gatehouse-" });
  try {
    let address = "", uid = "";
    await t.step("first start", async (t) => {
      await using standalone = await start(data, "127.0.41.0/28");
      const { curl, kubectl } = standalone;
      await t.step("the curl line works as it stands", async () => {
        assertEquals(await status(curl), "200");
      });
      await t.step("Programmed comes from Envoy's acknowledgement", async () => {
        const { metadata, status } = JSON.parse(await kubectl("get", "gateway", "web", "-o", "json"));
        const programmed = status.conditions.find((c: { type: string }) => c.type === "Programmed");
        assertEquals(programmed.status, "True");
        assertEquals(programmed.observedGeneration, metadata.generation);
        address = status.addresses[0].value;
        uid = metadata.uid;
        assertMatch(address, /^127\.0\.41\.\d+$/);
        await kubectl("wait", "--for=condition=Programmed", "gateway/web", "--timeout=10s");
      });
      await t.step("deleting the route ends in 404, writing it again in 200", async () => {
        const name = (await kubectl("get", "httproute", "-o", "name")).trim();
        const route = JSON.parse(await kubectl("get", name, "-o", "json"));
        await kubectl("delete", name);
        await until("404", () => status(curl));
        const { name: metaName, namespace } = route.metadata;
        const file = `${data}/route.json`;
        await Deno.writeTextFile(
          file,
          JSON.stringify({ ...route, status: undefined, metadata: { name: metaName, namespace } }),
        );
        await kubectl("apply", "-f", file);
        await until("200", () => status(curl));
      });
      await t.step("a server of one's own becomes a Service that a route can name", async () => {
        const backend = (name: string, onListen: (port: number) => void) =>
          Deno.serve(
            { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => onListen(port) },
            () => new Response(name),
          );
        const ports: number[] = [];
        await using _one = backend("one", (port) => ports.push(port));
        await using _two = backend("two", (port) => ports.push(port));
        const expose = (name: string, ...to: readonly string[]) =>
          gatehouse("expose", name, "--port", "80", "--to", ...to, "--kubeconfig", `${data}/kubeconfig`);
        await succeed(expose("shop", ...ports.map((port) => `127.0.0.1:${port}`)));
        const [one, two] = ports;
        // What the first call wrote for the other server may not go on getting traffic.
        assertStringIncludes(await succeed(expose("shop", `127.0.0.1:${two}`)), `shop-ipv4-${one} deleted`);
        const file = `${data}/shop.json`;
        await Deno.writeTextFile(
          file,
          JSON.stringify({
            apiVersion: "gateway.networking.k8s.io/v1",
            kind: "HTTPRoute",
            metadata: { name: "shop", namespace: "default" },
            spec: {
              parentRefs: [{ name: "web" }],
              hostnames: ["shop.localhost"],
              rules: [{ backendRefs: [{ name: "shop", port: 80 }] }],
            },
          }),
        );
        await kubectl("apply", "-f", file);
        await until("two", () => succeed(["sh", "-c", `${curl} --silent -H 'Host: shop.localhost'`]));

        const others = await run(expose("echo", `127.0.0.1:${one}`));
        assertEquals(others.code, 1);
        assertMatch(others.err, /^error: Cannot expose "echo": Service "default\/echo" is there already/);
        const nowhere = await run([...expose("shop", "127.0.0.1:1"), "-n", "nowhere"]);
        assertEquals(nowhere.code, 1);
        assertMatch(nowhere.err, /^error: .*namespaces "nowhere" not found.*\n$/, "one line, no stack");
        await kubectl("delete", "httproute", "shop");
      });
      await t.step("Ctrl-C stops everything", async () => {
        assertEquals(await standalone.running.stop("SIGINT"), 0);
        assertEquals(await processesOf(data), []);
      });
    });
    await t.step("second start", async () => {
      await using standalone = await start(data, "127.0.41.0/28");
      const { metadata, status: { addresses } } = JSON.parse(
        await standalone.kubectl("get", "gateway", "web", "-o", "json"),
      );
      assertEquals(metadata.uid, uid);
      assertEquals(addresses[0].value, address);
      assertEquals(await status(standalone.curl), "200");
      // As if the terminal were closed.
      assertEquals(await standalone.running.stop("SIGHUP"), 0);
      assert((await processesOf(data)).length === 0);
    });
  } finally {
    await Deno.remove(data, { recursive: true });
  }
});
