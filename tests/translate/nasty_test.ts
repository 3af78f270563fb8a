/**
 * Values that no schema has looked at: whatever passes translation is to pass Envoy.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Table } from "../../controllers/runtime/graph.ts";
import { createAuthority } from "../../controllers/runtime/pki.ts";
import { translate } from "../../controllers/translate/batch.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import { concatenated, sizeOf } from "../../xds/build/pack.ts";
import type { XdsResource } from "../../xds/types.ts";
import { Resource } from "../../xds/wire/envoy/discovery.ts";
import { decode } from "../../xds/wire/mod.ts";
import { assertNoFailures } from "../golden/harness.ts";
import { refusal, staticConfiguration } from "../golden/validate.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";
import { type Random, random } from "../support/random.ts";
import { policy, validity } from "./secured.ts";
import { gateway, http, type Raw, route, service, small, stored, to } from "./cluster.ts";

/** Texts that some part of a proxy could stumble over. */
const texts = [
  "",
  " ",
  "/",
  "//",
  "/a/",
  "/a?b#c",
  "?",
  "#",
  "a",
  "*",
  "\\",
  "\\1",
  "$1",
  "%",
  "%%",
  "%REQ(:path)%",
  "(",
  "[",
  "a{1001}",
  "(a{100}){100}",
  "\\pL{1000}",
  "\\pL{1000}".repeat(100),
  "\\x{10ffff}",
  "(?i)x",
  "(?<n>x)",
  "\\C",
  "a\nb",
  "a\rb",
  "a\tb",
  "\0",
  "\x7f",
  "é",
  "\u{1f600}",
  "\ud800",
  ":path",
  "Host",
  "content-length",
  "a b",
  "a;b",
  "a_b",
  "x".repeat(300),
  "/" + "x".repeat(1023),
  "%".repeat(4096),
  "é".repeat(4096),
] as const;
const numbers = [
  -1,
  0,
  1,
  2,
  80,
  99,
  100,
  200,
  302,
  404,
  503,
  600,
  65_535,
  65_536,
  2 ** 31,
  2 ** 32,
  1.5,
] as const;
const durations = ["0s", "1ms", "1s", "99999h99999h99999h99999h", "1d", ""] as const;

function nastyRule(rnd: Random): Raw {
  const text = () => rnd.pick(texts), number = () => rnd.pick(numbers), duration = () => rnd.pick(durations);
  const headers = () => ({
    set: rnd.list(1, () => ({ name: text(), value: text() })),
    add: rnd.list(1, () => ({ name: rnd.pick([text(), "x-a"]), value: text() })),
    remove: rnd.list(1, text),
  });
  const path = () =>
    rnd.pick<Raw>([
      { type: "ReplaceFullPath", replaceFullPath: text() },
      { type: "ReplacePrefixMatch", replacePrefixMatch: text() },
    ]);
  const filters: readonly [() => Raw, ...(() => Raw)[]] = [
    () => ({ type: "RequestHeaderModifier", requestHeaderModifier: headers() }),
    () => ({ type: "ResponseHeaderModifier", responseHeaderModifier: headers() }),
    () => ({
      type: "RequestRedirect",
      requestRedirect: {
        ...rnd.oneIn(2) && { scheme: rnd.pick(["http", "https", text()]) },
        ...rnd.oneIn(2) && { hostname: text() },
        ...rnd.oneIn(2) && { port: number() },
        ...rnd.oneIn(2) && { path: path() },
        ...rnd.oneIn(4) && { statusCode: number() },
      },
    }),
    () => ({ type: "URLRewrite", urlRewrite: { ...rnd.oneIn(2) && { hostname: text() }, path: path() } }),
    () => ({
      type: "RequestMirror",
      requestMirror: {
        backendRef: { name: "app", port: 80 },
        ...rnd.pick<Raw>([{ percent: number() }, {
          fraction: { numerator: number(), denominator: number() },
        }]),
      },
    }),
    () => ({
      type: "CORS",
      cors: {
        allowOrigins: rnd.list(2, () => rnd.pick(["*", "https://*", `https://${text()}`, text()])),
        allowMethods: rnd.list(1, text),
        allowHeaders: rnd.list(1, text),
        exposeHeaders: rnd.list(1, text),
        ...rnd.oneIn(2) && { maxAge: number() },
      },
    }),
  ];
  const value = () => ({ type: rnd.pick(["Exact", "RegularExpression"]), name: text(), value: text() });
  const onPath = rnd.pick(["Exact", "PathPrefix", "RegularExpression"]);
  // One thing at a time, or hardly anything would come through.
  const nasty = rnd.int(6);
  return {
    matches: [{
      ...nasty === 0 && { path: { type: onPath, value: text() } },
      ...nasty === 1 && { method: rnd.pick([text(), "GET", "CONNECT", "TRACE"]) },
      ...nasty === 2 && { headers: [value()], queryParams: rnd.list(1, value) },
    }],
    ...nasty === 3 && { filters: [rnd.pick(filters)()] },
    ...nasty === 4 && {
      timeouts: { request: duration(), backendRequest: duration() },
      retry: { codes: rnd.list(1, number), attempts: number(), backoff: duration() },
    },
    ...nasty === 5 && {
      sessionPersistence: rnd.pick<Raw>([
        { type: "Cookie", cookie: { name: text(), path: rnd.pick(["/", text()]) } },
        { type: "Cookie", absoluteTimeout: duration(), cookie: { lifetimeType: "Permanent" } },
        { type: "Header", header: { name: text() } },
      ]),
    },
    backendRefs: [{ name: "app", port: 80, weight: rnd.pick([1, 1_000_000]) }],
  };
}

