/**
 * The typed model as the API server sees it.
 *
 * @module
 */
import { allKinds, apiVersion, newest, type Release, workloadKinds } from "../../crds/mod.ts";
import { openapi } from "../../crds/openapi.ts";
import { validate } from "../../crds/validate.ts";
import type { Model } from "./resources.ts";

/** All kinds but those of pods: nothing here would ever run one. */
const kinds = allKinds.filter((kind) => !workloadKinds.includes(kind));

/** The kinds of Gatehouse and of one release of Gateway API. */
export function typedModel(release: Release = newest.release): Model {
  return {
    kinds,
    bundleVersion: `v${release}.0`,
    validate(kind, version, object, { channel, old }) {
      const { object: judged, errors, unknownFields } = validate(kind, version, object, {
        channel,
        release,
        ...(old ? { old } : {}),
      });
      return {
        object: judged,
        errors: errors.map(({ field, reason, message }) => ({
          field,
          message,
          reason: `FieldValue${reason}`,
        })),
        unknownFields,
      };
    },
    // All versions of these kinds have the same fields.
    convert: (kind, object, version) => ({ ...object, apiVersion: apiVersion(kind, version) }),
    openapi: (kind, version, channel) => openapi(kind, version, { channel, release }),
  };
}
