/**
 * HTTPS listeners under traffic. What is expected comes from the Gateway API specification and its conformance suite.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { defaultConfig, type DesiredStatus } from "../../controllers/translate/mod.ts";
import { askOnOne, askSecurely, type Secure } from "../xds/support/https.ts";
import { helloAnswer, shownTo, suites } from "../xds/support/client_hello.ts";
import { ask, type Echo } from "../xds/support/http.ts";
import { type Raw, route, stored, to } from "./cluster.ts";
import { certificate, https, rsaCertificate, secured, tlsSecret } from "./secured.ts";
import { freePort } from "../support/free_port.ts";

const on = (sectionName: string) => ({ parentRefs: [{ name: "gw", sectionName }] });

/** Sends everything to `app` and says which route it was. */
function marked(name: string, sectionName: string, more: Raw = {}): Raw {
  const filters = [{
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "route", value: name }] },
  }];
  return route(name, { ...on(sectionName), rules: [{ ...to("app"), filters }], ...more });
}

/** Which route answers, or the status. */
async function who(port: number, options: Secure, path = "/"): Promise<string | number> {
  const { status, body } = await askSecurely(port, path, options);
  return status === 200 ? (JSON.parse(body) as Echo).headers.route ?? "nobody" : status;
}

Deno.test("https: HTTP/1.1 and HTTP/2 by ALPN, not before TLS 1.2, nothing of ours in what backends see", async () => {
  await using served = await secured([https("https", undefined, "cert")], [
    tlsSecret("cert", await certificate(["www.example.com"])),
    route("a", { ...on("https"), rules: [to("app")] }),
  ]);
  for (const [http2, protocol] of [[false, "http/1.1"], [true, "h2"]] as const) {
    const forged = { "x-gatehouse-chain": "other", "x-forwarded-proto": "http" };
    const answer = await askSecurely(served.port, "/x", { http2, headers: forged });
    assertEquals([answer.status, answer.protocol, answer.shown], [200, protocol, "www.example.com"]);
    const { headers } = JSON.parse(answer.body) as Echo;
    assertEquals(headers["x-forwarded-proto"], "https");
    assertEquals(Object.keys(headers).filter((name) => name.includes("gatehouse")), []);
  }
  assertEquals((await askSecurely(served.port, "/", { maxVersion: "TLSv1.2" })).status, 200);
  assertEquals(
    await helloAnswer({ port: served.port, version: 0x0302, suite: "ECDHE-ECDSA-AES128-SHA" }),
    "alert 70",
    "TLS 1.1: protocol_version, RFC 5246, 7.2.2",
  );
  assertEquals(served.conditionsOf("https"), {
    Accepted: "True Accepted",
    Conflicted: "False NoConflicts",
    ResolvedRefs: "True ResolvedRefs",
    Programmed: "True Programmed",
  });
});

Deno.test("https: TLS 1.2 has forward secrecy and authenticated encryption, or does not come about", async () => {
  await using served = await secured([https("https", undefined, "ecdsa", "rsa")], [
    tlsSecret("ecdsa", await certificate(["www.example.com"])),
    tlsSecret("rsa", await rsaCertificate("www.example.com")),
  ]);
  for (const suite of Object.keys(suites) as (keyof typeof suites)[]) {
    const safe = /^ECDHE-.*(GCM|POLY1305)/.test(suite);
    // A ServerHello, or handshake_failure (RFC 5246, 7.2.2).
    assertEquals([suite, await helloAnswer({ port: served.port, suite })], [
      suite,
      safe ? "record 22" : "alert 40",
    ]);
  }
});

Deno.test("https: the name asked for picks the certificate, the most specific listener first", async () => {
  const names = ["any.example.org", "www.example.com", "*.example.com", "*.deep.example.com"];
  const pairs = await Promise.all(names.map((name) => certificate([name])));
  await using served = await secured([
    https("any", undefined, "cert0"),
    https("precise", "www.example.com", "cert1"),
    https("wild", "*.example.com", "cert2"),
    https("deep", "*.deep.example.com", "cert3"),
  ], [
    ...pairs.map((pair, i) => tlsSecret(`cert${i}`, pair)),
    ...["any", "precise", "wild", "deep"].map((name) => marked(name, name)),
  ]);
  const table: readonly (readonly [servername: string, shown: string, route: string])[] = [
    ["www.example.com", "www.example.com", "precise"],
    ["WWW.Example.COM", "www.example.com", "precise"],
    ["api.example.com", "*.example.com", "wild"],
    ["a.b.example.com", "*.example.com", "wild"],
    ["a.deep.example.com", "*.deep.example.com", "deep"],
    ["deep.example.com", "*.example.com", "wild"],
    ["example.com", "any.example.org", "any"],
    ["other.example.net", "any.example.org", "any"],
    ["", "any.example.org", "any"],
  ];
  for (const [servername, shown, name] of table) {
    const host = servername || "other.example.net";
    const answer = await askSecurely(served.port, "/", { servername, host });
    assertEquals([servername, answer.shown], [servername, shown]);
    assertEquals([servername, await who(served.port, { servername, host })], [servername, name]);
  }
});

