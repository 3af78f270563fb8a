/**
 * Lets objects go without the operator: the way out when it is not there to do it.
 *
 * @module
 */
import type { ApiObject, Gateway, GatewayClass, Kind } from "../crds/mod.ts";
import { gateway, gatewayClass } from "../crds/mod.ts";
import { isStatus } from "../kube/errors.ts";
import { list } from "../kube/list.ts";
import { isConflict } from "../kube/patch.ts";
import type { Kube, PatchOperation } from "../kube/types.ts";

/** An object that is kept by a finalizer of ours. */
export interface Kept {
  readonly kind: Kind;
  readonly object: Gateway | GatewayClass;
  readonly finalizer: string;
}

/** What the finalizers of an installation are called. */
export interface Finalizers {
  readonly controllerName: string;
  readonly gateway: string;
  readonly gatewayClass: string;
}

/** The patch that takes a finalizer from an object. */
export type Without = (metadata: ApiObject["metadata"], finalizer: string) => readonly PatchOperation[];

/**
 * Finds everything that is kept by finalizers of ours; GatewayClasses of other controllers are theirs to let go. With `namespaces`
 * these are all there is: an operator that is confined to them puts nothing on what is in none.
 */
export async function kept(
  kube: Kube,
  names: Finalizers,
  signal: AbortSignal,
  namespaces?: readonly string[],
): Promise<readonly Kept[]> {
  const found: Kept[] = [];
  for (const namespace of namespaces ?? [undefined]) {
    for (const object of await all(kube, gateway, signal, namespace)) {
      if (object.metadata.finalizers?.includes(names.gateway)) {
        found.push({ kind: gateway, object, finalizer: names.gateway });
      }
    }
  }
  if (namespaces) return found;
  for (const object of await all(kube, gatewayClass, signal)) {
    const ours = object.spec.controllerName === names.controllerName;
    if (ours && object.metadata.finalizers?.includes(names.gatewayClass)) {
      found.push({ kind: gatewayClass, object, finalizer: names.gatewayClass });
    }
  }
  return found;
}

/** Where the kind is not even served there is nothing to let go. */
async function all<T extends ApiObject>(
  kube: Kube,
  kind: Kind<T>,
  signal: AbortSignal,
  namespace?: string,
): Promise<readonly T[]> {
  try {
    return (await list(kube, kind, { signal, namespace })).objects;
  } catch (error) {
    if (isStatus(error, 404)) return [];
    throw error;
  }
}

/** How often an object that changes meanwhile is read anew. */
const tries = 10;

/** Takes a finalizer from an object, whatever happens to it meanwhile. */
export async function letGo(
  kube: Kube,
  { kind, object, finalizer }: Kept,
  without: Without,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace } = object.metadata, named = { name, ...namespace !== undefined && { namespace } };
  let { metadata }: ApiObject = object;
  for (let left = tries;; left--) {
    try {
      if (metadata.finalizers?.includes(finalizer)) {
        await kube.patch(kind, named, without(metadata, finalizer), { signal });
      }
      return;
    } catch (error) {
      if (isStatus(error, 404)) return;
      if (!isConflict(error) || left === 1) throw error;
    }
    try {
      ({ metadata } = await kube.get(kind, named, signal));
    } catch (error) {
      if (isStatus(error, 404)) return;
      throw error;
    }
  }
}
