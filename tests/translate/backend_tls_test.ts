/**
 * BackendTLSPolicy and client certificates for backends, under traffic. What is expected comes from GEP-1897, GEP-713 and
 * the conformance suite.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createAuthority, type KeyPair } from "../../controllers/runtime/pki.ts";
import type { XdsOptions } from "../../xds/build/mod.ts";
import { ask } from "../xds/support/http.ts";
import { secureBackend, type SecureEcho } from "../xds/support/https.ts";
import { type Raw, route, service, to } from "./cluster.ts";
import { ca, certificate, configMap, policy, secured, tlsSecret, validity } from "./secured.ts";

interface Setup {
  readonly objects: readonly Raw[];
  readonly spec?: Raw;
  readonly xds?: XdsOptions;
  /** Names of Services, whose backends are one and the same. */
  readonly services: readonly string[];
  readonly pair: KeyPair;
  readonly authority: KeyPair;
}

/** HTTP outside, TLS inside: each Service answers under its own name as the path. */
async function serving({ objects, spec, xds, services, pair, authority }: Setup) {
  const stack = new AsyncDisposableStack();
  const backend = stack.use(await secureBackend("inner", pair, authority.certificate));
  const served = stack.use(
    await secured([{ name: "http", protocol: "HTTP" }], [
      route("r", { parentRefs: [{ name: "gw" }], rules: services.map((name) => to(name, `/${name}`)) }),
      configMap("ca", authority.certificate),
      ...objects,
    ], {
      spec,
      ...xds && { xds },
      endpoints: Object.fromEntries(services.map((name) => [name, backend.port])),
    }),
  );
  return {
    ...served,
    /** What the backend says, or the status. */
    get: async (service: string): Promise<SecureEcho | number> => {
      const { status, body } = await ask(served.port, `/${service}`);
      return status === 200 ? JSON.parse(body) : status;
    },
    policyStatus: (name: string): { readonly [gateway: string]: readonly string[] } => {
      const status = served.statuses.get(`BackendTLSPolicy/default/${name}`);
      if (status?.kind !== "BackendTLSPolicy") return {};
      return Object.fromEntries(
        status.ancestors.map(({ ancestorRef, conditions }) => [
          `${ancestorRef.namespace}/${ancestorRef.name}`,
          conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
        ]),
      );
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function inner(names = ["inner.example.com"], uris: readonly string[] = []) {
  const authority = await createAuthority({ commonName: "inner authority", ...validity });
  return { authority, pair: await certificate(names, { uris }, authority) };
}

const fine = ["Accepted True Accepted", "ResolvedRefs True ResolvedRefs", "Programmed True Programmed"];

Deno.test("backend TLS: the name is asked for and has to be in the certificate, the authority has to be trusted", async () => {
  const { pair, authority } = await inner();
  const stranger = await createAuthority({ commonName: "stranger", ...validity });
  await using served = await serving({
    pair,
    authority,
    services: ["good", "name", "untrusted", "plain"],
    objects: [
      configMap("stranger", stranger.certificate),
      policy("good", ["good"], {}),
      policy("name", ["name"], { hostname: "other.example.com" }),
      policy("untrusted", ["untrusted"], { caCertificateRefs: [ca("stranger")] }),
    ],
  });
  const answer = await served.get("good");
  assert(typeof answer !== "number", String(answer));
  assertEquals([answer.servername, answer.host, answer.client], ["inner.example.com", "www.example.com", ""]);
  assertEquals(await served.get("name"), 503);
  assertEquals(await served.get("untrusted"), 503);
  assertEquals(
    typeof await served.get("plain"),
    "number",
    "without a policy it is plain text, which is no TLS",
  );
  for (const name of ["good", "name", "untrusted"]) {
    assertEquals(served.policyStatus(name), { "default/gw": fine });
  }
});

Deno.test("backend TLS: subject names stand in place of the hostname, and one of them is enough", async () => {
  const { pair, authority } = await inner(["abc.example.com", "*.wild.example.com"], ["spiffe://mesh/ns/a"]);
  const dns = (hostname: string) => ({ type: "Hostname", hostname });
  const uri = (uri: string) => ({ type: "URI", uri });
  const table: readonly (readonly [name: string, names: readonly Raw[], works: boolean])[] = [
    ["dns", [dns("abc.example.com")], true],
    ["dns-other", [dns("other.example.com")], false],
    ["uri", [uri("spiffe://mesh/ns/a")], true],
    ["uri-other", [uri("spiffe://mesh/ns/b")], false],
    ["uri-prefix", [uri("spiffe://mesh/ns")], false],
    ["one-of", [dns("other.example.com"), uri("spiffe://mesh/ns/a")], true],
    ["none-of", [dns("other.example.com"), uri("spiffe://mesh/ns/b")], false],
    ["in-wildcard", [dns("x.wild.example.com")], true],
    ["wildcard", [dns("*.example.com")], true],
    ["wildcard-other", [dns("*.example.org")], false],
  ];
  await using served = await serving({
    pair,
    authority,
    services: table.map(([name]) => name),
    objects: table.map(([name, subjectAltNames]) =>
      policy(name, [name], { hostname: "not.in.the.certificate", subjectAltNames })
    ),
  });
  for (const [name, , works] of table) {
    const answer = await served.get(name);
    assertEquals([name, typeof answer === "number" ? answer : answer.servername], [
      name,
      works ? "not.in.the.certificate" : 503,
    ]);
  }
});

Deno.test("backend TLS: authorities that cannot be used cut the backend off, and are told of", async () => {
  const { pair, authority } = await inner();
  await using served = await serving({
    pair,
    authority,
    services: ["missing", "rubbish", "kind", "partly", "unknown", "app"],
    objects: [
      configMap("rubbish", "rubbish"),
      policy("missing", ["missing"], { caCertificateRefs: [ca("nope")] }),
      policy("rubbish", ["rubbish"], { caCertificateRefs: [ca("rubbish")] }),
      policy("kind", ["kind"], { caCertificateRefs: [ca("ca", "Secret")] }),
      policy("partly", ["partly"], { caCertificateRefs: [ca("nope"), ca("ca")] }),
      policy("unknown", ["unknown"], { wellKnownCACertificates: "example.com/known" }),
    ],
  });
  const refused = (reason: string) => [
    "Accepted False NoValidCACertificate",
    `ResolvedRefs False ${reason}`,
    "Programmed False Invalid",
  ];
  for (
    const [name, reason] of [
      ["missing", "InvalidCACertificateRef"],
      ["rubbish", "InvalidCACertificateRef"],
      ["kind", "InvalidKind"],
    ] as const
  ) {
    assertEquals([name, await served.get(name)], [name, 503]);
    assertEquals(served.policyStatus(name), { "default/gw": refused(reason) });
  }
  assertEquals(await served.get("unknown"), 503);
  assertEquals(served.policyStatus("unknown")["default/gw"]?.slice(0, 2), [
    "Accepted False Invalid",
    "ResolvedRefs True ResolvedRefs",
  ]);
  assertEquals(typeof await served.get("partly"), "object");
  assertEquals(served.policyStatus("partly")["default/gw"], [
    "Accepted True Accepted",
    "ResolvedRefs False InvalidCACertificateRef",
    "Programmed True Programmed",
  ]);
  // What is wrong is put right.
  served.put(configMap("rubbish", authority.certificate));
  await served.changed();
  assertEquals(typeof await served.get("rubbish"), "object");
  assertEquals(served.policyStatus("rubbish"), { "default/gw": fine });
});

Deno.test("backend TLS: the authorities of the proxy's system, where there are any", async () => {
  const { pair, authority } = await inner();
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, authority.certificate);
    const setup = {
      pair,
      authority,
      services: ["known", "app"],
      objects: [policy("known", ["known"], { wellKnownCACertificates: "System" })],
    };
    await using served = await serving({ ...setup, xds: { systemAuthorities: file } });
    assertEquals(typeof await served.get("known"), "object");
    assertEquals(served.policyStatus("known"), { "default/gw": fine });
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("backend TLS: where the proxy has no such file, every rule hears of it, with retries and without", async () => {
  const mirror = { type: "RequestMirror", requestMirror: { backendRef: { name: "known", port: 80 } } };
  const retry = { attempts: 1 };
  await using served = await secured([{ name: "http", protocol: "HTTP" }], [
    route("r", {
      parentRefs: [{ name: "gw" }],
      rules: [
        { ...to("known", "/retried"), retry },
        to("known", "/plain"),
        { ...to("app", "/mirrored"), retry, filters: [mirror] },
        { ...to("known", "/both"), retry, filters: [mirror] },
        to("app", "/fine"),
      ],
    }),
    policy("known", ["known"], { wellKnownCACertificates: "System" }),
  ], { xds: { systemAuthorities: "/does/not/exist" }, endpoints: { known: 1 } });
  const answers: [path: string, status: number][] = [];
  for (const path of ["/retried", "/plain", "/mirrored", "/both", "/fine"]) {
    answers.push([path, (await ask(served.port, path)).status]);
  }
  assertEquals(Object.fromEntries(answers), {
    "/retried": 500,
    "/plain": 500,
    "/mirrored": 200,
    "/both": 500,
    "/fine": 200,
  });
  const status = served.statuses.get("HTTPRoute/default/r");
  const programmed = status?.kind === "HTTPRoute"
    ? status.parents[0]?.conditions.find(({ type }) => type === "Programmed")
    : undefined;
  assertEquals(programmed?.status, "False");
  const told = programmed?.message.match(/spec\.rules\[\d\]: backend "default\/known" refused/g) ?? [];
  assertEquals([...new Set(told)].map((text) => text.slice(11, 12)).sort(), ["0", "1", "2", "3"]);
  assertEquals(told.length, 4, programmed?.message);
});

Deno.test("backend TLS: authorities change under way, and connections that were made with the old ones are not used again", async () => {
  const { pair, authority } = await inner();
  const stranger = await createAuthority({ commonName: "stranger", ...validity });
  await using served = await serving({
    pair,
    authority,
    services: ["good"],
    objects: [policy("good", ["good"], {})],
  });
  assertEquals(typeof await served.get("good"), "object");
  const before = served.rig.events.length;
  served.put(configMap("ca", stranger.certificate));
  await served.changed();
  const acked = served.rig.events.slice(before).flatMap((event) => "id" in event ? [event.id] : []);
  assertEquals([...new Set(acked.map((id) => id.replace(/@.*/, "")))].sort(), [
    "cluster:default/good/80/good",
    "endpoints:default/good/80/good",
    "secret:default/ca/ca.crt",
  ]);
  assertEquals(await served.get("good"), 503);
  served.put(configMap("ca", stranger.certificate + authority.certificate));
  await served.changed();
  assertEquals(typeof await served.get("good"), "object");
});

Deno.test("backend TLS: the oldest policy decides, one for a port goes before one for all ports", async () => {
  const { pair, authority } = await inner(["old.example.com", "all.example.com"]);
  const two = { ...service("two"), spec: { ports: [{ name: "a", port: 80 }, { name: "b", port: 81 }] } };
  const at = (day: number) => ({ creationTimestamp: `2026-01-0${day}T00:00:00Z` });
  await using served = await serving({
    pair,
    authority,
    services: ["one", "two"],
    objects: [
      policy("young", ["one"], { hostname: "young.example.com" }, at(2)),
      policy("old", ["one"], { hostname: "old.example.com" }, at(1)),
      policy("all", ["two"], { hostname: "all.example.com" }, at(1)),
      policy("section", [{ name: "two", sectionName: "a" }], { hostname: "old.example.com" }, at(2)),
      policy("nowhere", [{ name: "one", sectionName: "nope" }], {}, at(1)),
      policy("b", ["same"], { hostname: "b.example.com" }, at(1)),
      policy("a", ["same"], { hostname: "a.example.com" }, at(1)),
    ],
  });
  served.put(two);
  served.put({ ...(served.world.objects.EndpointSlice.get("default/two-1") as Raw) });
  await served.changed();
  const one = await served.get("one");
  assert(typeof one !== "number", String(one));
  assertEquals(one.servername, "old.example.com");
  assertEquals(served.policyStatus("old"), { "default/gw": fine });
  assertEquals(served.policyStatus("young"), {
    "default/gw": ["Accepted False Conflicted", "ResolvedRefs True ResolvedRefs", "Programmed False Invalid"],
  });
  assertEquals(served.policyStatus("section")["default/gw"]?.[0], "Accepted True Accepted");
  assertEquals(served.policyStatus("nowhere")["default/gw"]?.[0], "Accepted False TargetNotFound");
  // Nobody uses this Service, so there is nobody to tell about it.
  assertEquals([served.policyStatus("a"), served.policyStatus("b")], [{}, {}]);
  // The loser takes over once the winner is gone.
  served.world.objects.BackendTLSPolicy.delete("default/old");
  await served.changed();
  assertEquals(await served.get("one"), 503);
  await served.rig.until(
    "young is programmed",
    () => served.policyStatus("young")["default/gw"]?.[2] === fine[2],
  );
  assertEquals(served.policyStatus("young"), { "default/gw": fine });
});

Deno.test("backend TLS: HTTP/2 where the Service says so", async () => {
  const { pair, authority } = await inner();
  await using served = await serving({
    pair,
    authority,
    services: ["h2"],
    objects: [policy("h2", ["h2"], {})],
  });
  served.put({
    ...service("h2"),
    spec: { ports: [{ name: "http", port: 80, appProtocol: "kubernetes.io/h2c" }] },
  });
  await served.changed();
  const answer = await served.get("h2");
  assert(typeof answer !== "number", String(answer));
  assertMatch(answer.protocol, /^2/);
});

Deno.test("backend TLS: the Gateway shows its certificate where it has one, renews it, and says if it is no good", async () => {
  const { pair, authority } = await inner();
  const [first, second] = await Promise.all(
    ["first", "second"].map((name) => certificate([name], {}, authority)),
  );
  await using served = await serving({
    pair,
    authority,
    services: ["good", "app"],
    spec: { tls: { backend: { clientCertificateRef: { group: "", kind: "Secret", name: "client" } } } },
    objects: [policy("good", ["good"], {}), tlsSecret("client", first!)],
  });
  const client = async () => {
    const answer = await served.get("good");
    return typeof answer === "number" ? answer : answer.client;
  };
  const resolved = () => {
    const status = served.statuses.get("Gateway/default/gw");
    const found = status?.kind === "Gateway" && status.conditions.find(({ type }) => type === "ResolvedRefs");
    return found ? `${found.status} ${found.reason}` : undefined;
  };
  assertEquals([await client(), resolved()], ["first", "True ResolvedRefs"]);
  const { responses } = served.rig.pushed;
  served.put(tlsSecret("client", second!));
  await served.changed();
  assertEquals(served.rig.pushed.responses - responses, 1);
  // Connections that are open stay as they are: those to come show the new one.
  served.put({ ...tlsSecret("client", second!), data: { "tls.crt": "", "tls.key": "" } });
  await served.changed();
  assertEquals(resolved(), "False InvalidClientCertificateRef");
  assertEquals(await client(), "", "it works without, if the backend lets it");
  served.put(tlsSecret("client", second!));
  await served.changed();
  assertEquals([await client(), resolved()], ["second", "True ResolvedRefs"]);
});
