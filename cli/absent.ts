/**
 * What manifests hang on that is not among them.
 *
 * In a cluster a route whose Gateway is not there has no status, since nobody is responsible for it. To whoever checks files
 * that silence would look like success.
 *
 * @module
 */
import type { ApiObject } from "../crds/kind.ts";

const group = "gateway.networking.k8s.io";

interface ParentRef {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

interface SpecLike {
  readonly gatewayClassName?: string;
  readonly parentRefs?: readonly ParentRef[];
  readonly parentRef?: ParentRef;
}

/** A line for each GatewayClass of a Gateway, and each parent of a route or a ListenerSet, that is not among `objects`. */
export function absent(objects: readonly ApiObject[]): readonly string[] {
  const ours = objects.filter(({ apiVersion }) => apiVersion.startsWith(`${group}/`));
  const there = new Set(
    ours.map(({ kind, metadata: { namespace = "", name } }) => `${kind}/${namespace}/${name}`),
  );
  return ours.flatMap((object) => {
    const { namespace = "", name } = object.metadata;
    const { spec = {} } = object as { readonly spec?: SpecLike };
    const lines: string[] = [];
    if (object.kind === "Gateway" && !there.has(`GatewayClass//${spec.gatewayClassName}`)) {
      lines.push(`GatewayClass "${spec.gatewayClassName}"`);
    }
    for (const parent of parentsOf(object.kind, spec)) {
      const kind = parent.kind ?? "Gateway", place = parent.namespace ?? namespace;
      if ((parent.group ?? group) !== group || kind !== "Gateway" && kind !== "ListenerSet") continue;
      if (!there.has(`${kind}/${place}/${parent.name}`)) lines.push(`${kind} "${place}/${parent.name}"`);
    }
    return [...new Set(lines)].map((line) =>
      `${object.kind}/${namespace}/${name}: ${line} is not among these files, so nothing can be said; add it`
    );
  });
}

function parentsOf(kind: string, { parentRefs = [], parentRef }: SpecLike): readonly ParentRef[] {
  if (kind === "ListenerSet") return parentRef ? [parentRef] : [];
  return kind.endsWith("Route") ? parentRefs : [];
}