Deno.test("https: misdirected requests get 421, as the conformance suite has them, with HTTP/2 on", async () => {
  const cert = await certificate(["*.org", "*.wildcard.org"]);
  await using served = await secured([
    https("https", undefined, "cert"),
    https("https-with-hostname", "second-example.org", "cert"),
    https("https-with-wildcard-hostname", "*.wildcard.org", "cert"),
    https("https-with-hostname-matching-wildcard", "fourth-example.wildcard.org", "cert"),
  ], [
    tlsSecret("cert", cert),
    marked("1", "https", { hostnames: ["example.org"] }),
    marked("2", "https-with-hostname"),
    marked("3", "https-with-wildcard-hostname"),
    marked("4", "https-with-hostname-matching-wildcard"),
  ]);
  const table: readonly (readonly [servername: string, host: string, answer: string | number])[] = [
    ["example.org", "example.org", "1"],
    ["example.org", "second-example.org", 421],
    ["example.org", "unknown-example.org", 404],
    ["second-example.org", "second-example.org", "2"],
    ["second-example.org", "example.org", 421],
    ["second-example.org", "unknown-example.org", 421],
    ["third-example.wildcard.org", "third-example.wildcard.org", "3"],
    ["third-example.wildcard.org", "fith-example.wildcard.org", "3"],
    ["third-example.wildcard.org", "fourth-example.wildcard.org", 421],
    ["third-example.wildcard.org", "second-example.org", 421],
    ["third-example.wildcard.org", "unknown-example.org", 421],
    ["fourth-example.wildcard.org", "fourth-example.wildcard.org", "4"],
    ["fourth-example.wildcard.org", "fith-example.wildcard.org", 421],
    ["unknown-example.org", "example.org", "1"],
    ["unknown-example.org", "unknown-example.org", 404],
  ];
  for (const [servername, host, answer] of table) {
    for (const http2 of [true, false]) {
      const got = await who(served.port, { servername, host, http2 });
      assertEquals([servername, host, http2, got], [servername, host, http2, answer]);
    }
    // A port in the Host changes nothing, and neither does its case.
    const spelt = await who(served.port, { servername, host: `${host.toUpperCase()}:443` });
    assertEquals([servername, host, spelt], [servername, host, answer]);
  }
  // On one connection, as a client does that takes a certificate for reason enough to reuse it.
  const [first, second] = await askOnOne(served.port, [
    { path: "/", host: "third.wildcard.org" },
    { path: "/", host: "fourth-example.wildcard.org" },
  ], { servername: "third.wildcard.org", http2: true });
  assertEquals([first?.status, second?.status], [200, 421]);
  for (const name of ["https", "https-with-hostname", "https-with-wildcard-hostname"]) {
    assertEquals(served.conditionsOf(name).OverlappingTLSConfig, "True OverlappingCertificates");
  }
});

Deno.test("https: a connection outlives the listener that it was made by, and is not misdirected for it", async () => {
  const any = https("any", undefined, "cert"), wild = https("wild", "*.example.com", "cert");
  await using served = await secured([any], [
    tlsSecret("cert", await certificate(["*.example.com", "*.example.org"])),
    marked("any", "any", { hostnames: ["*.example.com", "*.example.org"] }),
    marked("wild", "wild"),
  ]);
  const change = (generation: number, ...listeners: readonly Raw[]) => async () => {
    served.put(served.gatewayWith(listeners, generation));
    await served.changed();
  };
  const host = "foo.example.com", other = "foo.example.org", path = "/";
  const told = (answers: Awaited<ReturnType<typeof askOnOne>>) =>
    answers.map(({ status, body }) => status === 200 ? (JSON.parse(body) as Echo).headers.route : status);
  const toWild = { path, host, before: change(2, any, wild) };
  assertEquals(
    told(await askOnOne(served.port, [{ path, host }, toWild], { servername: host, http2: true })),
    [
      "any",
      "wild",
    ],
  );
  // One that was made for another name is, whoever's it was.
  await change(3, any)();
  const again = { ...toWild, before: change(4, any, wild) };
  const first = { path, host: other };
  assertEquals(told(await askOnOne(served.port, [first, again], { servername: other, http2: true })), [
    "any",
    421,
  ]);
  const back = { path, host, before: change(5, any) };
  assertEquals(told(await askOnOne(served.port, [{ path, host }, back], { servername: host, http2: true })), [
    "wild",
    "any",
  ]);
});

