/**
 * What is wrong in itself, through a real Envoy: it says so and answers as it must, and its neighbour, which is asked
 * without a pause meanwhile, goes on answering.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { createAuthority, type KeyPair } from "../../controllers/runtime/pki.ts";
import { ask } from "../xds/support/http.ts";
import { askSecurely, type Secure, secureBackend } from "../xds/support/https.ts";
import { type Raw, route, service, stored, to } from "./cluster.ts";
import { conditionsOf, keepAsking } from "./neighbour.ts";
import { ca, certificate, https, policy, rawSecret, secured, tlsSecret, validity } from "./secured.ts";
import { any, filtered, parentRefs, serving } from "./serving.ts";
import { freePort } from "../support/free_port.ts";

const day = 24 * 3_600_000;

/** The status over TLS, or what stands for a connection that is refused. */
async function outcome(port: number, options: Secure): Promise<number | "refused"> {
  try {
    return (await askSecurely(port, "/", options)).status;
  } catch {
    return "refused";
  }
}

interface WrongCertificate {
  readonly name: string;
  readonly data: Raw;
  readonly outcome: 200 | "refused";
  /** What is said of it; nothing if it is fine. */
  readonly words?: string;
}

/** Eight ways to be wrong. Where it is a matter of time, the certificate is wrong as of tomorrow. */
async function wrongCertificates(host: string): Promise<readonly WrongCertificate[]> {
  const now = Date.now(), authority = await createAuthority({ commonName: "authority", ...validity });
  const [pair, other, short, late] = await Promise.all([
    certificate([host], {}, authority),
    certificate([host]),
    certificate([host], { notBefore: new Date(now - day), notAfter: new Date(now + day / 2) }),
    certificate([host], { notBefore: new Date(now + 2 * day), notAfter: new Date(now + 3 * day) }),
  ]);
  const of = (certificate: string, key: string) => ({ "tls.crt": btoa(certificate), "tls.key": btoa(key) });
  const whole = ({ certificate, key }: KeyPair) => of(certificate, key);
  const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey
    .export({ type: "pkcs8", format: "pem" }).toString();
  return [
    {
      name: "key mismatch",
      data: of(pair.certificate, other.key),
      outcome: "refused",
      words: "is not that of",
    },
    { name: "expired", data: whole(short), outcome: 200, words: "it expired on" },
    { name: "not yet valid", data: whole(late), outcome: 200, words: "it is not valid before" },
    { name: "empty", data: { "tls.crt": "", "tls.key": "" }, outcome: "refused", words: "tls.crt is empty" },
    { name: "no PEM", data: of("Hello", "Hello"), outcome: "refused", words: "holds no certificate in PEM" },
    {
      name: "chain reversed",
      data: of(authority.certificate + pair.certificate, pair.key),
      outcome: "refused",
      words: "tls.crt is in the wrong order",
    },
    { name: "EC parameters block", data: of(pair.certificate, parameters + pair.key), outcome: 200 },
    {
      name: "unsupported key",
      data: of(pair.certificate, weak),
      outcome: "refused",
      words: "its RSA key has 1024 bits",
    },
  ];
}

Deno.test("bad input: certificates in eight ways wrong", async () => {
  const good = "good.example.com", bad = "bad.example.com";
  const pair = await certificate([bad]);
  await using served = await secured([https("good", good, "good"), https("bad", bad, "bad")], [
    tlsSecret("good", await certificate([good])),
    tlsSecret("bad", pair),
    route("app", { parentRefs, rules: [to("app")] }),
  ]);
  served.world.time.set("now", Date.now() + day);
  const said = () => {
    const status = served.statuses.get("Gateway/default/gw");
    const found = status?.kind === "Gateway" && status.listeners.find(({ name }) => name === "bad");
    const resolved = found ? found.conditions.find(({ type }) => type === "ResolvedRefs") : undefined;
    return { resolved: `${resolved?.status} ${resolved?.reason}`, message: resolved?.message ?? "" };
  };
  await using neighbour = keepAsking(async () =>
    (await askSecurely(served.port, "/", { servername: good })).status
  );
  for (const { name, data, outcome: expected, words } of await wrongCertificates(bad)) {
    served.put(tlsSecret("bad", pair));
    await served.changed();
    assertEquals([name, await outcome(served.port, { servername: bad })], [name, 200], "before");
    served.put(rawSecret("bad", data));
    await served.changed();
    assertEquals([name, await outcome(served.port, { servername: bad })], [name, expected]);
    const { resolved, message } = said();
    assertEquals([name, resolved], [name, words ? "False InvalidCertificateRef" : "True ResolvedRefs"]);
    assertStringIncludes(message, words ?? "");
    await neighbour.again();
  }
});

