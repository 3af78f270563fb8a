/**
 * The typed model as the API server asks for it.
 *
 * @module
 */
import { allKinds, apiVersion, newest } from "../../crds/mod.ts";
import { openapi } from "../../crds/openapi.ts";
import { validate } from "../../crds/validate.ts";
import type { Model } from "./resources.ts";

/** The release of Gateway API whose definitions are shown. */
const bundleVersion = "v1.7.0";

/** Serves every kind that the model describes. */
export const model: Model = {
  kinds: allKinds,
  bundleVersion,
  validate(kind, version, object, { channel, old }) {
    // What becomes of unknown fields depends on the request, so whoever asks decides.
    const result = validate(kind, version, object, { channel, fieldValidation: "Ignore", ...old && { old } });
    return { object: result.object, errors: result.errors, unknownFields: result.unknownFields };
  },
  // The versions of a kind of Gateway API do not differ but in their names.
  convert: (kind, object, version) => ({ ...object, apiVersion: apiVersion(kind, version) }),
  openapi: (kind, version, channel) => ({ ...openapi(kind, version, { ...newest, channel }) }),
};
