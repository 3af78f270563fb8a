/**
 * Holds the virtual hosts against the specification, read as a program: for a request, look at every match of every route
 * and pick the one that takes precedence.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import type { Ir, RouteMatch } from "../../controllers/ir/mod.ts";
import { translate } from "../../controllers/translate/batch.ts";
import { type Random, random } from "../support/random.ts";
import { controllerName, hostname, match, type Raw } from "./random_objects.ts";

interface Request {
  readonly port: number;
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly query: { readonly [name: string]: string };
}

/** Whether a hostname as people write it, perhaps with a wildcard, matches the host of a request. */
function matchesHost(pattern: string | undefined, host: string): boolean {
  if (pattern === undefined) return true;
  const [first, ...rest] = pattern.split(".");
  if (first !== "*") return pattern === host;
  const labels = host.split(".");
  return labels.length > rest.length && labels.slice(-rest.length).join(".") === rest.join(".");
}

/** Characters of a precise hostname, then characters: larger goes first. */
function hostRank(pattern: string | undefined): readonly number[] {
  if (pattern === undefined) return [0, 0];
  return [pattern.startsWith("*") ? 0 : pattern.length, pattern.length];
}

function larger(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((x, i) => x !== b[i]);
  return at < 0 ? 0 : b[at]! - a[at]!;
}

function matchesPath(path: Raw, request: Request): boolean {
  const { type = "PathPrefix", value = "/" } = path ?? {};
  if (type === "Exact") return request.path === value;
  const wanted = value.split("/").filter((element: string) => element !== "");
  const found = request.path.split("/").filter((element) => element !== "");
  return wanted.every((element: string, i: number) => found[i] === element);
}

function matchesRequest(match: Raw, request: Request): boolean {
  const first = (list: Raw[], id: (name: string) => string) =>
    list.filter(({ name }, i) => list.findIndex((other) => id(other.name) === id(name)) === i);
  return matchesPath(match.path, request) &&
    (match.method === undefined || match.method === request.method) &&
    first(match.headers, (name) => name.toLowerCase())
      .every(({ name, value }) => request.headers[name.toLowerCase()] === value) &&
    first(match.queryParams, (name) => name).every(({ name, value }) => request.query[name] === value);
}

/** What answers a request by the words of the specification: `namespace/name/rule`, or nothing. */
function expected(gateway: Raw, routes: readonly Raw[], request: Request): string | undefined {
  const listener = gateway.spec.listeners
    .filter((l: Raw) => l.port === request.port && matchesHost(l.hostname, request.host))
    .sort((a: Raw, b: Raw) => larger(hostRank(a.hostname), hostRank(b.hostname)))[0];
  if (!listener) return undefined;
  const candidates: { rank: readonly number[]; created: string; name: string; answer: string }[] = [];
  for (const { metadata, spec } of routes) {
    const attached = spec.parentRefs.some((ref: Raw) =>
      (ref.sectionName === undefined || ref.sectionName === listener.name) &&
      (ref.port === undefined || ref.port === listener.port)
    );
    if (!attached) continue;
    const hostnames = spec.hostnames.length > 0 ? spec.hostnames : [undefined];
    const [best] = hostnames
      .filter((name: string | undefined) => matchesHost(name, request.host))
      .sort((a: string | undefined, b: string | undefined) => larger(hostRank(a), hostRank(b)));
    if (!hostnames.some((name: string | undefined) => matchesHost(name, request.host))) continue;
    spec.rules.forEach(({ matches }: Raw, rule: number) => {
      for (const match of matches) {
        if (!matchesRequest(match, request)) continue;
        const { type = "PathPrefix", value = "/" } = match.path ?? {};
        const headers = new Set(match.headers.map(({ name }: Raw) => name.toLowerCase()));
        const params = new Set(match.queryParams.map(({ name }: Raw) => name));
        const exact = type === "Exact";
        candidates.push({
          rank: [
            ...hostRank(best),
            exact ? 1 : 0,
            exact ? 0 : value.replace(/(.)\/$/, "$1").length,
            match.method === undefined ? 0 : 1,
            headers.size,
            params.size,
          ],
          created: metadata.creationTimestamp,
          name: `${metadata.namespace}/${metadata.name}`,
          answer: `${metadata.namespace}/${metadata.name}/${rule}`,
        });
      }
    });
  }
  // `sort` is stable, and candidates come in the order of rules.
  const order = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
  candidates.sort((a, b) => larger(a.rank, b.rank) || order(a.created, b.created) || order(a.name, b.name));
  return candidates[0]?.answer;
}

