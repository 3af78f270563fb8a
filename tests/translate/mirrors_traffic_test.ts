/**
 * RequestMirror, through a real Envoy.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createAuthority, type KeyPair } from "../../controllers/runtime/pki.ts";
import { ask } from "../xds/support/http.ts";
import { type Raw, route, to } from "./cluster.ts";
import { certificate, configMap, policy, secured, validity } from "./secured.ts";
import { any, parentRefs, serving } from "./serving.ts";

interface Copy {
  readonly host: string | null;
  readonly path: string;
  readonly header: string | null;
  readonly body: string;
}

/** A backend that keeps what it is asked, and answers with something that nobody may see; over TLS with a certificate. */
function recorder({ certificate: cert, key }: Partial<KeyPair> = {}) {
  const copies: Copy[] = [];
  let arrived = Promise.withResolvers<void>();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...cert && key && { cert, key } };
  const server = Deno.serve(options, async (request) => {
    const { pathname, search } = new URL(request.url), { headers } = request;
    const body = await request.text();
    copies.push({ host: headers.get("host"), path: pathname + search, header: headers.get("x-set"), body });
    arrived.resolve();
    return new Response("not for clients", { status: 418 });
  });
  return {
    port: server.addr.port,
    copies,
    /** Ends once there are so many copies, and fails if they take too long. */
    async received(count: number): Promise<void> {
      const late = setTimeout(
        () => arrived.reject(new Error(`${copies.length} copies, not ${count}`)),
        10_000,
      );
      while (copies.length < count) {
        arrived = Promise.withResolvers();
        await arrived.promise;
      }
      clearTimeout(late);
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const mirror = (name: string, share: Raw = {}) => ({
  type: "RequestMirror",
  requestMirror: { backendRef: { name, port: 80 }, ...share },
});

Deno.test("traffic: each mirror gets a copy of what the backend gets, and the backend's answer counts", async () => {
  await using one = recorder();
  await using two = recorder();
  // An answer that comes before all of a body has arrived ends the request, and its copies with it.
  await using reader = recorder();
  const modifier = {
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "X-Set", value: "yes" }] },
  };
  const rule = { ...to("app", "/x"), filters: [modifier, mirror("one"), mirror("two")] };
  const whole = { ...to("reader", "/large"), filters: [mirror("one")] };
  await using served = await serving(any, [route("a", { parentRefs, rules: [rule, whole] })], {
    one: one.port,
    two: two.port,
    reader: reader.port,
  });
  const { status, body } = await served.ask("/x?q=1", { host: "www.example.com" });
  assertEquals([status, JSON.parse(body).backend], [200, "app"]);
  await Promise.all([one.received(1), two.received(1)]);
  const copy = { host: "www.example.com", path: "/x?q=1", header: "yes", body: "" };
  assertEquals([one.copies, two.copies], [[copy], [copy]]);
  // More than Envoy buffers at a time.
  const large = "x".repeat(200_000);
  const answer = await fetch(`http://127.0.0.1:${served.port}/large`, { method: "POST", body: large });
  await answer.body?.cancel();
  assertEquals(answer.status, 418, "the reader's own");
  await one.received(2);
  assertEquals(one.copies[1]?.body.length, large.length);
});

Deno.test("traffic: mirrors get their share of requests", async () => {
  await using one = recorder();
  await using all = recorder();
  const rule = (path: string, share: Raw) => ({
    ...to("app", path),
    filters: [mirror("one", share), mirror("all")],
  });
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/percent", { percent: 20 }),
        rule("/fraction", { fraction: { numerator: 25, denominator: 50 } }),
        rule("/none", { percent: 0 }),
      ],
    }),
  ], { one: one.port, all: all.port });
  const requests = 400;
  const count = async (path: string) => {
    const before = one.copies.length, whole = all.copies.length;
    for (let i = 0; i < requests; i++) assertEquals((await served.ask(path)).status, 200);
    await all.received(whole + requests);
    return one.copies.length - before;
  };
  // Five standard deviations.
  const percent = await count("/percent"), fraction = await count("/fraction");
  assert(Math.abs(percent - 80) < 40, `${percent} of 400 are 20 percent`);
  assert(Math.abs(fraction - 200) < 50, `${fraction} of 400 are half`);
  assertEquals(await count("/none"), 0);
});

Deno.test("traffic: mirrors are spoken to by TLS as their policies demand, or not at all", async () => {
  const authority = await createAuthority({ commonName: "inner authority", ...validity });
  const pair = await certificate(["inner.example.com"], {}, authority);
  await using good = recorder(pair);
  await using wrong = recorder(pair);
  await using served = await secured([{ name: "http", protocol: "HTTP" }], [
    route("a", { parentRefs, rules: [{ ...to("app"), filters: [mirror("wrong"), mirror("good")] }] }),
    policy("good", ["good"], { hostname: "inner.example.com" }),
    policy("wrong", ["wrong"], { hostname: "other.example.com" }),
    configMap("ca", authority.certificate),
  ], { endpoints: { good: good.port, wrong: wrong.port } });
  for (let i = 1; i <= 3; i++) {
    assertEquals((await ask(served.port, `/${i}`)).status, 200);
    await good.received(i);
  }
  assertEquals([good.copies.map(({ path }) => path), wrong.copies], [["/1", "/2", "/3"], []]);
});
