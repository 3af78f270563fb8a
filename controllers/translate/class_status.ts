/**
 * What the status of a GatewayClass has to say.
 *
 * @module
 */
import type { Class } from "./classes.ts";
import { condition, type DesiredCondition } from "./conditions.ts";
import type { Config } from "./config.ts";
import { supportedFeatures } from "./features.ts";
import type { DesiredStatus } from "./statuses.ts";

/** The status of a class; `version` is its condition SupportedVersion. */
export function classStatus(model: Class, version: DesiredCondition, config: Config): DesiredStatus {
  return {
    kind: "GatewayClass",
    generation: model.generation,
    conditions: [
      condition("Accepted", model.refused, {
        reason: "Accepted",
        message: "Gateways of this class are served by Gatehouse",
      }),
      version,
    ],
    supportedFeatures: supportedFeatures(config),
  };
}
