/** What each name of the stand-in for `@std/http` does; run with `deno.jsr.json`, the same holds for the real one. */
import { assertEquals, assertRejects } from "@std/assert";
import * as all from "@std/http";
import { eTag, ifMatch, ifNoneMatch } from "@std/http/etag";
import { accepts, acceptsEncodings } from "@std/http/negotiation";
import { type ServerSentEventMessage, ServerSentEventStream } from "@std/http/server-sent-event-stream";
import * as status from "@std/http/status";

Deno.test("the main module has what the others have", () => {
  assertEquals(all.STATUS_CODE, status.STATUS_CODE);
  assertEquals([all.eTag, all.accepts, all.ServerSentEventStream], [eTag, accepts, ServerSentEventStream]);
});

Deno.test("status: codes and texts", () => {
  const { STATUS_CODE, STATUS_TEXT } = status;
  assertEquals(Object.keys(STATUS_CODE).length, 62);
  assertEquals(Object.keys(STATUS_TEXT).map(Number).sort(), Object.values(STATUS_CODE).toSorted());
  const cases: readonly (readonly [keyof typeof STATUS_CODE, number, string])[] = [
    ["OK", 200, "OK"],
    ["NonAuthoritativeInfo", 203, "Non Authoritative Info"],
    ["IMUsed", 226, "IM Used"],
    ["NotModified", 304, "Not Modified"],
    ["PermanentRedirect", 308, "Permanent Redirect"],
    ["Gone", 410, "Gone"],
    ["ContentTooLarge", 413, "Content Too Large"],
    ["URITooLong", 414, "URI Too Long"],
    ["Teapot", 418, "I'm a teapot"],
    ["UnprocessableEntity", 422, "Unprocessable Entity"],
    ["TooManyRequests", 429, "Too Many Requests"],
    ["HTTPVersionNotSupported", 505, "HTTP Version Not Supported"],
  ];
  for (const [name, code, text] of cases) {
    assertEquals<number>(STATUS_CODE[name], code);
    assertEquals<string>(STATUS_TEXT[STATUS_CODE[name]], text);
  }
});

Deno.test("status: classes", () => {
  const tests = [
    status.isStatus,
    status.isInformationalStatus,
    status.isSuccessfulStatus,
    status.isRedirectStatus,
    status.isClientErrorStatus,
    status.isServerErrorStatus,
    status.isErrorStatus,
  ];
  const rows: readonly (readonly [number, ...boolean[]])[] = [
    [100, true, true, false, false, false, false, false],
    [204, true, false, true, false, false, false, false],
    [304, true, false, false, true, false, false, false],
    [425, true, false, false, false, true, false, true],
    [503, true, false, false, false, false, true, true],
    [299, false, false, false, false, false, false, false],
    [0, false, false, false, false, false, false, false],
  ];
  for (const [code, ...expected] of rows) assertEquals(tests.map((test) => test(code)), expected, `${code}`);
});

Deno.test("eTag", async () => {
  assertEquals(await eTag(""), '"0-47DEQpj8HBSa+/TImW+5JCeuQeR"');
  assertEquals(await eTag("hello deno"), '"a-YdfmHmj2RiwOVqJupcf3PLK9PuJ"');
  assertEquals(await eTag(new TextEncoder().encode("hello deno")), '"a-YdfmHmj2RiwOVqJupcf3PLK9PuJ"');
  assertEquals(await eTag("ä", { weak: true }), 'W/"2-M+bXP+6CkEyNevt43hFU0ejcKg7"');
  assertEquals(await eTag("hello deno", { algorithm: "SHA-1" }), '"a-l+ghcNTLpmZ9DVs/87qbgBvpV0M"');
  const file = { size: 1024, mtime: new Date(Date.UTC(96, 1, 2, 3, 4, 5, 6)) };
  assertEquals(await eTag(file), 'W/"400-H0YzXysQPV20qNisAZMuvAEVuHV"');
  assertEquals(await eTag(file, { weak: false }), '"400-H0YzXysQPV20qNisAZMuvAEVuHV"');
  assertEquals(await eTag({ size: 1, mtime: null }), undefined);
});

