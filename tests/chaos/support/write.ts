/**
 * Writes as a patient user does: again, for as long as the server is only busy or behind.
 *
 * @module
 */
import type { Kind } from "../../../crds/mod.ts";
import { KubeError } from "../../../kube/errors.ts";
import type { Draft, Kube } from "../../../kube/types.ts";

/** Makes an object, or gives the one that there is these fields. */
export function put(kube: Kube, kind: Kind, object: Draft): Promise<void> {
  return patiently(async () => {
    try {
      await kube.create(kind, object);
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
      const { apiVersion: _v, kind: _k, metadata: _m, ...fields } = object as unknown as Record<
        string,
        unknown
      >;
      const patch = Object.entries(fields).map(([field, value]) => ({
        op: "add" as const,
        path: `/${field}`,
        value,
      }));
      await kube.patch(kind, where(object), patch);
    }
  });
}

/** Deletes an object, if it is there. */
export function remove(kube: Kube, kind: Kind, object: Draft): Promise<void> {
  return patiently(async () => void await kube.delete(kind, where(object)));
}

function where({ metadata: { name, namespace } }: Draft) {
  return { name, ...namespace !== undefined && { namespace } };
}

async function patiently(act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status === 404) return;
      if (error.status !== 409 && error.status !== 429) throw error;
    }
  }
}
