/**
 * What objects are like, whoever has made them and when: two lives that ought to come to the same are compared by it.
 *
 * @module
 */

/** Fields that the server gives, that tell of times, or that depend on these; and certificates, which nobody makes twice. */
const ofServer = new RegExp(
  `^(${
    [
      ...["uid", "resourceVersion", "generation", "observedGeneration", "creationTimestamp", "managedFields"],
      ...["lastTransitionTime", "clusterIPs?", "nodePort", "healthCheckNodePort"],
      ...["gatehouse\\.dev/applied", "ca\\.crt"],
    ].join("|")
  })$`,
);

/** An object, or any value with some in it, without what differs between two that were made in the same way. */
export function withoutIdentity(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIdentity);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !ofServer.test(name)).sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, inner]) => [name, withoutIdentity(inner)]),
  );
}
