/**
 * Data directories that cannot be used, or have odd names.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { gatehouse, run, Running, succeed } from "../support/command.ts";

async function inDirectory(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a data directory that cannot be used is refused in one line", () =>
  inDirectory(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const refused: readonly (readonly [path: string, why: RegExp])[] = [
      ["", /it has no name/],
      [`${folder}/file`, /it is a file/],
      [`${folder}/file/below`, /not a directory/],
      [`${folder}/${"x".repeat(90)}`, /the path is \d+ bytes too long for Unix sockets in it/],
      [`${folder}/${"x".repeat(300)}`, /file name too long/],
      ["/proc/gatehouse", /this program has no right to write there/],
    ];
    for (const [i, [path, why]] of refused.entries()) {
      const { code, err } = await run(
        gatehouse(i % 2 ? "local" : "standalone", "--data", path, "--addresses", "127.0.90.241"),
      );
      assertEquals(code, 1, err);
      assert(err.startsWith(`error: Cannot use data directory "${path}": `), err);
      assertMatch(err.split("\n")[0]!, why);
      assert(!err.includes("    at "), `no stack trace: ${err}`);
    }
  }));

Deno.test("a database that cannot be opened or written is said in one line", () =>
  inDirectory(async (folder) => {
    await Deno.mkdir(`${folder}/state.db`);
    const { code, err } = await run(gatehouse("apiserver", "--data", folder, "--port", "0"));
    assertEquals(code, 1);
    assertMatch(err, /^error: Cannot open database ".*\/state\.db": /);
    assert(!err.includes("    at "), `no stack trace: ${err}`);
  }));

Deno.test("a directory may have any name", () =>
  inDirectory(async (folder) => {
    const data = `${folder}/a b,c'd"é$HOME`;
    await using server = new Running(gatehouse("apiserver", "--data", data, "--port", "0"));
    const [, kubeconfig] = await server.line(/KUBECONFIG=(.*)/);
    assert((await Deno.stat(`${data}/kubeconfig`)).isFile, kubeconfig);
    assertMatch(await succeed(gatehouse("status", "--data", data)), /^There are no objects/);
    assertEquals(await server.stop(), 0);
  }));
