/**
 * Who asks, and what they may do.
 *
 * Identities come from client certificates as in Kubernetes: the common name is the user, organizations are groups.
 * Members of `system:masters` may do everything; others may look at what is served, and at themselves.
 *
 * @module
 */
import { ApiError } from "./status.ts";

export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export function mayDo(identity: Identity): boolean {
  return identity.groups.includes("system:masters");
}

/** @throws {ApiError} 403 */
export function authorize(identity: Identity, attributes: Attributes): void {
  if (mayDo(identity)) return;
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const subject = group ? `${resource}.${group}` : resource;
  const where = namespace === undefined
    ? "at the cluster scope"
    : `in the namespace ${JSON.stringify(namespace)}`;
  const what = JSON.stringify(subresource ? `${resource}/${subresource}` : resource);
  throw new ApiError(
    403,
    "Forbidden",
    `${subject}${name ? ` ${JSON.stringify(name)}` : ""} is forbidden: User ${
      JSON.stringify(identity.user)
    } cannot ` +
      `${verb} resource ${what} in API group ${JSON.stringify(group)} ${where}`,
    { ...(name ? { name } : {}), ...(group ? { group } : {}), kind: resource },
  );
}

/** The answer to a review of one's own rights; `undefined` for a path that is none. */
export function review(groupVersion: string, plural: string, identity: Identity, body: unknown): unknown {
  const request = (body ?? {}) as { readonly spec?: unknown };
  const allowed = mayDo(identity);
  const head = { metadata: { creationTimestamp: null }, spec: request.spec ?? {} };
  switch (`${groupVersion}/${plural}`) {
    case "authorization.k8s.io/v1/selfsubjectaccessreviews":
      return {
        kind: "SelfSubjectAccessReview",
        apiVersion: groupVersion,
        ...head,
        status: { allowed, ...(allowed ? {} : { reason: "only members of system:masters may" }) },
      };
    case "authorization.k8s.io/v1/selfsubjectrulesreviews":
      return {
        kind: "SelfSubjectRulesReview",
        apiVersion: groupVersion,
        ...head,
        status: {
          incomplete: false,
          resourceRules: allowed ? [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] : [],
          nonResourceRules: allowed ? [{ verbs: ["*"], nonResourceURLs: ["*"] }] : [],
        },
      };
    case "authentication.k8s.io/v1/selfsubjectreviews":
      return {
        kind: "SelfSubjectReview",
        apiVersion: groupVersion,
        metadata: { creationTimestamp: null },
        status: {
          userInfo: { username: identity.user, groups: [...identity.groups, "system:authenticated"] },
        },
      };
    default:
      return undefined;
  }
}

/** The virtual resources of {@linkcode review}, for discovery. */
export const reviews: {
  readonly [groupVersion: string]: readonly { readonly plural: string; readonly kind: string }[];
} = {
  "authentication.k8s.io/v1": [{ plural: "selfsubjectreviews", kind: "SelfSubjectReview" }],
  "authorization.k8s.io/v1": [
    { plural: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview" },
    { plural: "selfsubjectrulesreviews", kind: "SelfSubjectRulesReview" },
  ],
};