Deno.test("bad input: bundles of authorities that lose what was in them", async () => {
  const authority = await createAuthority({ commonName: "inner", ...validity });
  const pair = await certificate(["inner.example.com"], {}, authority);
  await using backend = await secureBackend("inner", pair, authority.certificate);
  const bundle = (name: string, data: Raw) =>
    stored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
  const trusting = (name: string) => policy(name, [name], { caCertificateRefs: [ca(name)] });
  const fine = { "ca.crt": authority.certificate };
  await using served = await secured([{ name: "http", protocol: "HTTP" }], [
    route("r", { parentRefs, rules: [to("good", "/good"), to("bad", "/bad")] }),
    ...[trusting("good"), trusting("bad"), bundle("good", fine), bundle("bad", fine)],
  ], { endpoints: { good: backend.port, bad: backend.port } });
  const status = async (path: string) => (await ask(served.port, path)).status;
  await using neighbour = keepAsking(() => status("/good"));
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const data of [{ "ca.crt": "" }, { "ca.crt": "rubbish" }, { "ca.crt": broken }, { other: "x" }]) {
    served.put(bundle("bad", fine));
    await served.changed();
    assertEquals(await status("/bad"), 200, "before");
    served.put(bundle("bad", data));
    await served.changed();
    assertEquals(await status("/bad"), 503, JSON.stringify(data));
    const told = served.statuses.get("BackendTLSPolicy/default/bad");
    assert(told?.kind === "BackendTLSPolicy");
    assertEquals(
      told.ancestors.map(({ conditions }) => conditions.map(({ status, reason }) => `${status} ${reason}`)),
      [["False NoValidCACertificate", "False InvalidCACertificateRef", "False Invalid"]],
    );
    await neighbour.again();
  }
});

Deno.test("bad input: bundles of authorities of clients that lose what was in them", async () => {
  const authority = await createAuthority({ commonName: "clients", ...validity }), port = freePort();
  const [server, friend] = await Promise.all([
    certificate(["www.example.com"]),
    certificate(["friend"], {}, authority),
  ]);
  const bundle = (name: string, data: Raw) =>
    stored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
  const trusting = (name: string) => ({ validation: { caCertificateRefs: [ca(name)] } });
  const whole = { "ca.crt": authority.certificate };
  await using served = await secured(
    [https("good", undefined, "cert"), { ...https("bad", undefined, "cert"), port }],
    [
      tlsSecret("cert", server),
      route("r", { parentRefs, rules: [to("app")] }),
      ...[bundle("good", whole), bundle("bad", whole)],
    ],
    { spec: { tls: { frontend: { default: trusting("good"), perPort: [{ port, tls: trusting("bad") }] } } } },
  );
  await using neighbour = keepAsking(async () =>
    (await askSecurely(served.port, "/", { certificate: friend })).status
  );
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const data of [{ "ca.crt": "" }, { "ca.crt": "rubbish" }, { "ca.crt": broken }, { other: "x" }, {}]) {
    const title = JSON.stringify(data);
    served.put(bundle("bad", whole));
    await served.changed();
    assertEquals([title, await outcome(port, { certificate: friend }), await outcome(port, {})], [
      title,
      200,
      "refused",
    ], "before");
    served.put(bundle("bad", data));
    await served.changed();
    assertEquals([title, await outcome(port, { certificate: friend }), await outcome(port, {})], [
      title,
      "refused",
      "refused",
    ]);
    const { Accepted, ResolvedRefs, Programmed } = served.conditionsOf("bad");
    assertEquals([title, Accepted, ResolvedRefs, Programmed], [
      title,
      "False NoValidCACertificate",
      "False InvalidCACertificateRef",
      "False Invalid",
    ]);
    assertEquals(served.conditionsOf("good").Programmed, "True Programmed");
    await neighbour.again();
  }
});

