/**
 * What the objects of a Gateway are called and labelled, and whose an object is. GEP-1762.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { ObjectMeta, OwnerReference } from "../../crds/kind.ts";
import type { GatewayKey } from "../ir/mod.ts";
import { fieldManager, labels } from "./names.ts";

/** How long a label's value, and the name of a Service, may be. */
const longest = 63;

/** How many characters of a name stay where the rest has to become a hash. */
const kept = 20;

/** Names that every kind may have: a Service's is a DNS label that begins with a letter (RFC 1035). */
const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/**
 * The value of a label that stands for a name. One that is too long becomes its first 20 characters and the SHA-1 of the
 * others, as GEP-1762 demands.
 */
export function labelValue(name: string): string {
  return name.length <= longest ? name : `${name.slice(0, kept)}-${sha1(name.slice(kept))}`;
}

/**
 * The name of all objects of a Gateway: `NAME-CLASS`. One that is too long is shortened as {@linkcode labelValue} does it; one
 * that no Service may have, such as for a dot, keeps what it may of its beginning.
 */
export function childName(gateway: string, className: string): string {
  const name = `${gateway}-${className}`;
  if (label.test(name)) return labelValue(name);
  const clean = name.replaceAll(/[^-a-z0-9]/g, "-");
  return `${(/^[a-z]/.test(clean) ? clean : `g${clean}`).slice(0, kept)}-${sha1(name)}`;
}

/** The labels by which the pods of a Gateway are found. They never change, since those of a workload may not. */
export function selectorLabels(gateway: string, className: string): { readonly [name: string]: string } {
  return { [labels.gatewayName]: labelValue(gateway), [labels.gatewayClassName]: labelValue(className) };
}

/** The labels of everything that is made for a Gateway. */
export function ownLabels(gateway: string, className: string): { readonly [name: string]: string } {
  return {
    ...selectorLabels(gateway, className),
    [labels.managedBy]: fieldManager,
    [labels.name]: "envoy",
  };
}

/** The Gateway that controls an object, by its owner references. */
export function ownerOf({ namespace, ownerReferences }: ObjectMeta):
  | { readonly gateway: GatewayKey; readonly uid: string }
  | undefined {
  const owner = ownerReferences?.find(({ controller }) => controller);
  if (!owner || owner.kind !== "Gateway" || !/^gateway\.networking\.k8s\.io\//.test(owner.apiVersion)) {
    return undefined;
  }
  return { gateway: `${namespace}/${owner.name}`, uid: owner.uid };
}

/** How a child says whose it is. */
export function ownerReference(gateway: string, uid: string): OwnerReference {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    name: gateway,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
