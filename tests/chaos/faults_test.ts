/**
 * An API server that does all that networks, caches and busy servers do, while objects change: once it behaves again,
 * everything is as if nothing had been.
 *
 * @module
 */
import { assert } from "@std/assert";
import { endpointSlice, gateway, httpRoute, type Kind, referenceGrant, service } from "../../crds/mod.ts";
import type { Draft } from "../../kube/types.ts";
import { gatewayNamed, routeNamed, startGateway } from "../e2e/gateway.ts";
import { type Random, random } from "../support/random.ts";
import { compareWithFresh, rest } from "./support/fresh.ts";
import { put, remove } from "./support/write.ts";

const seeds = [1, 2];
const changes = 120;
/** Kinds of faults without which the test would show nothing. */
const mustStrike = [
  "drop",
  "duplicate",
  "stale",
  "conflict",
  "latency",
  "expire",
  "cut",
  "throttle",
] as const;

/** An object of a small set, in one of several states. */
function draft(rnd: Random): readonly [Kind, Draft] {
  const name = `s${rnd.int(3)}`;
  switch (rnd.int(6)) {
    case 0: {
      const listeners = Array.from({ length: 1 + rnd.int(3) }, (_, i) => ({
        name: `l${i}`,
        port: 80 + 1000 * i + rnd.int(2),
        protocol: "HTTP",
        ...rnd.oneIn(2) && { hostname: "*.example.com" },
      }));
      return [gateway, gatewayNamed("web", listeners)];
    }
    case 1:
      return [service, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "default" },
        spec: { ports: [{ name: "http", port: 80 + rnd.int(2) }] },
      }];
    case 2:
      return [endpointSlice, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          name: `${name}-${rnd.int(2)}`,
          namespace: "default",
          labels: { "kubernetes.io/service-name": name },
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [`127.0.0.${1 + rnd.int(9)}`] }],
        ports: [{ name: "http", port: 9000 }],
      }];
    case 3:
      return [referenceGrant, {
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "ReferenceGrant",
        metadata: { name: "grant", namespace: "default" },
        spec: {
          from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "default" }],
          to: [{ group: "", kind: "Service" }],
        },
      }];
    default: {
      const rules = Array.from({ length: 1 + rnd.int(3) }, (_, i) => ({
        matches: [{ path: { type: "PathPrefix", value: `/${i}` } }],
        backendRefs: [{ name: `s${rnd.int(3)}`, port: 80, weight: rnd.int(4) }],
      }));
      return [httpRoute, routeNamed(`r${rnd.int(8)}`, rules)];
    }
  }
}

for (const seed of seeds) {
  Deno.test(`an API server at its worst leaves no trace (seed ${seed})`, async () => {
    await using web = await startGateway({ address: `127.0.90.${240 + seed}` });
    const { api: { faults } } = web, rnd = random(seed);
    await web.kube.create(gateway, gatewayNamed("web"));
    await web.until("a proxy is there", ({ world }) => (world.proxies.get("default/web")?.length ?? 0) > 0);
    for (const kind of ["drop", "duplicate", "merge", "stale", "conflict", "latency"] as const) {
      faults.add({ kind, rate: 0.2, milliseconds: 15, revisions: 1 + rnd.int(20) });
    }
    for (const kind of ["expire", "cut"] as const) faults.add({ kind, rate: 0.03 });
    faults.add({ kind: "throttle", rate: 0.05, seconds: 0 });
    // Lists that can be stale come only after watches that broke, which is a matter of time.
    for (let i = 0; i < changes || mustStrike.some((kind) => !faults.struck.has(kind)); i++) {
      assert(i < 50 * changes, `only ${[...faults.struck.keys()]} have struck`);
      const [kind, object] = draft(rnd);
      if (kind !== gateway && rnd.oneIn(4)) await remove(web.kube, kind, object);
      else await put(web.kube, kind, object);
    }
    const struck = new Map(faults.struck);
    await rest(web);
    assert(await compareWithFresh(web) > 10, "there is something to compare");
    for (const kind of mustStrike) {
      assert((struck.get(kind) ?? 0) > 0, `${kind} has struck`);
    }
  });
}