Deno.test("bad input: a grant that is revoked", async () => {
  const grant = stored({
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "grant", namespace: "other" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "default" }],
      to: [{ group: "", kind: "Service" }],
    },
  });
  const there = { ...service("there"), metadata: { ...service("there").metadata, namespace: "other" } };
  const rule = { ...to("there", "/there"), backendRefs: [{ name: "there", namespace: "other", port: 80 }] };
  await using served = await serving(any, [
    route("a", { parentRefs, rules: [rule, to("app", "/fine")] }),
    ...[grant, there],
  ]);
  const status = async (path: string) => (await served.ask(path)).status;
  await using neighbour = keepAsking(() => status("/fine"));
  for (let i = 0; i < 2; i++) {
    assertEquals(await status("/there"), 503, "it has no endpoints");
    served.world.objects.ReferenceGrant.delete("other/grant");
    served.rig.settle();
    await served.rig.synced();
    assertEquals(await status("/there"), 500, "revoked");
    assert(
      conditionsOf(served.statuses.get("HTTPRoute/default/a")).short.includes(
        "ResolvedRefs False RefNotPermitted",
      ),
    );
    await neighbour.again();
    served.put(grant);
    served.rig.settle();
    await served.rig.synced();
  }
});

interface WrongRoute {
  readonly name: string;
  readonly spec: Raw;
  /** The answers of paths, and where redirects lead. */
  readonly answers: { readonly [path: string]: number | string };
  /** A condition that it has. */
  readonly condition: string;
  /** What it says. */
  readonly words?: string;
}

const path = (type: string, value: string) => [{ path: { type, value } }];
const accepted = "Accepted True Accepted", dropped = "PartiallyInvalid True UnsupportedValue";

/** As many rules as a route can have, with as many matches as a rule can have, which is more than the API takes of both. */
const mostMatches = Array.from({ length: 16 }, (_, rule) => ({
  ...to("app"),
  matches: Array.from({ length: 64 }, (_, match) => ({
    path: { type: "PathPrefix", value: `/r${rule}/m${match}` },
    headers: [{ name: "host", type: "RegularExpression", value: `[a-z.]{${match < 48 ? 1 : 20},}` }],
  })),
}));

const framing = (change: "set" | "add", name: string, value: string) => ({ [change]: [{ name, value }] });

const redirect = (from: string, path: Raw) => ({
  ...filtered(from, { type: "RequestRedirect", requestRedirect: { path } }),
  backendRefs: [],
});