Deno.test("https: a host that no listener has is not found, and without SNI there is nobody", async () => {
  await using served = await secured([https("a", "a.example.com", "a"), https("b", "b.example.com", "b")], [
    tlsSecret("a", await certificate(["a.example.com"])),
    tlsSecret("b", await certificate(["b.example.com"])),
    marked("a", "a"),
    marked("b", "b"),
  ]);
  assertEquals(await who(served.port, { servername: "a.example.com" }), "a");
  assertEquals(await who(served.port, { servername: "a.example.com", host: "c.example.com" }), 404);
  assertEquals(await who(served.port, { servername: "a.example.com", host: "b.example.com" }), 421);
  await assertRejects(() => who(served.port, { servername: "" }));
  await assertRejects(() => who(served.port, { servername: "c.example.com" }));
  for (const name of ["a", "b"]) assertEquals(served.conditionsOf(name).OverlappingTLSConfig, undefined);
});

Deno.test("https: several certificates on a listener, by what the client asks for and can do", async () => {
  const { port, ...served } = await secured([https("https", undefined, "a", "a-rsa", "b")], [
    tlsSecret("a", await certificate(["a.example.com"], { commonName: "ECDSA" })),
    tlsSecret("a-rsa", await rsaCertificate("a.example.com", "RSA")),
    tlsSecret("b", await certificate(["b.example.com"])),
    marked("all", "https"),
  ]);
  await using _ = served;
  const [a, b] = ["a.example.com", "b.example.com"] as const;
  const ecdsa = "ECDHE-ECDSA-AES128-GCM-SHA256", rsa = "ECDHE-RSA-AES128-GCM-SHA256";
  assertEquals(await shownTo({ port, suite: ecdsa, servername: a }), "ECDSA");
  assertEquals(await shownTo({ port, suite: rsa, servername: a }), "RSA");
  assertEquals(await shownTo({ port, suite: ecdsa, servername: b }), b);
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    assertEquals(
      (await askSecurely(port, "/", { servername: a, maxVersion })).shown,
      "ECDSA",
      "if both will do",
    );
    assertEquals((await askSecurely(port, "/", { servername: b, maxVersion })).shown, b);
  }
});

Deno.test("https: redirects stay on https and its port goes without saying", async () => {
  const redirect = (path: string, requestRedirect: Raw) => ({
    ...to("app", path),
    backendRefs: [],
    filters: [{ type: "RequestRedirect", requestRedirect }],
  });
  await using served = await secured([https("https", undefined, "cert")], [
    tlsSecret("cert", await certificate(["www.example.com"])),
    route("a", {
      ...on("https"),
      rules: [
        redirect("/host", { hostname: "example.org", port: 443 }),
        redirect("/http", { scheme: "http" }),
        redirect("/here", { path: { type: "ReplaceFullPath", replaceFullPath: "/new" } }),
      ],
    }),
  ]);
  const location = async (path: string) => {
    const host = `www.example.com:${served.port}`;
    return (await askSecurely(served.port, path, { host })).headers.location;
  };
  assertEquals(await location("/host"), "https://example.org/host");
  assertEquals(await location("/here"), `https://www.example.com:${served.port}/new`);
  assertEquals((await location("/http"))?.startsWith("http://www.example.com"), true);
});

Deno.test("https: a renewed certificate is sent alone, and connections live on", async () => {
  const [one, two, other] = await Promise.all([
    certificate(["www.example.com"], { commonName: "first" }),
    certificate(["www.example.com"], { commonName: "second" }),
    certificate(["other.example.com"]),
  ]);
  await using served = await secured(
    [https("https", undefined, "cert"), https("other", "other.example.com", "other")],
    [tlsSecret("cert", one), tlsSecret("other", other), marked("a", "https")],
  );
  assertEquals((await askSecurely(served.port, "/")).shown, "first");
  const { responses } = served.rig.pushed, before = served.rig.events.length;
  served.put(tlsSecret("cert", two));
  await served.changed();
  assertEquals((await askSecurely(served.port, "/")).shown, "second");
  assertEquals(served.rig.pushed.responses - responses, 1);
  const acked = served.rig.events.slice(before).flatMap((event) => "id" in event ? [event.id] : []);
  assertEquals(acked, ["secret:default/cert"]);
  // One that nobody refers to is of no interest.
  served.put(tlsSecret("unused", one));
  await served.changed();
  assertEquals(served.rig.pushed.responses - responses, 1);
});

