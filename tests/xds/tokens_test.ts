/**
 * Proxies in pods: an xDS server that knows them by their tokens, and real Envoys that have them from files.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { byToken } from "../../cli/proxy_tokens.ts";
import { OwnCertificate } from "../../controllers/own_certificate.ts";
import {
  type Authority,
  bundleOf,
  changeDue,
  renewAuthorities,
} from "../../controllers/runtime/authorities.ts";
import { type Clock, systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { Tokens } from "../../kube/tokens.ts";
import { XdsCache } from "../../xds/cache.ts";
import { startXdsServer, type XdsServerOptions } from "../../xds/grpc/server.ts";
import type { ProxyEvent } from "../../xds/types.ts";
import { envoyBinaryForTests } from "../standalone/envoy_for_tests.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { claimsOf, issuerOf } from "../support/jwt.ts";
import { TokenServer } from "../support/token_server.ts";
import { until } from "../support/until.ts";
import { request } from "./support/fake_envoy.ts";
import { Client } from "./support/grpc_client.ts";
import { Pod, type PodInput } from "./support/pod.ts";
import { Service } from "./support/service.ts";

const serverName = "gatehouse.gatehouse-system.svc";
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const issuer = await issuerOf();
const accounts = new Map([
  ["shop/web-gatehouse", { gateway: "shop/web", uid: "uid-account" }],
  ["shop/api-gatehouse", { gateway: "shop/api", uid: "uid-api" }],
]);

function leafOf(authority: KeyPair): Promise<KeyPair> {
  return issue(authority, {
    commonName: "gatehouse",
    dnsNames: [serverName],
    usages: ["server"],
    ...validity,
  });
}

/** A replica: an xDS server with an API server behind it. */
async function replica(
  { clock = systemClock, authority, down = false, ...more }:
    & { readonly clock?: Clock; readonly authority?: KeyPair; readonly down?: boolean }
    & Partial<XdsServerOptions> = {},
) {
  const by = authority ?? await createAuthority({ commonName: "authority", ...validity });
  const api = new TokenServer(issuer),
    events: ProxyEvent[] = [],
    seen: string[] = [],
    refusals: string[] = [];
  if (down) api.state = "down";
  const tokens = new Tokens({ kube: api.kube, audience: "gatehouse.dev/xds", clock, log: silentLog });
  const abort = new AbortController();
  const running = tokens.run(abort.signal).catch(() => {});
  const authenticate = byToken({ tokens, accounts });
  const server = await startXdsServer({
    cache: new XdsCache(),
    tls: await leafOf(by),
    authenticate: (peer) => {
      seen.push(peer.authorization?.replace("Bearer ", "") ?? "");
      return authenticate(peer);
    },
    hostname: "127.0.0.1",
    port: 0,
    clock,
    log: {
      ...silentLog,
      warn: (message, fields) => void refusals.push(`${message}: ${fields?.code}: ${fields?.message}`),
    },
    onEvent: (event) => void events.push(event),
    grace: 200,
    ...more,
  });
  const pod = (token: string, input: Partial<PodInput> = {}) =>
    Pod.start({
      node: "shop/web-1",
      gateway: "shop/web",
      port: server.port,
      serverName,
      authority: by.certificate,
      token,
      ...input,
    });
  const call = async (token: string | undefined, node: { readonly id: string; readonly cluster: string }) => {
    using client = new Client(server.port, { authority: by.certificate, serverName });
    const call = client.call(undefined, token === undefined ? {} : { authorization: `Bearer ${token}` });
    call.send({ ...request("cluster"), node });
    const answer = await Promise.race([call.next(), call.status]);
    if (!answer || !("code" in answer)) call.stream.close();
    return answer && "code" in answer ? answer : await call.status;
  };
  return {
    server,
    authority: by,
    api,
    events,
    seen,
    refusals,
    pod,
    call,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await Promise.all([server[Symbol.asyncDispose](), running]);
    },
  };
}

/** A token for the pod `shop/web-1`. */
function tokenAt(now: number, more: { readonly [claim: string]: unknown } = {}): Promise<string> {
  return issuer.sign(claimsOf(now, more));
}

const web = { id: "shop/web-1", cluster: "shop/web" };

