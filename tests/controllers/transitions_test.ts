/**
 * Which changes of conditions people are told of, and how.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { newsOf, transitionsOf } from "../../controllers/transitions.ts";

const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  reason: type,
  message: "",
  observedGeneration: 1,
  ...more,
});
const old = { lastTransitionTime: "2026-01-01T00:00:00Z" };

function told(kind: string, ...operations: Parameters<typeof transitionsOf>[0]) {
  return transitionsOf(operations).map((transition) => newsOf(kind, transition))
    .flatMap((news) => news ? [`${news.type} ${news.reason}: ${news.note}`] : []);
}

Deno.test("news: what a Gateway has become, and each of its listeners that is not right", () => {
  assertEquals(
    told(
      "Gateway",
      { op: "test", path: "/metadata/resourceVersion", value: "1" },
      {
        op: "replace",
        path: "/status/conditions",
        value: [
          condition("Accepted", "True"),
          condition("Programmed", "False", { reason: "Pending", message: "Waiting for the proxies" }),
          condition("example.com/Other", "False", old),
        ],
      },
      {
        op: "add",
        path: "/status/listeners",
        value: [
          { name: "good", conditions: [condition("Accepted", "True"), condition("Conflicted", "False")] },
          {
            name: "tls",
            conditions: [
              condition("ResolvedRefs", "False", {
                reason: "InvalidCertificateRef",
                message: 'Cannot use Secret "a/b": it does not exist',
              }),
              condition("OverlappingTLSConfig", "True", {
                reason: "OverlappingHostnames",
                message: "With others",
              }),
            ],
          },
        ],
      },
    ),
    [
      "Normal Accepted: Accepted is True",
      'Warning InvalidCertificateRef: Listener "tls": Cannot use Secret "a/b": it does not exist',
      'Warning OverlappingTLSConfig: Listener "tls": With others',
    ],
  );
});

Deno.test("news: nothing of a new route that is well; what is wrong with one; when it is well again", () => {
  const good = [
    condition("Accepted", "True"),
    condition("ResolvedRefs", "True"),
    condition("Programmed", "True"),
  ];
  assertEquals(told("HTTPRoute", { op: "add", path: "/status/parents", value: [{ conditions: good }] }), []);
  const bad = condition("ResolvedRefs", "False", { reason: "BackendNotFound", message: "No Service" });
  assertEquals(told("HTTPRoute", { op: "add", path: "/status/parents/-", value: { conditions: [bad] } }), [
    "Warning BackendNotFound: No Service",
  ]);
  assertEquals(
    told("HTTPRoute", {
      op: "replace",
      path: "/status/parents/0",
      value: { conditions: [condition("Accepted", "True", old), condition("ResolvedRefs", "True")] },
    }),
    ["Normal ResolvedRefs: ResolvedRefs is True"],
  );
});

Deno.test("news: an alarm that is raised, and one that has ended", () => {
  const alarm = (status: string) => ({
    op: "replace" as const,
    path: "/status/parents/0",
    value: { conditions: [condition("PartiallyInvalid", status, { message: "Dropped Rule 1" })] },
  });
  assertEquals(told("HTTPRoute", alarm("True")), ["Warning PartiallyInvalid: Dropped Rule 1"]);
  assertEquals(told("HTTPRoute", alarm("False")), ["Normal NotPartiallyInvalid: Dropped Rule 1"]);
});

Deno.test("news: a patch that removes tells nothing", () => {
  assertEquals(told("HTTPRoute", { op: "remove", path: "/status/parents/0" }), []);
});
