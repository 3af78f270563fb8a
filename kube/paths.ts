/**
 * Where the API server keeps the objects of a kind.
 *
 * @module
 */
import type { Kind } from "../crds/kind.ts";

/** Which objects: all of a kind, those of a namespace, or one. */
export interface Place {
  /** By default the kind's storage version. */
  readonly version?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * The path of objects, such as `/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/web/status`.
 *
 * @throws {TypeError} for a namespaced object without namespace, since the server would answer a misleading 404.
 */
export function pathOf(kind: Kind, place: Place = {}): string {
  const { version = kind.versions[0].name, namespace, name, subresource } = place;
  if (kind.namespaced && name !== undefined && !namespace) {
    throw new TypeError(`Cannot name ${kind.kind} "${name}": it has no namespace`);
  }
  const root = kind.group ? `/apis/${kind.group}/${version}` : `/api/${version}`;
  const segments = [
    ...(kind.namespaced && namespace ? ["namespaces", namespace] : []),
    kind.plural,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return `${root}/${segments.map(encodeURIComponent).join("/")}`;
}