Deno.test("a proxy in a pod is served as what its token says; renewed, the token is seen on the next stream", async () => {
  await using xds = await replica({ lifetime: 300 });
  const first = await tokenAt(Date.now()), second = await tokenAt(Date.now(), { jti: "second" });
  await using pod = await xds.pod(first);
  await until("the proxy is there", () => xds.events.some(({ type }) => type === "connected"));
  assertEquals(xds.events[0], {
    type: "connected",
    proxy: "shop/web-1",
    gateway: "shop/web",
    software: `envoy ${(await envoyBinaryForTests()).version}`,
  });
  assertEquals(xds.seen[0], first);
  await pod.renewToken(second);
  await until("the proxy comes with the other token", () => xds.seen.includes(second));
  const streams = xds.seen.length;
  await until("it goes on", () => xds.seen.length > streams + 1);
  assertEquals(new Set(xds.seen.slice(streams)), new Set([second]));
  assertEquals(xds.refusals, []);
});

Deno.test("each stream has a connection of its own, so that it reaches any replica, by the trust of then", async () => {
  const streams: string[] = [];
  await using xds = await replica({
    lifetime: 200,
    authenticate: ({ address }) => {
      streams.push(address);
      return { gateway: "shop/web" };
    },
  });
  await using pod = await xds.pod("token");
  await until("it has come three times", () => streams.length >= 3);
  assertEquals(new Set(streams).size, streams.length);
  const { certificate } = await createAuthority({ commonName: "another authority", ...validity });
  await pod.replaceAuthority(certificate);
  await until("it is away", () => xds.events.at(-1)?.type === "disconnected");
  await pod.fails();
  await pod.replaceAuthority(certificate + xds.authority.certificate);
  const { length } = streams;
  await until("it is back", () => streams.length > length);
});

Deno.test("while the API server is away, a proxy finds a replica that it has never used; with an expired token it does not", async () => {
  await using first = await replica();
  await using second = await replica({ authority: first.authority });
  await using service = await Service.open(first.server.port);
  const connected = ({ events }: typeof first) => events.filter(({ type }) => type === "connected").length;
  await using pod = await first.pod(await tokenAt(Date.now()), { port: service.port });
  await until("the proxy is at the first", () => connected(first) === 1);
  assertEquals([first.api.reviews, second.api.reviews], [1, 0]);
  first.api.state = second.api.state = "down";
  service.targets = [second.server.port];
  await first.server[Symbol.asyncDispose]();
  await until("it is at the second", () => connected(second) === 1);
  assertEquals(second.refusals, []);
  await pod.stop();

  await using late = await second.pod(await tokenAt(Date.now() - 3_600_000));
  const asked = second.seen.length;
  await until("it is refused, and comes again", () => second.seen.length > asked + 1);
  assertEquals(second.refusals.length, 1, "which is said once");
  assertMatch(second.refusals[0]!, /^Refused an xDS stream: UNAUTHENTICATED: .*it expired at/);
  assertEquals(connected(second), 1);
  await late.renewToken(await tokenAt(Date.now()));
  await until("with another token it is served", () => connected(second) === 2);
});

