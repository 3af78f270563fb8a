/**
 * Listeners whose TLS is for the same names: found by claims, which comparing each with each has to agree with; and the work of it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { translate } from "../../controllers/translate/batch.ts";
import type { ListenerState } from "../../controllers/translate/gateway_state.ts";
import { overlapOf, tlsClaims } from "../../controllers/translate/overlaps.ts";
import { random as seeded } from "../support/random.ts";
import { gateway, gatewayClass, stored } from "./cluster.ts";
import { certificate, https, tlsSecret } from "./secured.ts";

function state(owner: string, name: string, hostname: string, dnsNames: readonly string[]): ListenerState {
  const listener = { id: `${owner}/${name}`, owner, name, hostname };
  return { listener, portKey: "gw/443", bound: 443, tls: { dnsNames } } as unknown as ListenerState;
}

/** Whether some host is meant by both, as a list of hosts has it. `labels`: how many a wildcard stands for at most. */
function meet(a: string, b: string, labels: number): boolean {
  const matches = (pattern: string, host: string) => {
    if (pattern === "*" || pattern === host) return true;
    const rest = pattern.startsWith("*.") && host.endsWith(pattern.slice(1)) &&
      host.slice(0, 1 - pattern.length);
    return rest !== false && rest !== "" && rest.split(".").length <= labels;
  };
  return hosts.some((host) => matches(a, host) && matches(b, host));
}
const labels = ["a", "b", "x"];
const hosts = labels.flatMap((l) =>
  labels.flatMap((m) => [`${l}.${m}`, ...labels.map((n) => `${l}.${m}.${n}`)])
);
const names = ["a.b", "b.a", "*.b", "*.a.b", "x.a.b", "a.x.b", "*.x"] as const;

Deno.test("overlapping TLS: claims find what comparing each with each does", () => {
  const random = seeded(7), found = { certificates: 0, hostnames: 0, nothing: 0 };
  for (let round = 0; round < 400; round++) {
    const owners = ["Gateway/a", "ListenerSet/b", "ListenerSet/c"].map((owner) =>
      random.list(2, (i) => {
        const hostname = random.oneIn(8) ? "*" : random.pick(names);
        return state(owner, `l${i}`, hostname, random.oneIn(2) ? [] : [random.pick(names)]);
      })
    );
    for (const own of owners) {
      const others = owners.filter((one) => one !== own), claims = new Set(others.flatMap(tlsClaims));
      for (const one of own) {
        const rest = [...own, ...others.flat()].filter((other) => other !== one);
        const overlaps = (other: ListenerState) => ({
          certificates: one.tls!.dnsNames.some((a) => other.tls!.dnsNames.some((b) => meet(a, b, 1))),
          hostnames: meet(one.listener.hostname, other.listener.hostname, 9),
        });
        const expected = (["certificates", "hostnames"] as const).find((by) =>
          rest.some((r) => overlaps(r)[by])
        );
        const overlap = overlapOf(one, own, (claim) => claims.has(claim));
        const reason = { certificates: "OverlappingCertificates", hostnames: "OverlappingHostnames" };
        assertEquals(overlap?.reason, expected && reason[expected], JSON.stringify([one, rest]));
        found[expected ?? "nothing"]++;
      }
    }
  }
  assert(Math.min(...Object.values(found)) > 50, JSON.stringify(found));
});

Deno.test("overlapping TLS: with one more of many listeners for a name, no status of others is computed anew", async () => {
  const secret = tlsSecret("tls", await certificate(["*.example.com"]));
  const set = (i: number) =>
    stored({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "ListenerSet",
      metadata: { name: `s${100 + i}` },
      spec: {
        parentRef: { name: "gw" },
        listeners: [{ ...https("https", `h${i}.example.com`, "tls"), port: 443 }],
      },
    });
  const allowed = { spec: { allowedListeners: { namespaces: { from: "Same" } } } };
  const own = { name: "http", port: 80, protocol: "HTTP" };
  const sets = Array.from({ length: 50 }, (_, i) => set(i));
  const { world, graph, statuses } = translate([
    gatewayClass(),
    gateway("gw", [own], allowed),
    secret,
    ...sets,
  ]);
  const claimants = graph.tables.find(({ name }) => name === "first claimants by TLS");
  world.objects.ListenerSet.set("default/s150", set(50));
  assertEquals(graph.settle().failures, []);
  assertEquals([...statuses.changed].sort(), ["Gateway/default/gw", "ListenerSet/default/s150"]);
  assertEquals(
    [...claimants?.changed ?? []].filter((key) => !key.includes("h50.example.com")),
    [],
    "what others look up has not changed",
  );
  const status = statuses.get("ListenerSet/default/s150");
  const listener = status && "listeners" in status && status.listeners[0];
  assertEquals(listener && listener.conditions.at(-1)?.reason, "OverlappingCertificates");
});
