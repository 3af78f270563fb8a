/**
 * GatewayClasses that name our controller.
 *
 * @module
 */
import type { GatewayClass } from "../../crds/mod.ts";
import type { Config } from "./config.ts";
import type { Fault } from "./conditions.ts";

/** A GatewayClass that is ours. Row key: its name. */
export interface Class {
  readonly generation: number;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
}

/** Reads a GatewayClass; `undefined` if another controller looks after it. */
export function modelClass({ metadata, spec }: GatewayClass, config: Config): Class | undefined {
  if (spec.controllerName !== config.controllerName) return undefined;
  const reference = spec.parametersRef;
  return {
    generation: metadata.generation ?? 0,
    ...reference && {
      refused: {
        reason: "InvalidParameters",
        message: `Cannot use spec.parametersRef ${reference.group}/${reference.kind} "${reference.name}": ` +
          "this kind is not supported",
      },
    },
  };
}
