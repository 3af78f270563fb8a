/** What is read from what the conformance suite prints. */
import { assertEquals } from "@std/assert";
import { outcomeOf } from "./suite.ts";

const report = `
profiles:
- name: GATEWAY-HTTP
  core: { result: success, skippedTests: [B, A] }
  extended: { result: partial, skippedTests: [A], unsupportedFeatures: [HTTPRouteX, ClusterTrustBundle] }
`;

Deno.test("conformance: tests are counted by name, their parts are not, and what a profile wants and did not run is told", () => {
  const lines = [
    "=== RUN   TestConformance",
    "--- FAIL: TestConformance (9.00s)",
    "    --- PASS: TestConformance/One (1.00s)",
    "        --- PASS: TestConformance/One/part (0.10s)",
    "    --- FAIL: TestConformance/Two (1.00s)",
    "        --- FAIL: TestConformance/Two/part (0.10s)",
    "    --- SKIP: TestConformance/OfAnotherProfile (0.00s)",
    "FAIL",
  ];
  assertEquals(outcomeOf(lines, report, false), {
    passed: ["One"],
    failed: ["Two"],
    skipped: ["A", "B"],
    unclaimed: ["HTTPRouteX"],
  });
});

Deno.test("conformance: a run in which nothing passed, or that broke off, is no success", () => {
  const { broken } = outcomeOf(["panic: nobody home", "FAIL"], "", false);
  assertEquals(broken, "panic: nobody home\nFAIL");
  assertEquals(outcomeOf(["PASS"], "", true).broken, "PASS");
  const passed = "    --- PASS: TestConformance/One (1.00s)";
  assertEquals(outcomeOf([passed, "panic: late"], "", false).broken, `${passed}\npanic: late`);
  assertEquals(outcomeOf([passed], report, true).broken, undefined);
});
