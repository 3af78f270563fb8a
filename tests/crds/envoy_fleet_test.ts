/**
 * EnvoyFleets are judged alike, and get the same defaults, by the typed model and by the API server of `standalone`. A real
 * one judges them in `tests/cluster/envoy_fleet_test.ts`.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { envoyFleet } from "../../crds/mod.ts";
import { validate } from "../../crds/validate.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { testApi } from "../apiserver/support.ts";
import { judgedAlike } from "./judge_envoy_fleets.ts";

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
