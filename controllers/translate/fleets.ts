/**
 * EnvoyFleets, and the `parametersRef` by which GatewayClasses and Gateways name them (GEP-1867).
 *
 * @module
 */
import { type EnvoyFleet, envoyFleet } from "../../crds/mod.ts";
import { validate } from "../../crds/validate.ts";
import type { Key, Read, Table } from "../runtime/graph.ts";
import { bug, type Fault, join } from "./conditions.ts";
import type { FleetSource } from "./fleet.ts";

/** An EnvoyFleet, checked. Row key: `namespace/name`. */
export interface FleetModel {
  readonly generation: number;
  readonly source: FleetSource;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
}

/**
 * Reads an EnvoyFleet. What its definition should have refused is refused here: the one that is installed may be another
 * than ours.
 */
export function modelFleet(object: EnvoyFleet): FleetModel {
  const { metadata } = object;
  const { object: judged, errors } = validate(envoyFleet, "v1alpha1", object, { fieldValidation: "Ignore" });
  const wrong = errors.filter(({ field }) => field.startsWith("spec"));
  return {
    generation: metadata.generation ?? 0,
    source: { namespace: metadata.namespace ?? "", spec: wrong.length > 0 ? {} : judged.spec },
    ...wrong.length > 0 && {
      refused: {
        reason: "Invalid",
        message: join(wrong.map(({ field, message }) => `${field}: ${message}`)),
      },
    },
  };
}

/** What stands for an EnvoyFleet that could not be read because of a bug. */
export function unreadableFleet({ metadata }: EnvoyFleet, error: unknown): FleetModel {
  return {
    generation: metadata.generation ?? 0,
    source: { namespace: metadata.namespace ?? "", spec: {} },
    refused: bug("read this EnvoyFleet", error),
  };
}

/** A `parametersRef`, wherever it stands. */
export interface ParametersRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** What a `parametersRef` comes to. */
export interface Parameters {
  /** The EnvoyFleet that is named, whether it exists or not; absent if nothing like it could be. */
  readonly key?: Key;
  readonly source?: FleetSource;
  /** Why there is no `source`. */
  readonly fault?: Fault;
}

/** Follows a `parametersRef`; `field` is where it stands, for messages. */
export function resolveParameters(
  field: string,
  reference: ParametersRef | undefined,
  read: Read,
  fleets: Table<FleetModel>,
): Parameters {
  if (reference === undefined) return {};
  const { group, kind, name, namespace } = reference;
  const full = group === "" ? kind : `${group}/${kind}`;
  const title = `Cannot use ${field} ${full} "${namespace === undefined ? name : `${namespace}/${name}`}"`;
  const invalid = (why: string): Fault => ({ reason: "InvalidParameters", message: `${title}: ${why}` });
  if (group !== envoyFleet.group || kind !== envoyFleet.kind) {
    const own = `${envoyFleet.group}/${envoyFleet.kind}`;
    return { fault: invalid(`this kind is not supported, use ${own}`) };
  }
  if (namespace === undefined) return { fault: invalid("it names no namespace, add one") };
  const key = `${namespace}/${name}`;
  const model = read(fleets, key);
  if (model === undefined) return { key, fault: invalid("there is no such EnvoyFleet") };
  if (model.refused) return { key, fault: invalid(`it is not valid: ${model.refused.message}`) };
  return { key, source: model.source };
}
