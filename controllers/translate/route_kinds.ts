/**
 * The kinds of routes that are understood. A new one is a description in this list.
 *
 * @module
 */
import { httpRoute } from "./http_route.ts";
import type { RouteKind, RouteKindName } from "./route_kind.ts";

export const routeKinds: readonly RouteKind[] = [httpRoute];

const byName = new Map(routeKinds.map((description) => [description.kind, description]));

/** The description of the kind that a route is of. */
export function descriptionOf({ kind }: { readonly kind: RouteKindName }): RouteKind {
  const description = byName.get(kind);
  if (description === undefined) throw new Error(`Cannot describe routes of kind ${kind}`);
  return description;
}