Deno.test("https: listeners and certificates come and go; an HTTP listener next to them does not notice", async () => {
  const [a, b] = await Promise.all([certificate(["a.example.com"]), certificate(["b.example.com"])]);
  const listeners = [https("a", "a.example.com", "a"), https("b", "b.example.com", "b")];
  await using served = await secured(listeners, [tlsSecret("a", a), marked("a", "a"), marked("b", "b")]);
  assertEquals(await who(served.port, { servername: "a.example.com" }), "a");
  await assertRejects(() => who(served.port, { servername: "b.example.com" }));
  assertEquals(served.conditionsOf("b").ResolvedRefs, "False InvalidCertificateRef");
  assertEquals(served.conditionsOf("b").Programmed, "False Invalid");

  served.put(tlsSecret("b", b));
  await served.changed();
  await served.rig.until("b is served", () => served.conditionsOf("b").Programmed === "True Programmed");
  assertEquals(await who(served.port, { servername: "b.example.com" }), "b");

  served.put(served.gatewayWith(listeners.slice(1), 2));
  await served.changed();
  await assertRejects(() => who(served.port, { servername: "a.example.com" }));
  assertEquals(await who(served.port, { servername: "b.example.com" }), "b");

  served.world.objects.Secret.delete("default/b");
  await served.changed();
  await assertRejects(() => who(served.port, { servername: "b.example.com" }));
});

Deno.test("https: what belongs to a listener without a certificate does not fall to a wider one", async () => {
  await using served = await secured([
    https("wild", "*.example.com", "cert"),
    https("bare", "bare.example.com", "missing"),
  ], [
    tlsSecret("cert", await certificate(["*.example.com"])),
    marked("wild", "wild"),
    marked("bare", "bare"),
  ]);
  assertEquals(await who(served.port, { servername: "www.example.com" }), "wild");
  assertEquals(await who(served.port, { servername: "bare.example.com" }), 421);
  assertEquals(await who(served.port, { servername: "www.example.com", host: "bare.example.com" }), 421);
});

Deno.test("https: a grant opens a Secret of another namespace, and its end closes it", async () => {
  const pair = await certificate(["www.example.com"]);
  const listener = https("https", undefined);
  listener.tls.certificateRefs = [{ name: "cert", namespace: "other" }];
  const grant = stored({
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "grant", namespace: "other" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "default" }],
      to: [{ group: "", kind: "Secret", name: "cert" }],
    },
  });
  await using served = await secured([listener], [
    tlsSecret("cert", pair, { namespace: "other" }),
    marked("a", "https"),
    grant,
  ]);
  assertEquals(await who(served.port, {}), "a");
  served.world.objects.ReferenceGrant.delete("other/grant");
  await served.changed();
  await assertRejects(() => who(served.port, {}));
  assertEquals(served.conditionsOf("https").ResolvedRefs, "False RefNotPermitted");
});

Deno.test("https: a certificate that Envoy refuses harms nobody else, and is served once it is mended", async () => {
  const [good, bad, unrelated] = await Promise.all(
    ["good.example.com", "bad.example.com", "unrelated.example.com"].map((name) => certificate([name])),
  );
  const broken = { certificate: bad!.certificate, key: unrelated!.key };
  await using served = await secured([
    https("good", "good.example.com", "good"),
    https("bad", "bad.example.com", "bad"),
  ], [
    tlsSecret("good", good!),
    tlsSecret("bad", broken),
    marked("good", "good"),
    marked("bad", "bad"),
    // As if Envoy were stricter than we know.
  ], { config: { ...defaultConfig, validate: false } });
  const { rig } = served;
  await rig.until("bad is refused", () => served.conditionsOf("bad").Programmed === "False Invalid");
  await rig.until("good is served", () => served.conditionsOf("good").Programmed === "True Programmed");
  assertEquals(await who(served.port, { servername: "good.example.com" }), "good");
  await assertRejects(() => who(served.port, { servername: "bad.example.com" }));
  assertMatch(messageOf(served.statuses.get("Gateway/default/gw"), "bad"), /KEY_VALUES_MISMATCH/);

  served.put(tlsSecret("bad", bad!));
  await served.changed();
  await rig.until("bad is served", () => served.conditionsOf("bad").Programmed === "True Programmed");
  assertEquals(await who(served.port, { servername: "bad.example.com" }), "bad");
  // The same again, in a listener that is in use: the certificate that Envoy has goes on being shown to nobody.
  served.put(tlsSecret("bad", broken));
  rig.settle();
  await rig.until("bad is refused", () => served.conditionsOf("bad").Programmed === "False Invalid");
  assertEquals(await who(served.port, { servername: "good.example.com" }), "good");
});

function messageOf(status: DesiredStatus | undefined, listener: string): string {
  if (status?.kind !== "Gateway") return "";
  const found = status.listeners.find(({ name }) => name === listener);
  return found?.conditions.find(({ type }) => type === "Programmed")?.message ?? "";
}

Deno.test("https: next to http on another port", async () => {
  const port = freePort();
  await using served = await secured([
    https("https", undefined, "missing"),
    { name: "http", protocol: "HTTP", port },
  ], [marked("a", "http")]);
  assertEquals((await ask(port, "/")).status, 200);
  await assertRejects(() => who(served.port, {}));
});
