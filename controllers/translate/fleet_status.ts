/**
 * What the statuses of EnvoyFleets have to say: of those that a GatewayClass or a Gateway of ours names, and no others.
 *
 * @module
 */
import type { Verdict } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import type { Class } from "./classes.ts";
import { condition, type DesiredCondition, enumerate } from "./conditions.ts";
import type { FleetModel } from "./fleets.ts";
import type { GatewayModel } from "./gateways.ts";
import { within } from "./keys.ts";
import { notAccepted } from "./progress.ts";
import type { DesiredStatus } from "./statuses.ts";

export interface FleetTables {
  readonly fleets: Table<FleetModel>;
  readonly classes: Table<Class>;
  readonly gateways: Table<GatewayModel>;
  readonly verdicts: Table<Verdict>;
}

export function deriveFleetStatuses(graph: Graph, tables: FleetTables): Table<DesiredStatus> {
  const { fleets, classes, gateways, verdicts } = tables;
  const classesByFleet = graph.index("classes by fleet", classes, ({ fleet }) => fleet ? [fleet] : []);
  const gatewaysByFleet = graph.index("gateways by fleet", gateways, ({ fleets }) => fleets);
  const waiting = graph.derive(
    "gateways that wait",
    gateways,
    ({ terminating, generation, fleets }, read, key) => {
      if (terminating || fleets.length === 0) return undefined;
      const verdict = read(verdicts, within(key, `Gateway/${key}`));
      return verdict?.state === "programmed" && verdict.generation >= generation ? undefined : { fleets };
    },
  );
  const waitingByFleet = graph.index("waiting gateways by fleet", waiting, ({ fleets }) => fleets);
  const named = graph.derive("used fleets", gatewaysByFleet, () => true);
  return graph.derive("statuses of fleets", fleets, (model, read, key): DesiredStatus | undefined => {
    const used = read(named, key) ?? false;
    if (!used && read(classesByFleet, key) === undefined) return undefined;
    const late = read(waitingByFleet, key);
    return {
      kind: "EnvoyFleet",
      generation: model.generation,
      conditions: [
        condition("Accepted", model.refused, { reason: "Accepted", message: "Every field is valid" }),
        progress(model, used, late ? [...late.keys()] : []),
      ],
    };
  });
}

/** How many Gateways are named in a message. */
const mostNames = 3;

function progress(model: FleetModel, used: boolean, late: readonly string[]): DesiredCondition {
  const type = "Programmed";
  if (model.refused) return { type, status: "False", reason: "Invalid", message: notAccepted };
  if (!used) return { type, status: "Unknown", reason: "Pending", message: "No Gateway uses it yet" };
  if (late.length === 0) {
    return {
      type,
      status: "True",
      reason: "Programmed",
      message: "The proxies of every Gateway that uses it have the current configuration",
    };
  }
  const names = late.slice(0, mostNames).map((name) => `"${name}"`);
  const others = late.length > mostNames ? [`${late.length - mostNames} others`] : [];
  return {
    type,
    status: "False",
    reason: "Pending",
    message: `Waiting for the proxies of ${enumerate([...names, ...others])}`,
  };
}
