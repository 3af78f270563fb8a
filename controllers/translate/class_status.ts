/**
 * What the status of a GatewayClass has to say.
 *
 * @module
 */
import type { Class } from "./classes.ts";
import { condition } from "./conditions.ts";
import type { DesiredStatus } from "./statuses.ts";

export function classStatus(model: Class): DesiredStatus {
  return {
    kind: "GatewayClass",
    generation: model.generation,
    conditions: [
      condition("Accepted", model.refused, {
        reason: "Accepted",
        message: "Gateways of this class are served by Gatehouse",
      }),
    ],
  };
}
