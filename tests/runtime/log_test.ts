import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createLog, type Fields, type LogOptions } from "../../controllers/runtime/log.ts";
import { redact, redactText } from "../../controllers/runtime/redact.ts";
import { FakeClock } from "../support/fake_clock.ts";

function setUp(options: Partial<LogOptions> = {}) {
  const lines: string[] = [], clock = new FakeClock("2026-02-03T04:05:06.789Z");
  const log = createLog({ clock, format: "json", write: (line) => lines.push(line), ...options });
  return { lines, clock, log, parsed: () => lines.map((line): Fields => JSON.parse(line)) };
}

const pem = `-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB==\n-----END EC PRIVATE KEY-----`;

Deno.test("log: JSON lines for machines", () => {
  const { log, parsed } = setUp();
  log.with({ controller: "status" }).info("Wrote", {
    item: "default/web",
    took: 3,
    nested: { list: [1n, undefined] },
  });
  assertEquals(parsed(), [{
    time: "2026-02-03T04:05:06.789Z",
    level: "info",
    message: "Wrote",
    controller: "status",
    item: "default/web",
    took: 3,
    nested: { list: ["1", null] },
  }]);
});

Deno.test("log: lines for people, coloured on request", () => {
  const { log, lines } = setUp({ format: "text" });
  log.warn("Cannot write", {
    item: "default/web",
    error: new Error("no such file"),
    n: 1,
    empty: "",
    o: { a: 1 },
  });
  assertEquals(lines, [
    '04:05:06.789 WARN  Cannot write  item=default/web error="no such file" n=1 empty="" o={"a":1}',
  ]);
  const colored = setUp({ format: "text", color: true });
  colored.log.error("Bad");
  assertEquals(colored.lines, ["\x1b[2m04:05:06.789\x1b[0m \x1b[31mERROR\x1b[0m Bad"]);
});

Deno.test("log: the level changes while running, for every log that came from it", () => {
  const { log, parsed } = setUp(), child = log.with({ a: 1 });
  child.debug("one");
  log.level = "debug";
  child.debug("two");
  log.level = "error";
  child.warn("three");
  log.error("four");
  assertEquals([parsed().map((line) => line.message), log.level], [["two", "four"], "error"]);
});

Deno.test("log: errors with their causes, and a stack where it matters", () => {
  const error = new Error('Task "watch" failed', {
    cause: new AggregateError([new TypeError("bad"), new Error("worse")], "Two things"),
  });
  const { log, parsed } = setUp();
  log.warn("Stopped", { error });
  log.error("Stopped", { error });
  const message = 'Task "watch" failed: AggregateError: Two things: TypeError: bad; worse';
  assertEquals(parsed().map((line) => line.error), [message, message]);
  assertEquals(parsed()[0]!.stack, undefined);
  const stack = String(parsed()[1]!.stack);
  for (const part of ["Error: Task", "log_test.ts", "caused by", "TypeError: bad", "Error: worse"]) {
    assertStringIncludes(stack, part);
  }
  const text = setUp({ format: "text" });
  text.log.error("Stopped", { error });
  assertMatch(
    text.lines[0]!,
    /^04:05:06\.789 ERROR Stopped {2}error=".*"\n {4}Error: Task "watch" failed\n {4}at /,
  );
});

Deno.test("log: no secret gets out, by name or by look", () => {
  const { log, lines } = setUp();
  const secret = "hunter2hunter2";
  log.info(`Read ${pem}`, {
    password: secret,
    token: secret,
    key: secret,
    "tls.key": secret,
    clientKeyData: secret,
    headers: { Authorization: secret, cookie: secret, accept: "text/html" },
    deep: [{ user: { bearerToken: secret, clientSecret: secret } }],
    map: new Map([["api-key", secret]]),
    url: new URL(`https://user:${secret}@example.com/`),
    error: new Error(`Bearer ${secret}`, { cause: new Error(pem) }),
    jwt: "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    bytes: new TextEncoder().encode(secret),
    item: "default/web",
    secret: "default/certificate",
  });
  const line = lines[0]!;
  assert(!line.includes(secret) && !line.includes("MHcCAQ") && !line.includes("eyJzdWI"), line);
  for (
    const part of ["text/html", "default/web", "default/certificate", "(14 bytes)", "[redacted private key]"]
  ) {
    assertStringIncludes(line, part);
  }
  const text = setUp({ format: "text" });
  text.log.error(`Read ${pem}`, {
    token: secret,
    error: new Error(`Basic ${secret}`, { cause: new Error(pem) }),
  });
  assert(!text.lines[0]!.includes(secret) && !text.lines[0]!.includes("MHcCAQ"), text.lines[0]);
});

Deno.test("log: long, deep, cyclic and odd values do no harm", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  assertStringIncludes(JSON.stringify(redact({ cyclic })), "…");
  assertEquals(redact([new Date("nonsense"), Symbol("s"), new Set(["a"])]), ["invalid date", "Symbol(s)", {
    "0": "a",
  }]);
  assert(redactText("x".repeat(100_000)).length < 5000);
});

Deno.test("log: nobody forges lines or talks to the terminal", () => {
  const { log, lines } = setUp({ format: "text" });
  log.info("one\nERROR two\x1b[2J", { name: "a\nb", path: "\x1b]0;evil\x07", unicode: "grüß dich" });
  assertEquals(lines, [
    '04:05:06.789 INFO  one\\x0aERROR two\\x1b[2J  name="a\\nb" path="\\u001b]0;evil\\u0007" unicode="grüß dich"',
  ]);
});

Deno.test("log: a storm of equal messages is counted, not written", async () => {
  const { log, parsed, lines, clock } = setUp();
  for (let i = 0; i < 100; i++) log.with({ controller: "status" }).warn("Cannot write", { item: `o${i}` });
  for (let i = 0; i < 3; i++) log.info("Cannot write");
  assertEquals(lines.length, 23);
  await clock.advance(10_000);
  log.info("Something else");
  assertEquals(parsed().slice(23).map(({ level, message, leftOut }) => ({ level, message, leftOut })), [
    { level: "warn", message: "Cannot write", leftOut: 80 },
    { level: "info", message: "Something else", leftOut: undefined },
  ]);
  log.warn("Cannot write");
  assertEquals(lines.length, 26);
  log.level = "debug";
  for (let i = 0; i < 100; i++) log.debug("Looked");
  assertEquals(lines.length, 126);
});
