/**
 * EnvoyFleets are judged alike, and get the same defaults, by the typed model and by API servers: the one of `standalone`,
 * and a real one where there is one with nothing in it that matters:
 *
 *     CLUSTER_KUBECONFIG=kubeconfig deno test -A tests/crds/envoy_fleet_test.ts
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { customResourceDefinition, envoyFleet } from "../../crds/mod.ts";
import { definitionOf } from "../../crds/definition.ts";
import { validate } from "../../crds/validate.ts";
import { KubeError } from "../../kube/errors.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { testApi } from "../apiserver/support.ts";
import { kubeOf } from "../support/kube.ts";
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
interface Verdict {
  readonly object?: { readonly spec?: unknown; readonly status?: unknown };
  readonly error?: string;
}

type Judge = (object: ApiObject) => Promise<Verdict>;

async function judgedAlike(t: Deno.TestContext, judge: Judge): Promise<void> {
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

Deno.test("the typed model judges EnvoyFleets", async (t) => {
  await judgedAlike(t, (object) => {
    const { object: judged, errors } = validate(envoyFleet, "v1alpha1", object);
    const error = errors.map(({ field, message }) => `${field}: ${message}`).join(", ");
    return Promise.resolve(errors.length > 0 ? { error } : { object: judged });
  });
});

Deno.test("the API server of standalone judges EnvoyFleets", async (t) => {
  await using api = await testApi({ model: typedModel() });
  await judgedAlike(t, async (object) => {
    const { status, body } = await api.call(
      "POST",
      "/apis/gatehouse.dev/v1alpha1/namespaces/default/envoyfleets",
      object,
    );
    if (status === 201) return { object: body };
    assertEquals(status, 422, body.message);
    return { error: body.message };
  });
});

const kubeconfig = Deno.env.get("CLUSTER_KUBECONFIG");

Deno.test({
  name: "a real API server judges EnvoyFleets",
  ignore: kubeconfig === undefined,
  async fn(t) {
    using kube = await kubeOf(kubeconfig!);
    const definition = definitionOf(envoyFleet);
    await kube.apply(customResourceDefinition, definition, { fieldManager: "test", force: true });
    const signal = AbortSignal.timeout(10_000);
    for (let established = false; !established;) {
      signal.throwIfAborted();
      const { status } = await kube.get(customResourceDefinition, definition.metadata, signal);
      established = status?.conditions?.some(({ type, status }) =>
        type === "Established" && status === "True"
      ) ?? false;
    }
    await judgedAlike(t, async (object) => {
      try {
        const object_ = await kube.create(envoyFleet, object);
        await kube.delete(envoyFleet, object.metadata);
        return { object: object_ };
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 422) throw error;
        return { error: error.message };
      }
    });
  },
});
