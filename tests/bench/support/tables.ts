/**
 * The tables of an operator without watches, to make configurations of objects.
 *
 * @module
 */
import { type ApiObject, keyOf } from "../../../crds/kind.ts";
import { systemClock } from "../../../controllers/runtime/clock.ts";
import type { Ir } from "../../../controllers/ir/mod.ts";
import { Graph, type Settlement, type Table } from "../../../controllers/runtime/graph.ts";
import { sourceOf } from "../../../controllers/translate/batch.ts";
import { createWorld, defaultConfig, deriveIr, type ToldWorld } from "../../../controllers/translate/mod.ts";
import { deriveXds } from "../../../xds/build/mod.ts";
import type { XdsResource } from "../../../xds/types.ts";
import { endpointSlice, gateway, gatewayClass, namespace, route, service, stored } from "./objects.ts";

/** A settle, and the longest of its pieces, in milliseconds. */
export interface Settled extends Settlement {
  readonly longest: number;
}

export class Tables {
  readonly graph = new Graph({ clock: systemClock });
  readonly world: ToldWorld = createWorld(this.graph);
  readonly ir: Ir = deriveIr(this.graph, this.world, defaultConfig).ir;
  readonly resources: Table<XdsResource> = deriveXds(this.graph, this.ir, { reusePort: false });
  /** What the objects took that it began with. */
  readonly first: Settlement;
  #edits = 0;

  /** `address` is where Gateways listen. */
  constructor(address: string, objects: Iterable<ApiObject>) {
    const namespaceObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    for (const object of [gatewayClass(), namespaceObject, ...objects]) {
      this.set(object);
      if (object.kind !== "Gateway") continue;
      const assigned = [{ type: "IPAddress" as const, value: address }];
      this.world.addresses.set(keyOf(object), { assigned, bind: [address] });
    }
    this.first = this.settle();
  }

  set(object: ApiObject): void {
    const source = sourceOf(this.world, object.kind);
    if (!source) throw new Error(`Nothing is made of a ${object.kind}`);
    source.set(keyOf(object), stored(object, ++this.#edits));
  }

  /** Settles in pieces of about so many milliseconds, in one go if absent. */
  settle(piece = Infinity): Settled {
    let settlement: Settlement | undefined, longest = 0;
    while (!settlement) {
      const start = performance.now();
      settlement = this.graph.settle(() => performance.now() - start >= piece);
      longest = Math.max(longest, performance.now() - start);
    }
    return { ...settlement, longest };
  }
}

/** A Gateway with so many routes to so many Services, each with so many endpoints. */
export function scene(
  { routes, services = 1, endpoints = 1 }: {
    readonly routes: number;
    readonly services?: number;
    readonly endpoints?: number;
  },
): ApiObject[] {
  return [
    gateway(),
    ...Array.from({ length: services }, (_, i) => service(i)),
    ...Array.from({ length: services }, (_, i) => endpointSlice(i, { count: endpoints })),
    ...Array.from({ length: routes }, (_, i) => route(i, { services })),
  ];
}
