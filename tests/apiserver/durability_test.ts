/** Nothing that was acknowledged is lost; what cannot be read or written is said, and left as it is. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { Database, DataError } from "../../standalone/apiserver/database.ts";
import { serveApi } from "../../standalone/apiserver/serve.ts";
import { Store } from "../../standalone/apiserver/store.ts";
import { looseModel, testServer } from "./support.ts";
import { valueAt } from "./writer_values.ts";

async function folder(run: (path: string) => Promise<void> | void): Promise<void> {
  const path = await Deno.makeTempDir({ prefix: "gatehouse-data-" });
  try {
    await run(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

const map = (name: string, value = "") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, uid: name, labels: { value } },
});

const values = (store: Store) =>
  new Map(store.rows("configmaps").map(({ key, object }) => [key, object.metadata.labels!["value"]!]));

Deno.test("kill -9 at any moment loses no acknowledged write", async () => {
  await folder(async (path) => {
    const file = `${path}/state.db`;
    let written = 0;
    for (let run = 0; run < 12; run++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", new URL("writer.ts", import.meta.url).pathname, file, `run${run}`],
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      let text = "";
      let told = 0;
      // Killed in the middle of its work, after a number of acknowledgements that differs from run to run.
      const limit = 1 + Math.floor(Math.random() * 400);
      for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
        text += piece;
        told += piece.split("\n").length - 1;
        if (told > limit) {
          try {
            child.kill("SIGKILL");
          } catch {
            // it has been killed before, and its output is still coming
          }
        }
      }
      await child.status;
      const lines = text.split("\n").slice(0, -1).filter((line) => line !== "ready");
      written += lines.length;
      /** The last round that was acknowledged, by name. */
      const acknowledged = new Map(lines.map((line) => line.split(" ").map(Number) as [number, number]));

      using store = new Store(Database.open(file), { historyLength: 50 });
      const found = values(store);
      for (const [i, round] of acknowledged) {
        // The write that was under way when the process died may or may not have happened.
        const possible = [valueAt(`run${run}`, i, round), valueAt(`run${run}`, i, round + 1)];
        const now = found.get(`m${i}`);
        assert(possible.includes(now), `m${i} is ${now}, acknowledged was ${possible[0]}`);
      }
    }
    assert(written > 100, `only ${written} writes: the test shows nothing`);
  });
});

Deno.test("revisions, history and watches go on after a restart", async () => {
  await folder(async (path) => {
    const file = `${path}/state.db`;
    {
      using store = new Store(Database.open(file));
      await store.write((tx) => void tx.put("configmaps", map("a", "1")));
      await store.write((tx) => void tx.put("configmaps", map("a", "2")));
      await store.write((tx) => void tx.put("configmaps", map("b", "1")));
      await store.write((tx) => void tx.delete("configmaps", "a"));
    }
    using store = new Store(Database.open(file));
    assertEquals(store.revision, 4);
    assertEquals([...values(store)], [["b", "1"]]);
    const events = store.eventsAfter(0).map(({ type, row, previous }) => [
      type,
      row.key,
      row.object.metadata.labels!["value"],
      row.object.metadata.resourceVersion,
      previous?.object.metadata.labels?.["value"],
    ]);
    assertEquals(events, [
      ["ADDED", "a", "1", "1", undefined],
      ["MODIFIED", "a", "2", "2", "1"],
      ["ADDED", "b", "1", "3", undefined],
      ["DELETED", "a", "2", "4", "2"],
    ]);
    assertEquals(store.rowsAt(2, "configmaps").map((row) => [row.key, row.revision]), [["a", 2]]);
  });
});