/** What answers a request by the data-plane model, as a proxy reads it. */
function actual(ir: Ir, request: Request): string | undefined {
  const hosts = [...ir.virtualHosts.entries()].map(([, host]) => host)
    .filter(({ routes }) => routes === `a/g/${request.port}`);
  const labels = request.host.split(".");
  const wildcards = labels.slice(1).map((_, i) => `*.${labels.slice(i + 1).join(".")}`);
  const host = [request.host, ...wildcards, "*"]
    .map((name) => hosts.find(({ hostname }) => hostname === name))
    .find((host) => host !== undefined);
  const entry = host?.entries.find(({ match }) => takes(match, request));
  return entry?.name.replace(/^httproute\/(.*)\/rule\/(\d+)\/match\/\d+(\/\d+)?$/, "$1/$2");
}

function takes({ path, method, headers, queryParams }: RouteMatch, request: Request): boolean {
  const byPath = path.type === "exact"
    ? request.path === path.value
    : path.value === "/" || request.path === path.value || request.path.startsWith(`${path.value}/`);
  return byPath && (method === undefined || method === request.method) &&
    headers.every(({ name, value }) => request.headers[name] === value) &&
    queryParams.every(({ name, value }) => request.query[name] === value);
}

function listeners(rnd: Random): Raw[] {
  const all = Array.from({ length: 1 + rnd.int(5) }, (_, i) => {
    const host = hostname(rnd);
    return {
      name: `l${i}`,
      port: rnd.pick([80, 80, 8080]),
      protocol: "HTTP",
      ...host && { hostname: host },
      allowedRoutes: { namespaces: { from: "All" } },
    };
  });
  return all.filter((l, i) => all.findIndex((o) => o.port === l.port && o.hostname === l.hostname) === i);
}

function route(rnd: Random, i: number): Raw {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: {
      name: `r${i}`,
      // As text `a-b/r` comes before `a/r`, since a hyphen comes before a slash.
      namespace: rnd.pick(["a", "a-b", "b"]),
      generation: 1,
      creationTimestamp: `2026-01-0${1 + rnd.int(3)}T00:00:00Z`,
    },
    spec: {
      parentRefs: [{
        name: "g",
        namespace: "a",
        ...rnd.oneIn(2) && { sectionName: `l${rnd.int(4)}` },
        ...rnd.oneIn(4) && { port: rnd.pick([80, 8080]) },
      }],
      hostnames: rnd.list(3, () => hostname(rnd)).filter((name) => name !== undefined),
      rules: Array.from({ length: 1 + rnd.int(3) }, (_, i) => ({
        ...rnd.oneIn(4) && { name: `${i + 1}` },
        matches: Array.from({ length: 1 + rnd.int(2) }, () => match(rnd)),
      })),
    },
  };
}

function request(rnd: Random): Request {
  return {
    port: rnd.pick([80, 80, 8080]),
    host: rnd.pick([
      "example.com",
      "www.example.com",
      "a.www.example.com",
      "deep.www.example.com",
      "b.example.com",
      "x.com",
      "other.net",
      "more.other.net",
      "elsewhere.org",
    ]),
    path: rnd.pick(["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/longer/path/x", "/none"]),
    method: rnd.pick(["GET", "POST"]),
    headers: { ...rnd.oneIn(2) && { h1: "v0" }, ...rnd.oneIn(2) && { h2: `v${rnd.int(2)}` } },
    query: { ...rnd.oneIn(2) && { q: rnd.pick(["1", "2"]) } },
  };
}

Deno.test("translate: virtual hosts answer as the specification says", () => {
  let answered = 0, unanswered = 0;
  for (let seed = 1; seed <= 400; seed++) {
    const rnd = random(seed);
    const gateway: Raw = {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "g", namespace: "a", generation: 1 },
      spec: { gatewayClassName: "c", listeners: listeners(rnd) },
    };
    const routes = Array.from({ length: 2 + rnd.int(9) }, (_, i) => route(rnd, i));
    const { ir } = translate([
      {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "GatewayClass",
        metadata: { name: "c" },
        spec: { controllerName },
      } as ApiObject,
      gateway,
      ...rnd.shuffle(routes),
    ]);
    for (let i = 0; i < 40; i++) {
      const asked = request(rnd);
      const answer = expected(gateway, routes, asked);
      assertEquals(actual(ir, asked), answer, `seed ${seed}: ${JSON.stringify(asked)}`);
      if (answer === undefined) unanswered++;
      else answered++;
    }
  }
  assert(answered > 3000 && unanswered > 3000, `${answered} answered, ${unanswered} not: too dull`);
});
