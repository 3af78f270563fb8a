/**
 * Which tokens of ServiceAccounts are believed, with an API server and without.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { silentLog } from "../../controllers/runtime/log.ts";
import { isSigned, readJwt, readKeys } from "../../kube/jwt.ts";
import { Tokens } from "../../kube/tokens.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { type Algorithm, base64, claimsOf, type Issuer, issuerOf } from "../support/jwt.ts";
import { TokenServer } from "../support/token_server.ts";

const issuer = await issuerOf("RS256");

/** Tokens with a clock and an API server; `keys` once they have been fetched. */
async function start({ keys = true, by = issuer }: { readonly keys?: boolean; readonly by?: Issuer } = {}) {
  const clock = new FakeClock(), server = new TokenServer(by), lines: string[] = [];
  const log = {
    ...silentLog,
    warn: (message: string) => void lines.push(`warn ${message}`),
    info: (message: string) => void lines.push(`info ${message}`),
  };
  const tokens = new Tokens({ kube: server.kube, audience: "gatehouse.dev/xds", clock, log });
  const abort = new AbortController();
  if (!keys) server.state = "down";
  const running = tokens.run(abort.signal).catch((error) => {
    if (!abort.signal.aborted) throw error;
  });
  await until(() => clock.pending > 0);
  server.state = "up";
  const sign = (more: { readonly [claim: string]: unknown } = {}, header = {}) =>
    by.sign(claimsOf(clock.now().getTime(), more), header);
  return {
    clock,
    server,
    tokens,
    lines,
    sign,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await running;
    },
  };
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 5_000; !holds();) {
    if (Date.now() > end) throw new Error("Not within 5 seconds");
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const bearer = {
  namespace: "shop",
  serviceAccount: { name: "web-gatehouse", uid: "uid-account" },
  pod: { name: "web-1", uid: "uid-pod" },
};

const kubernetes = (more: object) => ({
  "kubernetes.io": { ...claimsOf(0)["kubernetes.io"], ...more },
});

Deno.test("a good token tells whose it is, and until when", async () => {
  await using world = await start();
  const { clock, tokens, sign, server } = world;
  const expires = clock.now().getTime() + 3_600_000;
  assertEquals(await tokens.verify(await sign()), { ...bearer, expires });
  assertEquals(server.reviews, 1);
});

for (const algorithm of ["RS256", "ES256", "ES384"] as const satisfies readonly Algorithm[]) {
  Deno.test(`without an API server, its keys decide: ${algorithm}`, async () => {
    await using world = await start({ by: await issuerOf(algorithm) });
    const { tokens, sign, server } = world;
    server.state = "down";
    assertEquals("pod" in await tokens.verify(await sign()), true);
    const [head, body, signature] = (await sign()).split(".") as [string, string, string];
    const other = body.slice(0, -8) + "AAAAAAAA";
    for (
      const forged of [
        `${head}.${body}.${base64(new Uint8Array(256))}`,
        `${head}.${body}.${base64(new Uint8Array(64))}`,
        `${head}.${body}.${base64(new Uint8Array(1))}`,
        `${head}.${other}.${signature}`,
      ]
    ) {
      const verdict = await tokens.verify(forged);
      assert("doubt" in verdict && verdict.doubt === "invalid", forged);
    }
  });
}

Deno.test("what is not for us, not now, not of a pod or not of one mind is refused, and nobody is asked", async () => {
  await using world = await start();
  const { clock, tokens, sign, server } = world, seconds = clock.now().getTime() / 1000;
  const cases: readonly [token: string, reason: RegExp][] = [
    ["", /none of a ServiceAccount/],
    ["a.b.c", /none of a ServiceAccount/],
    ["a.b.c.d", /none of a ServiceAccount/],
    [`${base64("{}")}.${base64("[]")}.x`, /none of a ServiceAccount/],
    [await issuer.sign({ sub: "a" }), /none of a ServiceAccount/],
    [await sign({ exp: 1e300 }), /none of a ServiceAccount/],
    [await sign({ exp: seconds }), /it expired at 2026-01-01T00:00:00.000Z/],
    [await sign({ nbf: seconds + 61 }), /only from 2026-01-01T00:01:01.000Z/],
    [
      await sign({ aud: ["https://kubernetes.default.svc"] }),
      /it is for "https:.*, not for "gatehouse.dev\/xds"/,
    ],
    [await sign({ aud: "vault" }), /it is for "vault"/],
    [await sign({ sub: "system:serviceaccount:shop:other" }), /contradicts itself/],
    [await sign(kubernetes({ pod: undefined })), /not bound to a pod/],
  ];
  for (const [token, reason] of cases) {
    const verdict = await tokens.verify(token);
    assert("doubt" in verdict && verdict.doubt === "invalid", token);
    assertMatch(verdict.reason, reason);
  }
  assertEquals(server.reviews, 0);
});

Deno.test("a forged signature, or none, is refused, and nobody is asked", async () => {
  await using world = await start();
  const { clock, tokens, sign, server } = world;
  const other = await issuerOf("RS256"), claims = claimsOf(clock.now().getTime());
  const [head, body] = (await sign()).split(".") as [string, string];
  for (
    const token of [
      await other.sign(claims),
      await (await issuerOf("ES256")).sign(claims),
      `${head}.${body}.${base64("x")}`,
      `${base64(JSON.stringify({ alg: "none", kid: "key-1" }))}.${body}.${base64("x")}`,
      `${base64(JSON.stringify({ alg: "HS256", kid: "key-1" }))}.${body}.${base64("x")}`,
    ]
  ) {
    assertEquals(await tokens.verify(token), { doubt: "invalid", reason: "its signature is false" });
  }
  assertEquals(server.reviews, 0);
});

Deno.test("what the API server refuses, or takes for somebody else's, is refused", async () => {
  await using world = await start();
  const { tokens, sign, server } = world;
  const user = (more: object) => (status: Record<string, unknown>) => ({
    ...status,
    user: { ...status.user as object, ...more },
  });
  const cases: readonly [TokenServer["answer"], RegExp][] = [
    [() => ({ error: "the pod is gone" }), /the API server refuses it: the pod is gone/],
    [() => ({}), /the API server refuses it$/],
    [(status) => ({ ...status, audiences: undefined }), /does not say that it is for "gatehouse.dev\/xds"/],
    [(status) => ({ ...status, audiences: ["https://kubernetes.default.svc"] }), /does not say/],
    [user({ username: "system:serviceaccount:shop:other" }), /somebody else's/],
    [user({ uid: "uid-earlier" }), /somebody else's/],
    [user({ extra: {} }), /somebody else's/],
  ];
  for (const [answer, reason] of cases) {
    server.answer = answer;
    const verdict = await tokens.verify(await sign());
    assert("doubt" in verdict && verdict.doubt === "invalid", String(reason));
    assertMatch(verdict.reason, reason);
  }
});

Deno.test("without an API server: an expired token is refused, and one of another issuer; it says so once", async () => {
  await using world = await start();
  const { clock, tokens, sign, server, lines } = world;
  const token = await sign();
  server.state = "down";
  assert("pod" in await tokens.verify(token));
  assert("pod" in await tokens.verify(await sign({ jti: "another" })));
  assertEquals(await tokens.verify(await sign({ iss: "https://other" })), {
    doubt: "invalid",
    reason: 'its issuer "https://other" is another',
  });
  await clock.advance(3_599_999);
  assert("pod" in await tokens.verify(token));
  await clock.advance(1);
  assertEquals(await tokens.verify(token), {
    doubt: "invalid",
    reason: "it expired at 2026-01-01T01:00:00.000Z",
  });
  server.state = "up";
  assert("pod" in await tokens.verify(await sign()));
  assertEquals(lines, [
    "warn Verifying tokens without the API server, which does not answer",
    "info The API server answers again whose tokens are",
  ]);
});

Deno.test("an API server that does not answer is waited for three seconds", async () => {
  await using world = await start();
  const { clock, tokens, sign, server } = world;
  server.state = "silent";
  const verdict = tokens.verify(await sign());
  await until(() => server.reviews === 1);
  await clock.advance(3_000);
  assert("pod" in await verdict);
});

Deno.test("where TokenReviews are not allowed, keys decide, and it is asked again after ten minutes", async () => {
  await using world = await start();
  const { clock, tokens, sign, server, lines } = world;
  server.state = "denied";
  for (const jti of ["one", "another"]) assert("pod" in await tokens.verify(await sign({ jti })));
  assertEquals(server.reviews, 1);
  assertEquals(lines, ["info Verifying tokens by keys alone: TokenReviews are not allowed"]);
  server.state = "up";
  await clock.advance(600_000);
  assert("pod" in await tokens.verify(await sign({ jti: "a third" })));
  assertEquals(server.reviews, 2);
});

Deno.test("where there have never been keys, it cannot be said whose a token is; they are looked for again and again", async () => {
  await using world = await start({ keys: false });
  const { clock, tokens, sign, server } = world;
  assert("pod" in await tokens.verify(await sign()), "the API server knows");
  server.state = "down";
  const verdict = await tokens.verify(await sign({ jti: "another" }));
  assert("doubt" in verdict && verdict.doubt === "unknown");
  server.state = "up";
  await clock.advance(5_000);
  await until(() => clock.pending > 0);
  server.state = "down";
  assert("pod" in await tokens.verify(await sign({ jti: "a third" })));
});

Deno.test("an answer is good for a minute, for that token alone, and not beyond its end", async () => {
  await using world = await start();
  const { clock, tokens, sign, server } = world;
  const token = await sign({ exp: clock.now().getTime() / 1000 + 100 });
  await Promise.all(Array.from({ length: 10 }, () => tokens.verify(token)));
  assertEquals(server.reviews, 1, "who asks at the same time asks together");
  await clock.advance(59_999);
  await tokens.verify(token);
  assertEquals(server.reviews, 1);
  server.answer = () => ({ error: "the pod is gone" });
  assert("pod" in await tokens.verify(token));
  await clock.advance(1);
  assert("doubt" in await tokens.verify(token));
  assertEquals(server.reviews, 2);
  assert("doubt" in await tokens.verify(await sign()));

  server.answer = (status) => status;
  const short = await sign({ exp: clock.now().getTime() / 1000 + 1 });
  assert("pod" in await tokens.verify(short));
  await clock.advance(1_000);
  assert("doubt" in await tokens.verify(short));
});

Deno.test("new keys are looked for every five minutes, and at once for a token of one that is not known", async () => {
  await using world = await start();
  const { clock, tokens, server, sign } = world;
  const next = await issuerOf("ES256", "key-2");
  server.keys = {
    keys: [...(issuer.set as { keys: unknown[] }).keys, ...(next.set as { keys: unknown[] }).keys],
  };
  const token = () => next.sign(claimsOf(clock.now().getTime()));
  await clock.advance(10_000);
  assert("pod" in await tokens.verify(await token()), "the API server knows its keys");
  await until(() => clock.pending > 0);
  server.state = "down";
  assert("pod" in await tokens.verify(await token()), "so do we by now");
  assert("pod" in await tokens.verify(await sign()));

  server.state = "up";
  server.keys = next.set;
  await clock.advance(300_000);
  await until(() => clock.pending > 0);
  server.state = "down";
  const verdict = await tokens.verify(await sign());
  assert("doubt" in verdict, "a key that was withdrawn is not believed any more");
});

Deno.test("the API server is asked sixteen questions at a time, however many there are", async () => {
  await using world = await start();
  const { tokens, sign, server } = world;
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => sign({ jti: String(i) })));
  const verdicts = await Promise.all(all.map((token) => tokens.verify(token)));
  assert(verdicts.every((verdict) => "pod" in verdict));
  assertEquals([server.reviews, server.most], [100, 16]);
});

Deno.test("keys of no use are left out, and no use at all is an error", async () => {
  const [rsa] = (issuer.set as { keys: Record<string, unknown>[] }).keys;
  const keys = await readKeys({
    keys: [
      { ...rsa, kid: "a", alg: undefined },
      { ...rsa, kid: "b", alg: "RS512" },
      { ...rsa, kid: "c", use: "enc" },
      { ...rsa, kid: "d", n: "!" },
      { kty: "oct", kid: "e", k: "AAAA" },
      { ...rsa, kid: undefined },
      7,
    ],
  });
  assertEquals([...keys.keys()], ["a"]);
  await assertRejects(() => readKeys({ keys: [] }), Error, "none is of RS256, ES256 or ES384");
  await assertRejects(() => readKeys({}));
});

Deno.test("a token is taken apart, and its signature tried with the key that it names", async () => {
  const token = readJwt(await issuer.sign(claimsOf(0)))!;
  assertEquals([token.algorithm, token.key, token.claims.aud], ["RS256", "key-1", ["gatehouse.dev/xds"]]);
  assertEquals(await isSigned(token, await readKeys(issuer.set)), true);
  assertEquals(await isSigned({ ...token, key: "key-2" }, await readKeys(issuer.set)), undefined);
});
