/**
 * Finalizers: a Gateway does not go before its proxies have stopped serving it, nor a GatewayClass before its last Gateway.
 *
 * Here is decided which are to be added and removed; how long a Gateway may be kept waiting is the writer's to decide.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { ApiObject, Gateway, GatewayClass } from "../../crds/mod.ts";
import type { Graph, Group, Key, Table } from "../runtime/graph.ts";
import type { Class } from "./classes.ts";
import { type Config, defaultConfig } from "./config.ts";
import type { PatchOperation, StatusWrite } from "./due.ts";
import type { GatewayModel } from "./gateways.ts";
import { within } from "./keys.ts";
import type { ListenerSetModel } from "./listener_sets.ts";
import type { World } from "./world.ts";

/** A finalizer to add or to remove. Row key: `Kind/namespace/name`. */
export interface FinalizerWrite {
  readonly kind: "Gateway" | "GatewayClass";
  /** `namespace/name`, or `name`. */
  readonly key: Key;
  readonly uid: string;
  /** The version of the object that the patch was made for; the patch tests it. */
  readonly resourceVersion: string;
  readonly patch: readonly PatchOperation[];
  /** Why the proxies still serve it, so that the write should wait for a while. */
  readonly wait?: string;
}

/** What a GatewayClass is kept by while there are Gateways of it, as the specification names it. */
export const gatewayExists = "gateway-exists-finalizer.gateway.networking.k8s.io";

/**
 * What Gateways are kept by while proxies serve them. Installations with controller names of their own have finalizers of their
 * own, and so never let go of what is another's.
 */
export function gatewayFinalizer(controllerName: string): string {
  const name = "gatehouse.dev/data-plane";
  if (controllerName === defaultConfig.controllerName) return name;
  return `${name}-${createHash("sha256").update(controllerName).digest("hex").slice(0, 8)}`;
}

/** With this annotation, set to `true`, a Gateway is let go without waiting for its proxies. */
export const skipTeardown = "gatehouse.dev/skip-teardown";

export interface FinalizerTables {
  readonly classes: Table<Class>;
  readonly gateways: Table<GatewayModel>;
  readonly setsByGateway: Table<Group<ListenerSetModel>>;
  /** The statuses that are due. */
  readonly due: Table<StatusWrite>;
}

/** Derives the finalizers that are to be added or removed. */
export function deriveFinalizers(
  graph: Graph,
  world: World,
  { classes, gateways, setsByGateway, due }: FinalizerTables,
  { finalizer }: Config,
): Table<FinalizerWrite> {
  const { Gateway, GatewayClass } = world.objects;
  // The status of a Gateway changes often, its class hardly ever.
  const classOf = graph.derive("classes of gateways", Gateway, ({ spec }) => spec.gatewayClassName);
  const byClass = graph.index("gateways by class", classOf, (name) => [name]);
  const inUse = graph.derive("classes in use", byClass, () => true);
  const ofClasses = graph.derive("finalizers of classes", GatewayClass, (object, read, key) => {
    if (finalizer === undefined || read(classes, key) === undefined) return undefined;
    return change("GatewayClass", object, key, gatewayExists, read(inUse, key) === true);
  });
  const ofGateways = graph.derive("finalizers of gateways", Gateway, (object, read, key) => {
    if (finalizer === undefined) return undefined;
    const { metadata } = object, model = read(gateways, key);
    if (metadata.deletionTimestamp === undefined) {
      // What is refused has no proxies; if it had some before, it keeps its finalizer until it is deleted.
      if ((model?.refused ?? model?.unmanaged) && !metadata.finalizers?.includes(finalizer)) return undefined;
      return change("Gateway", object, key, finalizer, model !== undefined);
    }
    const release = change("Gateway", object, key, finalizer, false);
    // If the class is not ours any more, nobody programs the proxies either.
    if (!release || model === undefined || metadata.annotations?.[skipTeardown] === "true") return release;
    // Who adds to a Gateway has to hear of its end while it is known whose it is.
    const untold = [...read(setsByGateway, key)?.values() ?? []].find(({ origin }) => read(due, origin));
    if (untold) return { ...release, wait: `${untold.origin} has not been told yet` };
    if ((read(world.proxies, key)?.length ?? 0) === 0) return release;
    const verdict = read(world.verdicts, within(key, `Gateway/${key}`));
    if (verdict?.state === "programmed" && verdict.generation >= (metadata.generation ?? 0)) return release;
    return { ...release, wait: verdict?.message || "The proxies have not been told yet" };
  });
  return graph.union<FinalizerWrite>("finalizers", [
    ["GatewayClass/", ofClasses],
    ["Gateway/", ofGateways],
  ]);
}

/** The write after which an object has a finalizer, or has not; undefined if none is needed. */
function change(
  kind: FinalizerWrite["kind"],
  { metadata }: Gateway | GatewayClass,
  key: Key,
  finalizer: string,
  wanted: boolean,
): FinalizerWrite | undefined {
  const present = metadata.finalizers ?? [];
  // An object that is being deleted takes no new ones.
  if (present.includes(finalizer) === wanted || wanted && metadata.deletionTimestamp !== undefined) {
    return undefined;
  }
  const { resourceVersion, uid = "" } = metadata;
  // One that is only assumed, since it may not be read, is nobody's to write.
  if (resourceVersion === undefined) return undefined;
  return { kind, key, uid, resourceVersion, patch: withFinalizer(metadata, finalizer, wanted) };
}

/** The patch that adds a finalizer to an object, or takes it away, and touches no others. */
export function withFinalizer(
  { finalizers = [], resourceVersion }: ApiObject["metadata"],
  finalizer: string,
  wanted: boolean,
): readonly PatchOperation[] {
  const value = finalizers.filter((other) => other !== finalizer);
  return [
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion ?? "" },
    { op: "add", path: "/metadata/finalizers", value: wanted ? [...value, finalizer] : value },
  ];
}