Deno.test("another Gateway's resources, and expired, foreign, forged and missing tokens are refused", async () => {
  const clock = new FakeClock();
  await using xds = await replica({ clock, ping: { interval: 1e9, timeout: 1e9 } });
  await until("the keys are there", () => xds.api.looks === 2);
  const now = clock.now().getTime(), good = await tokenAt(now);
  const kubernetes = claimsOf(now)["kubernetes.io"], forger = await issuerOf();
  const account = (name: string, uid: string, namespace = "shop") => ({
    sub: `system:serviceaccount:${namespace}:${name}`,
    "kubernetes.io": { ...kubernetes, namespace, serviceaccount: { name, uid } },
  });
  const cases: readonly [
    string,
    string | undefined,
    { readonly id: string; readonly cluster: string },
    RegExp,
  ][] = [
    [
      "7",
      good,
      { ...web, cluster: "shop/api" },
      /^Proxy "shop\/web-1" may not read .* of Gateway "shop\/api"/,
    ],
    ["7", good, { ...web, id: "shop/web-2" }, /^Proxy "shop\/web-2" may not read .* of Gateway "shop\/web"/],
    ["7", good, { ...web, id: "other/web-1" }, /^Proxy "other\/web-1" may not read/],
    ["7", await tokenAt(now, account("web-gatehouse", "uid-earlier")), web, /Pod "shop\/web-1" is no proxy/],
    ["7", await tokenAt(now, account("default", "uid-default")), web, /no Gateway has .* "default"/],
    [
      "7",
      await tokenAt(now, account("web-gatehouse", "uid-account", "other")),
      web,
      /Pod "other\/web-1" is no/,
    ],
    ["7", await tokenAt(now, account("api-gatehouse", "uid-api")), web, /may not read .* "shop\/web"/],
    ["16", await tokenAt(now - 3_600_000), web, /it expired at/],
    ["16", await tokenAt(now, { aud: ["https://kubernetes.default.svc"] }), web, /it is for "https/],
    ["16", await forger.sign(claimsOf(now)), web, /its signature is false/],
    ["16", good.slice(0, -1), web, /its signature is false|none of a ServiceAccount/],
    ["16", "token", web, /none of a ServiceAccount/],
    ["16", undefined, web, /There is no token/],
  ];
  for (const [code, token, node, message] of cases) {
    const status = await xds.call(token, node);
    assertEquals(status.code, code, `${message}: ${status.message}`);
    assertMatch(status.message ?? "", message);
    assertMatch(xds.refusals.at(-1) ?? "", new RegExp(message.source.replace("^", "")));
  }
  assertEquals(xds.events, []);
  xds.api.state = "down";
  const foreign = await xds.call(await tokenAt(now, { iss: "https://other" }), web);
  assertEquals([foreign.code, /its issuer "https:\/\/other" is another/.test(foreign.message ?? "")], [
    "16",
    true,
  ]);
  await xds.call(good, web);
  await until("it has come and gone", () => xds.events.length === 2);
  assertEquals(xds.events.map(({ type }) => type), ["connected", "disconnected"]);
});

Deno.test("a replica that has never had an API server says that it cannot tell", async () => {
  await using xds = await replica({ down: true });
  const status = await xds.call(await tokenAt(Date.now()), web);
  assertEquals(status.code, "14");
  assertMatch(status.message ?? "", /the API server does not tell, and the key that signed it is not known/);
});

Deno.test("authorities take turns and certificates are renewed, and no proxy ever meets one that it does not trust", async () => {
  // Days pass here, and not for Envoy: by its clock all of these certificates are good.
  const day = 24 * 3600 * 1000, times = { life: 30 * day, overlap: 2 * day, skew: 400 * day };
  const clock = new FakeClock(new Date().toISOString()), now = () => clock.now().getTime();
  const renew = async (authorities: readonly Authority[]) => ({
    authorities: await renewAuthorities({ authorities, broken: false }, now(), times, "xDS"),
    broken: false,
  });
  let file = await renew([]);
  const first = file.authorities[0]!, leaves = new Set<string>();
  await using xds = await replica({ authority: first, lifetime: 50 });
  const own = new OwnCertificate({
    leaf: { commonName: "gatehouse", dnsNames: [serverName], usages: ["server"] },
    life: 9 * day,
    times,
    clock,
    log: silentLog,
    changed: ({ certificate, key }) => {
      leaves.add(certificate);
      xds.server.rotate({ certificate, key });
    },
  });
  own.use(file.authorities);
  const abort = new AbortController();
  const running = own.run(abort.signal).catch(() => {});
  await using pod = await xds.pod(await tokenAt(Date.now()));
  const streams = async (more: number) => {
    const before = xds.seen.length;
    await until("the proxy comes again", () => xds.seen.length >= before + more);
  };
  for (let today = 0; today < 60; today++) {
    const known = leaves.size;
    await clock.advance(day);
    await until("the replica has a certificate", () => clock.pending > 0);
    if (changeDue(file, now(), times) !== undefined) {
      file = await renew(file.authorities);
      own.use(file.authorities);
      // The newest first, for that is the one that has to be known before it is needed.
      const newest = file.authorities.toReversed();
      await pod.replaceAuthority(bundleOf(newest));
      await pod.trusts(newest.map(({ certificate }) => certificate));
    }
    if (leaves.size > known) await streams(2);
  }
  await streams(2);
  abort.abort();
  await running;
  assert(leaves.size >= 9, `${leaves.size} certificates`);
  assertEquals(file.authorities.findIndex(({ certificate }) => certificate === first.certificate), -1);
  assertMatch(await pod.admin("/stats?filter=gatehouse/xds"), /upstream_cx_connect_fail: 0/);
  assertEquals(xds.refusals, []);
});
