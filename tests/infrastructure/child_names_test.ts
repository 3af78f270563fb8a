/**
 * Names and labels of the objects of a Gateway, as GEP-1762 has them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  childName,
  labelValue,
  ownerOf,
  ownerReference,
} from "../../controllers/infrastructure/child_names.ts";

Deno.test("a label has a Gateway's name, or the hash that GEP-1762 gives as its example", () => {
  assertEquals(labelValue("web"), "web");
  assertEquals(
    labelValue("example-very-very-very-very-very-very-very-very-very-long-gateway-name"),
    "example-very-very-ve-65cb6f84bc9e50270d0a6c2f845fd98c6fe8d89f",
  );
  assertEquals(labelValue("a".repeat(63)), "a".repeat(63));
});

Deno.test("a child's name says whose it is, and is one that every kind may have", () => {
  assertEquals(childName("web", "gatehouse"), "web-gatehouse");
  const seen = new Set<string>();
  for (
    const name of [
      "a".repeat(253),
      `${"a".repeat(252)}b`,
      "1web",
      "web.internal",
      "web-internal",
      "x".repeat(53),
    ]
  ) {
    const child = childName(name, "gatehouse");
    assertMatch(child, /^[a-z]([-a-z0-9]*[a-z0-9])?$/);
    assert(child.length <= 63, child);
    seen.add(child);
  }
  assertEquals(seen.size, 6);
  assertNotEquals(childName("web.internal", "c"), childName("web-internal", "c"));
});

Deno.test("an object belongs to the Gateway that controls it, and to nobody else", () => {
  const of = (...ownerReferences: readonly ReturnType<typeof ownerReference>[]) =>
    ownerOf({ name: "x", namespace: "shop", ownerReferences });
  assertEquals(of(ownerReference("web", "1")), { gateway: "shop/web", uid: "1" });
  assertEquals(of({ ...ownerReference("web", "1"), controller: false }), undefined);
  assertEquals(of({ ...ownerReference("web", "1"), kind: "ReplicaSet", apiVersion: "apps/v1" }), undefined);
  assertEquals(of({ ...ownerReference("web", "1"), apiVersion: "example.com/v1" }), undefined);
  assertEquals(of(), undefined);
});
