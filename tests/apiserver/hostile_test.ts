/** Requests that are made to break the server: each is refused, and the next one is answered. */
import { assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { type Core, startCore } from "../../standalone/apiserver/core.ts";
import { Database } from "../../standalone/apiserver/database.ts";
import { looseModel } from "./support.ts";

const identity = { user: "admin", groups: ["system:masters"] };
const maps = "/api/v1/namespaces/default/configmaps";

async function send(core: Core, method: string, path: string, type: string, body: string): Promise<string> {
  const request = new Request(`https://localhost${path}`, {
    method,
    body,
    headers: { "content-type": type },
  });
  const response = await core.app.fetch(request, { identity });
  const { message = "" } = await response.json() as { message?: string };
  return `${response.status} ${message}`;
}

async function withMap(test: (core: Core) => Promise<void>): Promise<void> {
  await using core = await startCore(Database.open(":memory:"), {
    model: looseModel,
    clock: systemClock,
    log: silentLog,
  });
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { a: "b" } };
  assertMatch(await send(core, "POST", maps, "application/json", JSON.stringify(map)), /^201/);
  await test(core);
  assertMatch(await send(core, "PUT", `${maps}/m`, "application/json", JSON.stringify(map)), /^200/);
}

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

Deno.test("values that are nested too deeply are refused wherever they come in", () =>
  withMap(async (core) => {
    const tooDeep = /^400 .*nested too deeply/;
    for (const levels of [1_500, 100_000]) {
      const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":${
        nested(levels)
      }}`;
      assertMatch(await send(core, "POST", maps, "application/json", object), tooDeep);
      const patch = `{"metadata":{"annotations":${nested(levels)}}}`;
      for (const type of ["application/merge-patch+json", "application/strategic-merge-patch+json"]) {
        assertMatch(await send(core, "PATCH", `${maps}/m`, type, patch), tooDeep);
      }
      const add = `[{"op":"add","path":"/data/x","value":${nested(levels)}}]`;
      assertMatch(await send(core, "PATCH", `${maps}/m`, "application/json-patch+json", add), tooDeep);
    }
    const yaml = `a: ${"[".repeat(1_500)}${"]".repeat(1_500)}`;
    assertMatch(await send(core, "POST", maps, "application/yaml", yaml), /^400 /);
    // What is nested, but not absurdly, is no matter for this check.
    const fine = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f"},"data":${nested(900)}}`;
    assertMatch(await send(core, "POST", maps, "application/json", fine), /^201/);
  }));

Deno.test("a JSON patch cannot copy an object into itself until no memory is left", () =>
  withMap(async (core) => {
    const patch = (operations: readonly unknown[]) =>
      send(core, "PATCH", `${maps}/m`, "application/json-patch+json", JSON.stringify(operations));
    const wide = Array.from({ length: 60 }, (_, i) => ({ op: "copy", from: "", path: `/data/x${i}` }));
    assertMatch(await patch(wide), /^413 .*copies of the patch/);
    const deep = [
      { op: "add", path: "/data/d", value: {} },
      ...Array.from({ length: 1_100 }, () => ({ op: "copy", from: "/data", path: "/data/d" })),
    ];
    assertMatch(await patch(deep), /^4(00 .*nested too deeply|13 )/);
    assertMatch(await patch([{ op: "copy", from: "/data/a", path: "/data/c" }]), /^200/);
  }));

Deno.test("operations that are none are refused", () =>
  withMap(async (core) => {
    for (
      const operation of [
        null,
        1,
        "x",
        [],
        {},
        { op: "add", path: 1, value: 1 },
        { op: "add", path: "data", value: 1 },
        { op: "copy", path: "/data/b" },
        { op: "move", from: 3, path: "/data/b" },
      ]
    ) {
      const answer = await send(
        core,
        "PATCH",
        `${maps}/m`,
        "application/json-patch+json",
        JSON.stringify([operation]),
      );
      assertMatch(answer, /^400 error decoding patch/, JSON.stringify(operation));
    }
  }));

Deno.test("the database is for its owner alone, be it new or from an earlier version", async () => {
  const data = await Deno.makeTempDir({ prefix: "gatehouse-data-" });
  try {
    const path = `${data}/state.db`,
      modes = async () => {
        const modes: number[] = [];
        for await (const { name } of Deno.readDir(data)) {
          modes.push((await Deno.stat(`${data}/${name}`)).mode! & 0o777);
        }
        return modes;
      };
    {
      using database = Database.open(path);
      database.commit([]);
      assertEquals(await modes(), [0o600, 0o600], "the file and its log");
    }
    await Deno.chmod(path, 0o644);
    using _again = Database.open(path);
    assertEquals((await modes())[0], 0o600);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
});
