/**
 * Infrastructure wired as the operator wires it, over objects that a test gives.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { type EnvoyFleetSpec, keyOf, kindFor } from "../../crds/mod.ts";
import { authorityKey } from "../../controllers/infrastructure/names.ts";
import {
  type ClusterWorld,
  createClusterWorld,
  deriveInfrastructure,
  type InfrastructureTables,
  type ProxyInput,
  type ProxyStart,
} from "../../controllers/infrastructure/mod.ts";
import { Graph, type Source } from "../../controllers/runtime/graph.ts";
import { type Batch, sourceOf, translate } from "../../controllers/translate/batch.ts";
import { mergeFleet } from "../../controllers/translate/fleet.ts";
import { defaultConfig } from "../../controllers/translate/mod.ts";

export interface Rig extends Omit<Batch, "due">, InfrastructureTables {
  readonly cluster: ClusterWorld;
  /** What stands for the EnvoyFleets of all Gateways, under `spec`. */
  readonly fleet: Source<EnvoyFleetSpec>;
  readonly authorities: Source<string>;
  /** Shows an object to the tables, whatever kind it is of. */
  show(object: ApiObject): void;
  /** Takes one away. */
  hide(object: ApiObject): void;
}

/** What stands for a bootstrap: it says what it was made for. */
export function start(
  { gateway, fleet, configuration, node, concurrency, ...input }: ProxyInput,
): ProxyStart {
  return {
    files: { "envoy.json": JSON.stringify({ gateway, ...input }) },
    args: [
      ...["--config-path", `${configuration}/envoy.json`],
      ...["--service-node", node],
      ...["--log-level", fleet.logLevel],
      ...concurrency === undefined ? [] : ["--concurrency", String(concurrency)],
    ],
  };
}

export function infrastructure(objects: readonly ApiObject[], make = start): Rig {
  const graph = new Graph({ freeze: true });
  const made: {
    cluster?: ClusterWorld;
    tables?: InfrastructureTables;
    authorities?: Source<string>;
    fleet?: Source<EnvoyFleetSpec>;
  } = {};
  const batch = translate(
    [],
    defaultConfig,
    (graph, world, translation) => {
      made.cluster = createClusterWorld(graph);
      made.authorities = graph.source<string>("authorities of xDS");
      const fleet = made.fleet = graph.source<EnvoyFleetSpec>("fleet of all");
      const gateways = graph.derive("gateways with fleets", translation.gateways, (infrastructure, read) => {
        const spec = read(fleet, "spec");
        return spec
          ? { ...infrastructure, fleet: mergeFleet([{ namespace: "", spec }], defaultConfig) }
          : infrastructure;
      });
      made.tables = deriveInfrastructure(graph, world, made.cluster, { gateways }, {
        controllerName: defaultConfig.controllerName,
        image: "docker.io/envoyproxy/envoy:distroless-v1.40.0",
        start: make,
        authorities: made.authorities,
      });
    },
    graph,
  );
  const cluster = made.cluster!, authorities = made.authorities!;
  const sourceFor = (object: ApiObject): Source<ApiObject> => {
    const own = (cluster as unknown as { readonly [kind: string]: Source<ApiObject> })[object.kind];
    const source = own ?? sourceOf(batch.world, object.kind);
    if (!source) throw new Error(`Cannot show a ${object.kind}: no such kind`);
    return source;
  };
  authorities.set(authorityKey, "-----BEGIN CERTIFICATE-----\n");
  const rig: Rig = {
    ...batch,
    ...made.tables!,
    cluster,
    fleet: made.fleet!,
    authorities,
    show: (object) => sourceFor(object).set(keyOf(object), object),
    hide: (object) => sourceFor(object).delete(keyOf(object)),
  };
  for (const object of objects) rig.show(object);
  graph.settle();
  return rig;
}

/** Objects as an API server would keep them: valid, with defaults. */
export function stored(object: ApiObject): ApiObject {
  const schema = kindFor(object)?.versions[0].schema;
  if (!schema) throw new Error(`Cannot read ${object.kind}: no such kind`);
  const { metadata, ...rest } = schema.parse(object);
  return { ...rest, metadata: { uid: `${object.kind}/${metadata.name}`, resourceVersion: "1", ...metadata } };
}
