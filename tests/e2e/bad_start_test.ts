/**
 * What keeps a standalone gateway from starting, or from going on, and what it says then.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Gateway, gateway, httpRoute } from "../../crds/mod.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";
import { gatehouse, run, Running, succeed } from "../support/command.ts";
import { gatewayNamed, get, routeNamed, serve, startGateway, versions } from "./gateway.ts";

async function inDirectory(test: (data: string) => Promise<void>): Promise<void> {
  const data = await Deno.makeTempDir({ prefix: "gatehouse-" });
  try {
    await test(data);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
}

const standalone = (data: string, ...flags: readonly string[]) =>
  gatehouse("standalone", "--data", data, "--api-port", "0", "--addresses", "127.0.48.1", ...flags);

Deno.test("an Envoy that is not there, or too old, is refused by name", () =>
  inDirectory(async (data) => {
    const missing = await run(standalone(data, "--envoy", "/no/such/envoy"));
    assertEquals(missing.code, 1);
    assertMatch(missing.err, /^error: Cannot use Envoy "\/no\/such\/envoy" \(from --envoy\): no such file/);

    const old = `${data}/envoy`;
    await Deno.writeTextFile(old, "#!/bin/sh\necho 'envoy  version: abc/1.20.0/Clean/RELEASE/BoringSSL'\n", {
      mode: 0o755,
    });
    const refused = await run(standalone(data, "--envoy", old));
    assertEquals(refused.code, 1);
    assertMatch(refused.err, /version 1\.20\.0 is not supported, Gatehouse works with .*1\.37/);
  }));

Deno.test("addresses and manifests that make no sense are refused before anything is started", () =>
  inDirectory(async (data) => {
    const envoy = await envoyForTests();
    const pool = await run(standalone(data, "--envoy", envoy, "--addresses", "127.0.0.0/99"));
    assertEquals(pool.code, 2);
    assertMatch(pool.err, /^error: Cannot use address pool "127.0.0.0\/99"/);

    const file = `${data}/wrong.yaml`;
    await Deno.writeTextFile(
      file,
      "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: { name: x }\nspec: { gatewayClassName: a, listeners: [{ name: h, port: 0, protocol: HTTP }] }\n",
    );
    const wrong = await run(standalone(data, "--envoy", envoy, "--apply", file));
    assertEquals(wrong.code, 1);
    assertMatch(wrong.err, /error: Cannot apply ".*wrong.yaml", document 1, Gateway "x": /);
    assertStringIncludes(wrong.err, "spec.listeners[0].port");
  }));

Deno.test("a directory that another gateway uses is refused, and that one goes on", () =>
  inDirectory(async (data) => {
    const envoy = await envoyForTests();
    await using first = new Running(standalone(data, "--envoy", envoy));
    await first.line(/^ready/);
    const [, curl] = await first.line(/^\s*(curl .*)$/);
    const second = await run(standalone(data, "--envoy", envoy));
    assertEquals(second.code, 1);
    assertMatch(second.err, /error: Cannot .*".*".*(in use|another)/);
    assertStringIncludes(await succeed(["sh", "-c", `${curl} --silent`]), '"service": "echo"');
    assertEquals(await first.stop(), 0);
  }));

Deno.test("a port of the API server that is in use is refused by number, in one line", () =>
  inDirectory(async (data) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    const { code, err } = await run([
      ...standalone(data, "--envoy", await envoyForTests()),
      "--api-port",
      String(port),
    ]);
    assertEquals(code, 1);
    assertMatch(
      err,
      new RegExp(`^error: Cannot listen on 127.0.0.1:${port}: another process does; .*--api-port.*\n$`),
    );
  }));

Deno.test("a damaged database is refused, and left as it is", () =>
  inDirectory(async (data) => {
    const envoy = await envoyForTests(), file = `${data}/state.db`;
    const garbage = new TextEncoder().encode(
      "this is no database, but somebody may want to look at it ".repeat(200),
    );
    await Deno.writeFile(file, garbage);
    const { code, err } = await run(standalone(data, "--envoy", envoy));
    assertEquals(code, 1);
    assertStringIncludes(err, "state.db");
    assertMatch(err, /error: Cannot/);
    assertEquals(await Deno.readFile(file), garbage);
  }));

Deno.test("a port in use is a condition; other ports are served; it heals once the port is free", async () => {
  await using web = await startGateway({ address: "127.0.48.2" });
  const { kube, address } = web;
  await web.echo("echo");
  const squatter = Deno.listen({ hostname: address, port: 8080 });
  try {
    const listeners = [{ name: "http", port: 80, protocol: "HTTP" }, {
      name: "alt",
      port: 8080,
      protocol: "HTTP",
    }];
    await kube.create(gateway, gatewayNamed("web", listeners));
    await kube.create(httpRoute, routeNamed("r", [{ backendRefs: [{ name: "echo", port: 80 }] }]));
    const blocked = await web.untilStatus(
      gateway,
      "web",
      "the listener says why",
      (_, { status }) =>
        status?.listeners?.some(({ name, conditions }) =>
            name === "alt" &&
            conditions.some(({ type, status }) => type === "Programmed" && status === "False")
          ) === true &&
        status.listeners.some(({ name, conditions }) =>
          name === "http" && conditions.some(({ type, status }) => type === "Programmed" && status === "True")
        ),
    );
    const conditions = blocked.status!.listeners!.find(({ name }) => name === "alt")!.conditions;
    const accepted = conditions.find(({ type }) => type === "Accepted")!;
    assertEquals([accepted.status, accepted.reason], ["False", "PortUnavailable"]);
    assertMatch(
      accepted.message,
      /^Cannot bind port 8080 on 127\.0\.48\.2: another program has it; end that program/,
    );
    assertEquals(await get(address, "r.example.com"), 200);
  } finally {
    squatter.close();
  }
  await web.untilStatus(
    gateway,
    "web",
    "the port is taken once it is free",
    (_, { status }) =>
      status?.listeners?.every(({ conditions }) =>
        conditions.some(({ type, status }) => type === "Programmed" && status === "True")
      ) === true,
  );
});

Deno.test("an Envoy that is killed comes back with its configuration, and nothing is revoked", async () => {
  await using web = await startGateway({ address: "127.0.48.3" });
  const { address, local } = web;
  await serve(web);
  assertEquals(await get(address, "r.example.com"), 200);
  const before = local.dataPlane.statuses().get("default/web")!;
  await web.written();
  const written = await versions(web);

  Deno.kill(before.pid!, "SIGKILL");
  let answer = 200;
  for (const deadline = AbortSignal.timeout(10_000); !deadline.aborted;) {
    const now = local.dataPlane.statuses().get("default/web")!;
    answer = await get(address, "r.example.com").catch(() => 0);
    if (now.pid !== before.pid && now.state === "running" && answer === 200) break;
  }
  assertEquals(answer, 200);
  assertEquals(local.dataPlane.statuses().get("default/web")!.restarts, 1);
  await local.operator.loop.idle();
  assertEquals(await versions(web), written, "a restart of a proxy changes no status");
  assert(local.operator.ledger.report("default/web")[0]!.connected);
});

Deno.test("a port that another program takes while an Envoy starts again is a condition, and heals", async () => {
  await using web = await startGateway({ address: "127.0.48.4" });
  const { address, local } = web;
  await serve(web);

  const { promise: dead, resolve } = Promise.withResolvers<void>();
  using _watch = local.dataPlane.onChange(() => {
    if (local.dataPlane.statuses().get("default/web")!.state === "backoff") resolve();
  });
  Deno.kill(local.dataPlane.statuses().get("default/web")!.pid!, "SIGKILL");
  await dead;
  const squatter = Deno.listen({ hostname: address, port: 80 });
  const conditionOf = ({ status }: Gateway, type: string) =>
    status?.listeners?.[0]?.conditions.find((condition) => condition.type === type);
  try {
    const blocked = await web.untilStatus(
      gateway,
      "web",
      "told that the port is in use",
      (_, object) => conditionOf(object, "Accepted")?.reason === "PortUnavailable",
    );
    assertMatch(
      conditionOf(blocked, "Accepted")!.message,
      /^Cannot bind port 80 on 127\.0\.48\.4: another/,
    );
  } finally {
    squatter.close();
  }
  await web.untilStatus(
    gateway,
    "web",
    "the port is taken once it is free",
    (_, object) => conditionOf(object, "Programmed")?.status === "True",
  );
  assertEquals(await get(address, "r.example.com"), 200);
});