Deno.test("compaction forgets the oldest events, on disk, too", async () => {
  await folder(async (path) => {
    const file = `${path}/state.db`;
    {
      using store = new Store(Database.open(file), { historyLength: 10 });
      for (let i = 0; i < 50; i++) await store.write((tx) => void tx.put("configmaps", map("a", String(i))));
      assert(store.compacted >= 39, String(store.compacted));
      assertEquals(store.eventsAfter(store.compacted).length, store.revision - store.compacted);
    }
    using store = new Store(Database.open(file), { historyLength: 10 });
    assertEquals(store.revision, 50);
    assert(store.compacted >= 39);
    assertEquals(store.eventsAfter(store.compacted)[0]?.revision, store.compacted + 1);
  });
});

Deno.test("compaction minds the size of what is remembered", async () => {
  using store = new Store(Database.open(":memory:"), { historySize: 100_000 });
  const big = { ...map("a"), data: "x".repeat(30_000) };
  for (let i = 0; i < 10; i++) {
    await store.write((tx) =>
      void tx.put("configmaps", { ...big, metadata: { ...big.metadata, labels: { value: `${i}` } } })
    );
  }
  assertEquals(store.revision, 10);
  assert(store.revision - store.compacted <= 4, `${store.revision - store.compacted} are remembered`);
});

