/**
 * How far a BackendTLSPolicy has come, by what the proxies of the Gateways that use it have said.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Verdict } from "../../controllers/ir/mod.ts";
import { SortedMap } from "../../controllers/runtime/sorted_map.ts";
import type { Policy } from "../../controllers/translate/backend_tls.ts";
import type { GatewayCluster } from "../../controllers/translate/clusters.ts";
import { ancestorsOf } from "../../controllers/translate/policy_status.ts";

const service = "default/app", gateway = "default/web";
const policy: Policy = { key: "default/tls", generation: 1, created: "", targets: [{ service }] };
const cluster = { gateway, cluster: { service, port: 443 } } as GatewayCluster;

function programmed(verdict: Verdict | undefined, proxies: number | undefined): string {
  const [{ conditions } = { conditions: [] }] = ancestorsOf(policy, {
    policies: () => SortedMap.empty<Policy>().with(new Map([[policy.key, policy]])),
    ports: () => new Map([[443, "https"]]),
    clusters: () => SortedMap.empty<GatewayCluster>().with(new Map([["a", cluster]])),
    verdict: () => verdict,
    proxies: () => proxies,
  });
  const { status, reason, message } = conditions.find(({ type }) => type === "Programmed")!;
  return `${status} ${reason}: ${message}`;
}

Deno.test("a policy tells of proxies that are not there, that are at work, that refuse and that have it", () => {
  const pending: Verdict = { generation: 0, state: "pending", message: "" };
  assertEquals(programmed(pending, undefined), "False Pending: Waiting for a proxy to start");
  assertEquals(
    programmed(pending, 2),
    "False Pending: Waiting for the proxies to take the configuration",
  );
  assertEquals(programmed({ ...pending, message: "No proxy answers" }, 2), "False Pending: No proxy answers");
  assertEquals(programmed({ ...pending, state: "rejected", message: "bad" }, 2), "False Invalid: bad");
  assertEquals(
    programmed({ ...pending, state: "programmed" }, 2),
    "True Programmed: Every proxy has the current configuration",
  );
});
