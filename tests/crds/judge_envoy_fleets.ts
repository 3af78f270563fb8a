/**
 * Holds whoever judges EnvoyFleets against the table of them.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { invalid, valid } from "./envoy_fleets.ts";

const fleet = (index: number, spec: unknown) => ({
  apiVersion: "gatehouse.dev/v1alpha1",
  kind: "EnvoyFleet",
  metadata: { name: `fleet-${index}`, namespace: "default" },
  ...spec === undefined ? {} : { spec },
});

const pendingStatus = {
  conditions: [{
    type: "Accepted",
    status: "Unknown",
    lastTransitionTime: "1970-01-01T00:00:00Z",
    reason: "Pending",
    message: "Waiting for controller",
  }],
};

/** What came of an object: itself, stored, or why not. */
export interface Verdict {
  readonly object?: { readonly spec?: unknown; readonly status?: unknown };
  readonly error?: string;
}

/** Whoever stores objects, or refuses them. */
export type Judge = (object: ApiObject) => Promise<Verdict>;

/** Holds a judge against all EnvoyFleets of the table. */
export async function judgedAlike(t: Deno.TestContext, judge: Judge): Promise<void> {
  for (const [i, { name, spec, stored = spec }] of valid.entries()) {
    await t.step(name, async () => {
      const { object, error } = await judge(fleet(i, spec));
      assertEquals([error, object?.spec, object?.status], [undefined, stored, pendingStatus]);
    });
  }
  for (const [i, [field, says, spec]] of invalid.entries()) {
    await t.step(`${field}: ${says}: ${JSON.stringify(spec)}`, async () => {
      const { error } = await judge(fleet(1000 + i, spec));
      assert(error !== undefined, "it was taken");
      // Of a value in a map, kube-apiserver says for rules `fields[a]`, and for all else `fields.a`.
      assertStringIncludes(error.replace(/\[([a-z]\w*)\]/g, ".$1"), `spec.${field}: `);
      assertStringIncludes(error, says);
    });
  }
}