Deno.test("ifMatch and ifNoneMatch", () => {
  const rows:
    readonly (readonly [value: string | null, tag: string | undefined, match: boolean, none: boolean])[] = [
      ['"a"', '"a"', true, false],
      ['"b", "a"', '"a"', true, false],
      ['"b"', '"a"', false, true],
      [" * ", '"a"', true, false],
      ['W/"a"', '"a"', false, false],
      ['"a"', 'W/"a"', false, false],
      ["*", 'W/"a"', false, false],
      [null, '"a"', false, true],
      ["", '"a"', false, true],
      ['"a"', undefined, false, true],
    ];
  for (const [value, tag, match, none] of rows) {
    assertEquals([ifMatch(value, tag), ifNoneMatch(value, tag)], [match, none], `${value} ${tag}`);
  }
});

function asking(name: string, value: string | null): Request {
  return new Request("http://x/", { headers: value === null ? {} : { [name]: value } });
}

Deno.test("accepts", () => {
  const json = "application/json", yaml = "application/yaml", html = "text/html";
  const rows:
    readonly (readonly [header: string | null, offers: readonly string[], best: string | undefined])[] = [
      [null, [json, yaml], json],
      ["*/*", [json, yaml], json],
      [yaml, [json, yaml], yaml],
      [`${json};q=0.5, ${yaml}`, [json, yaml], yaml],
      ["text/*, application/json;q=0.9", [json, html], html],
      [`*/*;q=0.1, ${json}`, [html, json], json],
      [`${json};q=0, */*`, [json, html], html],
      ["application/*;q=1, application/json;q=0.2", [json, yaml], yaml],
      [html, [json], undefined],
      ["APPLICATION/JSON", [json], json],
      [
        "application/json;as=Table;v=v1, application/json;q=0.5",
        ["application/json;as=Table;v=v1", json],
        "application/json;as=Table;v=v1",
      ],
      ["application/json;as=Table", [json], undefined],
      [
        'application/json;charset="utf-8"',
        ["application/json;charset=UTF-8"],
        "application/json;charset=UTF-8",
      ],
      ["nonsense", [json], undefined],
      ["application/json;q=nonsense", [json], undefined],
      [`${html}, ${json}`, [json, html], json],
    ];
  for (const [header, offers, best] of rows) {
    assertEquals(accepts(asking("accept", header), ...offers), best, `${header} of ${offers}`);
  }
  assertEquals(accepts(asking("accept", "text/plain;q=0.5, text/html, image/png;q=0, */*;q=0.1")), [
    "text/html",
    "text/plain",
    "*/*",
  ]);
  assertEquals(accepts(asking("accept", null)), ["*/*"]);
});

Deno.test("acceptsEncodings", () => {
  const rows:
    readonly (readonly [header: string | null, offers: readonly string[], best: string | undefined])[] = [
      [null, ["gzip", "identity"], "gzip"],
      ["gzip, br", ["gzip", "identity"], "gzip"],
      ["gzip, br", ["br", "gzip"], "gzip"],
      ["gzip;q=0.5, br", ["gzip", "br"], "br"],
      ["deflate", ["gzip", "identity"], "identity"],
      ["deflate", ["gzip"], undefined],
      ["identity;q=0, *", ["identity", "gzip"], "gzip"],
      ["*;q=0", ["gzip"], undefined],
      ["GZIP", ["gzip"], "gzip"],
    ];
  for (const [header, offers, best] of rows) {
    assertEquals(
      acceptsEncodings(asking("accept-encoding", header), ...offers),
      best,
      `${header} of ${offers}`,
    );
  }
  const ranked = (header: string | null) => acceptsEncodings(asking("accept-encoding", header));
  assertEquals(ranked("gzip;q=0.2, br"), ["br", "gzip", "identity"]);
  assertEquals(ranked("br, identity;q=0"), ["br"]);
  assertEquals(ranked(null), ["*"]);
});

Deno.test("ServerSentEventStream", async () => {
  const write = async (...messages: ServerSentEventMessage[]) =>
    await new Response(ReadableStream.from(messages).pipeThrough(new ServerSentEventStream())).text();
  assertEquals(
    await write({ comment: "a\r\nb", event: "e", data: "1\n2\r3", id: 4, retry: 5 }, { data: "" }, {}),
    ":a\n:b\nevent:e\ndata:1\ndata:2\ndata:3\nid:4\nretry:5\n\ndata:\n\n\n\n",
  );
  await assertRejects(
    () => write({ event: "a\nb" }),
    SyntaxError,
    "Cannot serialize message: `message.event` cannot contain a newline",
  );
  await assertRejects(
    () => write({ id: "a\nb" }),
    SyntaxError,
    "Cannot serialize message: `message.id` cannot contain a newline",
  );
});
