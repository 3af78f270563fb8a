/**
 * Translation of a set of objects in one go: the same tables, settled once. For the CLI and for tests.
 *
 * @module
 */
import { type ApiObject, keyOf, splitApiVersion } from "../../crds/kind.ts";
import { Graph, type Source } from "../runtime/graph.ts";
import {
  type Config,
  createWorld,
  defaultConfig,
  deriveIr,
  type ToldWorld,
  type Translation,
  type World,
} from "./mod.ts";
import { groups } from "./world.ts";

/** Everything that came of some objects, and the tables that it came from. */
export interface Batch extends Translation {
  readonly graph: Graph;
  readonly world: ToldWorld;
  /** Objects of kinds that translation does not read; other groups have a Gateway, too. */
  readonly ignored: readonly ApiObject[];
}

/**
 * Translates objects. `prepare` runs between wiring and settling: it may add rows to the world (addresses, verdicts)
 * and derive further tables.
 */
export function translate(
  objects: Iterable<ApiObject>,
  config: Config = defaultConfig,
  prepare: (graph: Graph, world: ToldWorld, translation: Translation) => void = () => {},
  graph: Graph = new Graph(),
): Batch {
  const world = createWorld(graph);
  const translation = deriveIr(graph, world, config);
  const ignored: ApiObject[] = [];
  for (const object of objects) {
    const source = sourceOf(world, object.kind);
    if (source && splitApiVersion(object.apiVersion).group === groups[object.kind as keyof typeof groups]) {
      source.set(keyOf(object), object);
    } else ignored.push(object);
  }
  prepare(graph, world, translation);
  graph.settle();
  return { ...translation, graph, world, ignored };
}

/** The source that objects of a kind belong into, if translation reads them. */
export function sourceOf(world: World, kind: string): Source<ApiObject> | undefined {
  if (!Object.hasOwn(world.objects, kind)) return undefined;
  return world.objects[kind as keyof World["objects"]] as unknown as Source<ApiObject>;
}