/** A Service that is spoken to by a name, and a route to it. */
function securedBackend(name: string, i: number): readonly Raw[] {
  const validation = {
    hostname: i % 2 === 0 ? name : "inner.example.com",
    subjectAltNames: [{ type: "Hostname", hostname: name }, { type: "URI", uri: name }],
  };
  return [
    policy(`s${i}`, [`s${i}`], validation),
    service(`s${i}`),
    route(`s${i}`, { hostnames: [`s${i}.example.com`], rules: [to(`s${i}`)] }),
  ];
}

Deno.test("nasty values: whatever passes translation passes Envoy", async () => {
  const rnd = random(1), rules = Array.from({ length: 3000 }, () => nastyRule(rnd));
  const routes = rules.map((rule, i) =>
    route(`r${i}`, { hostnames: [`r${i}.example.com`, ...rnd.list(1, () => rnd.pick(texts))], rules: [rule] })
  );
  const hosts = texts.map((hostname, i) => ({ ...http, name: `l${i}`, hostname }));
  const { certificate } = await createAuthority({ commonName: "authority", ...validity });
  const ca = stored({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "ca" },
    data: { "ca.crt": certificate },
  });
  const all = [gateway("hosts", hosts), ...routes, ca, ...texts.flatMap(securedBackend)];
  let xds: Table<XdsResource> | undefined;
  const batch = translate(small(...all), undefined, (graph, _, { ir }) => {
    xds = deriveXds(graph, ir);
  });
  assertNoFailures(batch);
  const resources = [...xds!.entries()].map(([, { gateway, bytes }]) => ({
    gateway,
    resource: decode(Resource, concatenated(bytes, sizeOf(bytes))),
  }));
  let accepted = 0;
  for (const [, status] of batch.statuses.entries()) {
    if (!("parents" in status)) continue;
    if (status.parents[0]?.conditions.some(({ type, status }) => type === "Accepted" && status === "True")) {
      accepted++;
    }
  }
  assert(accepted > 750 && accepted < 2500, `${accepted} of 3000 are accepted: too dull`);
  const configuration = staticConfiguration(new Map([["nasty", { status: "", xds: "", resources }]]));
  assertEquals(await refusal(await envoyForTests(), configuration), undefined);
});
