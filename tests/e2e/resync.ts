/**
 * Telling an operator the same state again, and what it does about it.
 *
 * @module
 */
import type { Source } from "../../controllers/runtime/graph.ts";
import { metadataOnly } from "../../controllers/translate/mod.ts";
import { allKinds, type ApiObject, type Kind } from "../../crds/mod.ts";
import { list } from "../../kube/list.ts";
import type { TestGateway } from "./gateway.ts";

/** Tells the operator everything anew, as after a watch that had to start over. Gives how many objects there are. */
export async function resync({ kube, local: { operator } }: TestGateway): Promise<number> {
  let objects = 0;
  for (const [name, source] of Object.entries(operator.world.objects)) {
    // A list of whole objects is not what these are watched as.
    if (metadataOnly.has(name as keyof typeof operator.world.objects)) continue;
    const kind = allKinds.find(({ kind }) => kind === name) as Kind;
    const all = await list(kube, kind, { signal: AbortSignal.timeout(10_000) });
    objects += all.objects.length;
    const events = (async function* () {
      yield { type: "replace", objects: all.objects } as const;
    })();
    await operator.loop.follow(kind.plural, events, source as unknown as Source<ApiObject>);
  }
  await operator.loop.idle();
  return objects;
}

/** How much proxies have been sent so far, by type of resource. */
export async function sent({ local: { operator } }: TestGateway): Promise<string> {
  const text = await operator.metrics.render();
  return text.split("\n").filter((line) => line.startsWith("gatehouse_xds_pushes_total")).join("\n");
}