Deno.test("a decision that throws leaves nothing behind, and its neighbours in the same commit are kept", async () => {
  using store = new Store(Database.open(":memory:"));
  const results = await Promise.allSettled([
    store.write((tx) => void tx.put("configmaps", map("a"))),
    store.write((tx) => {
      tx.put("configmaps", map("b"));
      tx.delete("configmaps", "a");
      throw new Error("no");
    }),
    store.write((tx) => tx.put("configmaps", map("c")).revision),
  ]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assertEquals([...values(store).keys()], ["a", "c"]);
  assertEquals(store.revision, 2);
  assertEquals(store.eventsAfter(0).map((event) => event.row.key), ["a", "c"]);
});

Deno.test("a commit that fails is told to every writer of it, and nothing of it is seen", async () => {
  await folder(async (path) => {
    const file = `${path}/state.db`;
    const database = Database.open(file);
    using store = new Store(database);
    await store.write((tx) => void tx.put("configmaps", map("a", "1")));
    const commit = database.commit.bind(database);
    database.commit = () => {
      throw new Error("disk is full");
    };
    const seen: number[] = [];
    using _ = store.subscribe((events) => seen.push(events.length));
    for (
      const result of await Promise.allSettled([
        store.write((tx) => void tx.put("configmaps", map("a", "2"))),
        store.write((tx) => void tx.put("configmaps", map("b"))),
      ])
    ) {
      assertEquals(result.status, "rejected");
      assertStringIncludes(String((result as PromiseRejectedResult).reason), "Cannot write to database");
    }
    assertEquals([...values(store)], [["a", "1"]]);
    assertEquals([store.revision, seen], [1, []]);
    database.commit = commit;
    await store.write((tx) => void tx.put("configmaps", map("b")));
    assertEquals(store.revision, 2);
  });
});

Deno.test("a data directory that another process uses is refused, with the reason", async () => {
  await using server = await testServer();
  const script = `
    import { Database } from ${
    JSON.stringify(new URL("../../standalone/apiserver/database.ts", import.meta.url).href)
  };
    try { Database.open(Deno.args[0]); console.log("opened"); } catch (error) { console.log(error.name + ": " + error.message); }`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", script, `${server.dataDir}/state.db`],
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertStringIncludes(text, "DataError: Cannot open database");
  assertStringIncludes(text, "another process is using it; stop that one, or choose another data directory");
  await assertRejects(
    () => serveApi({ dataDir: server.dataDir, model: looseModel, clock: systemClock, log: silentLog }),
    DataError,
    "is using it",
  );
});

Deno.test("a corrupt database is refused and left as it is", async (t) => {
  /** A file with a few objects, closed. */
  const write = async (file: string) => {
    using store = new Store(Database.open(file));
    for (let i = 0; i < 300; i++) {
      await store.write((tx) => void tx.put("configmaps", map(`m${i}`, "needle")));
    }
  };
  const cases: readonly (readonly [string, (bytes: Uint8Array) => Uint8Array])[] = [
    [
      "no database at all",
      () => new TextEncoder().encode("this is no database, but a text of some length. ".repeat(50)),
    ],
    ["a damaged page", (bytes) => bytes.fill(0xaa, 8192, 8192 + 4096)],
    ["a truncated file", (bytes) => bytes.slice(0, Math.floor(bytes.length / 2))],
    ["a flipped bit in an object", (bytes) => {
      const at = new TextDecoder("latin1").decode(bytes).lastIndexOf("needle");
      assert(at > 0);
      bytes[at]! ^= 1;
      return bytes;
    }],
  ];
  for (const [name, damage] of cases) {
    await t.step(name, () =>
      folder(async (path) => {
        const file = `${path}/state.db`;
        await write(file);
        const damaged = damage(await Deno.readFile(file));
        await Deno.writeFile(file, damaged);
        const error = await assertRejects(
          () => serveApi({ dataDir: path, model: looseModel, clock: systemClock, log: silentLog }),
          DataError,
        );
        assertStringIncludes(error.message, `Cannot read database "${file}"`);
        assertStringIncludes(error.message, "restore it from a backup, or move it away to start empty");
        assertEquals(await Deno.readFile(file), damaged, "not a byte of it has been touched");
      }));
  }
});

Deno.test("a damaged write-ahead log is refused, unless all it lacks is what was not acknowledged", async (t) => {
  await folder(async (path) => {
    const original = `${path}/killed.db`;
    await writeAndKill(original, 400);
    const log = await Deno.readFile(`${original}-wal`);
    const view = new DataView(log.buffer);
    const frame = 24 + view.getUint32(8);
    const frames = Math.floor((log.length - 32) / frame);
    assert(frames > 40, `only ${frames} frames`);
    const commits = Array.from({ length: frames }, (_, i) => i).filter((i) =>
      view.getUint32(32 + i * frame + 4) > 0
    );
    const revisions = (file: string) => {
      using store = new Store(Database.open(file));
      return store.revision;
    };
    const variant = async (name: string, change: (log: Uint8Array) => Uint8Array) => {
      const file = `${path}/${name}.db`;
      await Deno.copyFile(original, file);
      await Deno.writeFile(`${file}-wal`, change(log.slice()));
      return file;
    };
    const all = revisions(await variant("whole", (bytes) => bytes));
    const flip = (at: number) => (bytes: Uint8Array) => {
      bytes[at]! ^= 1;
      return bytes;
    };

    for (
      const [name, at] of [
        ["header", 20],
        ["first", 32 + 40],
        ["middle", 32 + commits[commits.length >> 1]! * frame + 100],
        ["checksum", 32 + commits[3]! * frame + 16],
      ] as const
    ) {
      await t.step(`a flipped bit: ${name}`, async () => {
        const file = await variant(name, flip(at));
        const before = [await Deno.readFile(file), await Deno.readFile(`${file}-wal`)];
        const error = assertThrows(() => revisions(file), DataError);
        assertStringIncludes(error.message, "write-ahead log is damaged");
        assertEquals([await Deno.readFile(file), await Deno.readFile(`${file}-wal`)], before);
      });
    }
    await t.step("a log that breaks off in its last transaction", async () => {
      const torn = await variant("torn", (bytes) => bytes.slice(0, 32 + commits.at(-1)! * frame + 50));
      const found = revisions(torn);
      assert(found < all && found > 0, `${found} of ${all}`);
      const last = await variant("last", flip(32 + commits.at(-1)! * frame + 100));
      assertEquals(revisions(last), found);
    });
  });
});

/** Runs `writer.ts` until it has told of so many writes, then kills it. */
async function writeAndKill(file: string, count: number): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL("writer.ts", import.meta.url).pathname, file, "run"],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let told = 0;
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    told += piece.split("\n").length - 1;
    if (told > count) {
      try {
        child.kill("SIGKILL");
      } catch {
        // it has been killed before, and its output is still coming
      }
    }
  }
  await child.status;
}

