/**
 * CustomResourceDefinitions, as a cluster with these kinds would list them. They can be read and watched, not written:
 * the kinds are part of this program.
 *
 * @module
 */
import type { ApiObject, Version } from "../../crds/kind.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import { timestamp } from "./deletion.ts";
import type { Resource, Resources } from "./resources.ts";
import type { Writing } from "./target.ts";

const id = "customresourcedefinitions.apiextensions.k8s.io";

type Body = Readonly<Record<string, unknown>>;

function versionOf(resources: Resources, resource: Resource, version: Version): Body {
  return {
    name: version.name,
    served: resource.versions.includes(version),
    storage: resource.isStored(version.name),
    ...(version.deprecated ? { deprecated: true } : {}),
    schema: { openAPIV3Schema: resources.model.openapi(resource.kind, version, resources.channel) },
    ...(resource.kind.hasStatus ? { subresources: { status: {} } } : {}),
    ...(version.columns.length > 0 ? { additionalPrinterColumns: version.columns } : {}),
  };
}

function names({ kind }: Resource): Body {
  return {
    kind: kind.kind,
    listKind: kind.listKind,
    plural: kind.plural,
    singular: kind.singular,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  };
}

function definition(resources: Resources, resource: Resource, since: string): Body {
  const { kind, group } = resource;
  const upstream = group === "gateway.networking.k8s.io" || group === "gateway.networking.x-k8s.io";
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: "True",
    reason,
    message,
    lastTransitionTime: since,
  });
  return {
    annotations: upstream
      ? {
        "gateway.networking.k8s.io/bundle-version": resources.model.bundleVersion,
        "gateway.networking.k8s.io/channel": resources.channel,
      }
      : {},
    spec: {
      group,
      names: names(resource),
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      versions: kind.versions.map((version) => versionOf(resources, resource, version)),
      conversion: { strategy: "None" },
    },
    status: {
      acceptedNames: names(resource),
      conditions: [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
      ],
      storedVersions: kind.versions.filter(({ name }) => resource.isStored(name)).map(({ name }) => name),
    },
  };
}

/** Brings the stored definitions in line with the kinds that are served. */
export async function defineKinds({ store, resources, clock }: Writing): Promise<void> {
  if (!resources.byId(id)) return;
  const now = timestamp(clock.now());
  const served = resources.all.filter(({ custom }) => custom);
  await store.write((tx) => {
    for (const { key } of tx.rows(id)) {
      if (!served.some((resource) => resource.id === key)) tx.delete(id, key);
    }
    for (const resource of served) {
      const old = tx.get(id, resource.id)?.object;
      const since = old?.metadata.creationTimestamp ?? now;
      const { annotations, ...body } = definition(resources, resource, since);
      const object = {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: {
          name: resource.id,
          uid: old?.metadata.uid ?? crypto.randomUUID(),
          creationTimestamp: since,
          generation: old?.metadata.generation ?? 1,
          annotations,
        },
        ...body,
      } as unknown as ApiObject;
      const resourceVersion = old?.metadata.resourceVersion;
      const same = { ...object, metadata: { ...object.metadata, resourceVersion } };
      if (!old || !equal(JSON.parse(JSON.stringify(same)), old)) tx.put(id, object);
    }
  });
}
