/**
 * GatewayClasses that name our controller.
 *
 * @module
 */
import type { GatewayClass } from "../../crds/mod.ts";
import type { Config } from "./config.ts";
import type { Fault } from "./conditions.ts";
import type { Key, Read, Table } from "../runtime/graph.ts";
import type { FleetSource } from "./fleet.ts";
import { type FleetModel, resolveParameters } from "./fleets.ts";

/** A GatewayClass that is ours. Row key: its name. */
export interface Class {
  readonly generation: number;
  /** The EnvoyFleet that it names. */
  readonly fleet?: Key;
  /** What that says. */
  readonly source?: FleetSource;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
}

/** Reads a GatewayClass; `undefined` if another controller looks after it. */
export function modelClass(
  { metadata, spec }: GatewayClass,
  read: Read,
  fleets: Table<FleetModel>,
  config: Config,
): Class | undefined {
  if (spec.controllerName !== config.controllerName) return undefined;
  const { key, source, fault } = resolveParameters("spec.parametersRef", spec.parametersRef, read, fleets);
  return {
    generation: metadata.generation ?? 0,
    ...key !== undefined && { fleet: key },
    ...source && { source },
    ...fault && { refused: fault },
  };
}