Deno.test("an object that its history does not explain is noticed", async (t) => {
  for (
    const [name, sql] of [
      ["one is missing", "DELETE FROM objects WHERE key = 'b'"],
      [
        "one is too many",
        "INSERT INTO objects SELECT resource, 'gone', value, sum FROM objects WHERE key = 'b'",
      ],
    ] as const
  ) {
    await t.step(name, () =>
      folder(async (path) => {
        const file = `${path}/state.db`;
        {
          using store = new Store(Database.open(file));
          for (const key of ["a", "b", "gone"]) {
            await store.write((tx) => void tx.put("configmaps", map(key)));
          }
          await store.write((tx) => void tx.delete("configmaps", "gone"));
        }
        const db = new DatabaseSync(file);
        db.exec(sql);
        db.close();
        using database = Database.open(file);
        assertThrows(() => new Store(database), DataError, "is not what revision");
      }));
  }
});

Deno.test("a hole in the history is noticed", async () => {
  await folder(async (path) => {
    const file = `${path}/state.db`;
    {
      using store = new Store(Database.open(file));
      for (let i = 0; i < 5; i++) await store.write((tx) => void tx.put("configmaps", map("a", String(i))));
    }
    const db = new DatabaseSync(file);
    db.exec("DELETE FROM history WHERE revision = 3");
    db.close();
    const database = Database.open(file);
    try {
      assertThrows(() => database.read(), DataError, "revision 3 is missing");
    } finally {
      database[Symbol.dispose]();
    }
  });
});

Deno.test("a database of a later format is refused", async () => {
  await folder((path) => {
    const file = `${path}/state.db`;
    Database.open(file)[Symbol.dispose]();
    const db = new DatabaseSync(file);
    db.exec("UPDATE meta SET value = 2 WHERE name = 'format'");
    db.close();
    assertThrows(
      () => Database.open(file),
      DataError,
      "it has format 2, this version of Gatehouse reads format 1",
    );
  });
});

Deno.test("a watch from before the data directory was emptied is told to begin anew", async () => {
  await folder(async (path) => {
    const revision = async (at: string) => {
      const clock = { ...systemClock, now: () => new Date(at) };
      await using server = await testServer({ dataDir: path, clock });
      await server.store.write((tx) => void tx.put("configmaps", map("a")));
      return { revision: server.store.revision, compacted: server.store.compacted };
    };
    const before = await revision("2030-01-01T00:00:00Z");
    assert(
      (await revision("2030-01-01T00:00:05Z")).revision === before.revision + 1,
      "it goes on while it is kept",
    );
    await Deno.remove(`${path}/state.db`);
    const after = await revision("2030-01-01T00:00:10Z");
    assert(after.compacted > before.revision + 1);
  });
});

Deno.test("objects of kinds that are no longer served are kept", async () => {
  await folder(async (path) => {
    {
      await using server = await testServer({ dataDir: path });
      await server.store.write((tx) =>
        void tx.put("oldthings.example.com", {
          ...map("old"),
          apiVersion: "example.com/v1",
          kind: "OldThing",
        })
      );
    }
    await using server = await testServer({ dataDir: path });
    assert(server.store.get("oldthings.example.com", "old"));
  });
});

Deno.test("writes are quick: many at once share a flush", async () => {
  await folder(async (path) => {
    const database = Database.open(`${path}/state.db`);
    let commits = 0;
    const commit = database.commit.bind(database);
    database.commit = (...change) => {
      commits++;
      commit(...change);
    };
    using store = new Store(database);
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => store.write((tx) => void tx.put("configmaps", map(`m${i}`)))),
    );
    assertEquals([store.revision, commits], [100, 1]);
  });
});
