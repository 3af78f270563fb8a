/** What is read from what the conformance suite prints. */
import { assertEquals } from "@std/assert";
import { missed, outcomeOf, passing, versions } from "./suite.ts";

const report = `
profiles:
- name: GATEWAY-HTTP
  core: { result: success, statistics: { Failed: 0, Passed: 30, Skipped: 2 }, skippedTests: [B, A] }
  extended:
    result: partial
    statistics: { Failed: 0, Passed: 40, Skipped: 1 }
    skippedTests: [A]
    unsupportedFeatures: [HTTPRouteX, ClusterTrustBundle]
- name: GATEWAY-TLS
  core: { result: success, statistics: { Failed: 0, Passed: 7, Skipped: 0 } }
succeededProvisionalTests: [Two, One]
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
    counted: { core: 30, extended: 40, provisional: ["One", "Two"] },
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

Deno.test("conformance: tests that a suite leaves out without a word are missed, and new ones are told", () => {
  const nothing = { passed: [], failed: [], skipped: [], unclaimed: [] };
  for (const version of versions) {
    const counted = passing[version];
    assertEquals(missed(version, { ...nothing, counted }), []);
    assertEquals(missed(version, { ...nothing, counted: { ...counted, core: counted.core - 1 } }), [
      `${counted.core - 1} core tests of GATEWAY-HTTP passed, and not ${counted.core}`,
    ]);
    assertEquals(missed(version, { ...nothing, counted: { ...counted, extended: 0 } }), [
      `0 extended tests of GATEWAY-HTTP passed, and not ${counted.extended}`,
    ]);
    const [first, ...others] = counted.provisional;
    assertEquals(missed(version, { ...nothing, counted: { ...counted, provisional: [...others, "New"] } }), [
      ...first === undefined ? [] : [`the provisional test ${first} did not pass, or did not run`],
      "the provisional test New passed and is not known",
    ]);
  }
});