const wrongRoutes: readonly WrongRoute[] = [
  {
    name: "a regular expression of 10,000 characters",
    spec: { rules: [{ ...to("app"), matches: path("RegularExpression", "/" + "[a]".repeat(3333)) }] },
    answers: { ["/" + "a".repeat(3333)]: 200, ["/" + "a".repeat(3332)]: 404 },
    condition: accepted,
  },
  {
    name: "a regular expression of 10,000 characters that is none",
    spec: {
      rules: [
        { ...to("app"), matches: path("RegularExpression", "(" + "a".repeat(9_999)) },
        to("app", "/bad"),
      ],
    },
    answers: { "/bad": 200 },
    condition: dropped,
    words: "RE2 refuses the regular expression",
  },
  {
    name: "regular expressions that are too large together",
    spec: {
      rules: ["/one", "/two", "/three"].map((value, i) => ({
        ...to("app"),
        matches: [{
          path: { type: "PathPrefix", value },
          headers: [{ name: "host", type: "RegularExpression", value: `www.*${"x?".repeat(2_000 + i)}` }],
        }],
      })),
    },
    answers: { "/one": 200, "/two": 200, "/three": 500 },
    condition: dropped,
    words: "more than some 10000 instructions of regular expressions in one route",
  },
  {
    name: "16 rules with 64 matches each",
    spec: { rules: mostMatches },
    answers: { "/r0/m0": 200, "/r15/m0": 200, "/r7/m9": 200, "/r15/m63": 404, "/r16/m0": 404 },
    condition: accepted,
  },
  {
    name: "names of headers that are none",
    spec: {
      rules: [
        filtered("/bad", {
          type: "RequestHeaderModifier",
          requestHeaderModifier: { set: [{ name: "a b", value: "v" }] },
        }),
        to("app", "/next"),
      ],
    },
    answers: { "/bad": 500, "/next": 200 },
    condition: dropped,
    words: `"a b" is not a header name`,
  },
  ...[
    { type: "ResponseHeaderModifier", responseHeaderModifier: framing("set", "Content-Length", "5") },
    {
      type: "ResponseHeaderModifier",
      responseHeaderModifier: framing("add", "Transfer-Encoding", "chunked"),
    },
    { type: "RequestHeaderModifier", requestHeaderModifier: framing("add", "content-length", "200") },
    { type: "RequestHeaderModifier", requestHeaderModifier: framing("set", "transfer-encoding", "chunked") },
    { type: "RequestHeaderModifier", requestHeaderModifier: framing("set", "Upgrade", "websocket") },
  ].map((filter): WrongRoute => ({
    name: `a header that moves the end of a message: ${JSON.stringify(filter)}`,
    spec: { rules: [filtered("/bad", filter), to("app", "/next")] },
    answers: { "/bad": 500, "/next": 200 },
    condition: dropped,
    words: "is for proxies alone to set",
  })),
  {
    name: "a session in a header that moves the end of a message",
    spec: {
      rules: [
        {
          ...to("app", "/bad"),
          sessionPersistence: { type: "Header", header: { name: "Content-Length" } },
        },
        to("app", "/next"),
      ],
    },
    answers: { "/bad": 500, "/next": 200 },
    condition: dropped,
    words: "is for proxies alone to set",
  },
  {
    name: "mirrors to nowhere",
    spec: {
      rules: [{
        ...to("app", "/bad"),
        filters: ["missing", "empty"].map((name) => ({
          type: "RequestMirror",
          requestMirror: { backendRef: { name, port: 80 } },
        })),
      }],
    },
    answers: { "/bad": 200 },
    condition: "ResolvedRefs False BackendNotFound",
    words: `Cannot resolve backend "default/missing"`,
  },
  {
    name: "a redirect to itself",
    spec: { rules: [redirect("/bad", { type: "ReplaceFullPath", replaceFullPath: "/bad" })] },
    answers: { "/bad": "302 /bad" },
    condition: accepted,
  },
  {
    name: "redirects of two routes to each other",
    spec: { rules: [redirect("/bad", { type: "ReplaceFullPath", replaceFullPath: "/there" })] },
    answers: { "/bad": "302 /there", "/there": "302 /bad" },
    condition: accepted,
  },
  {
    name: "a redirect that leads further each time",
    spec: { rules: [redirect("/bad", { type: "ReplacePrefixMatch", replacePrefixMatch: "/bad/more" })] },
    answers: {
      "/bad": "302 /bad/more",
      "/bad/more": "302 /bad/more/more",
      [`/bad${"/more".repeat(1000)}`]: `302 /bad${"/more".repeat(1001)}`,
    },
    condition: accepted,
  },
  {
    name: "hostnames that are none, next to one",
    spec: { hostnames: ["a\nb", "a.*.b", "a:80", "www.example.com"], rules: [to("app", "/bad")] },
    answers: { "/bad": 200 },
    condition: accepted,
  },
  {
    name: "hostnames that are none",
    spec: { hostnames: ["a\nb", "a.*.b", "a:80"], rules: [to("app", "/bad")] },
    answers: { "/bad": 404 },
    condition: "Accepted False NoMatchingListenerHostname",
    words: `spec.hostnames[0]: "a\nb" is not a hostname`,
  },
];

Deno.test("bad input: routes that are wrong, each in its way", async () => {
  await using served = await serving(any, [
    route("neighbour", {
      parentRefs,
      rules: [
        to("app", "/fine"),
        redirect("/there", { type: "ReplaceFullPath", replaceFullPath: "/bad" }),
      ],
    }),
    service("empty"),
  ]);
  await using neighbour = keepAsking(async () => (await served.ask("/fine")).status);
  for (const [i, { name, spec, answers, condition, words }] of wrongRoutes.entries()) {
    served.put(route("bad", { parentRefs, ...spec }, { generation: i + 1 }));
    served.rig.settle();
    await served.rig.synced();
    for (const [path, expected] of Object.entries(answers)) {
      const { status, headers } = await served.ask(path);
      const where = headers.location ? new URL(String(headers.location)).pathname : undefined;
      assertEquals([name, path.slice(0, 20), where ? `${status} ${where}` : status], [
        name,
        path.slice(0, 20),
        expected,
      ]);
    }
    const told = conditionsOf(served.statuses.get("HTTPRoute/default/bad"));
    assert(told.short.includes(condition), `${name}: ${told.short}`);
    assertStringIncludes(told.words, words ?? "");
    assert(told.words.length < 1000, `${name}: ${told.words.length} characters`);
    await neighbour.again();
  }
});
