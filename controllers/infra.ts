/**
 * Writes the objects of Gateways: applies what is not as it should be, deletes what is wanted no longer.
 *
 * Every write is for what was observed: it carries the version of the object, so that nothing is overwritten that was not
 * taken into account, whoever leads, and nothing that was made in the meantime. What is not the Gateway's is left alone.
 *
 * @module
 */
import { type ApiObject, type Kind, kindFor, kindOf } from "../crds/mod.ts";
import { isStatus, KubeError } from "../kube/errors.ts";
import { isConflict } from "../kube/patch.ts";
import type { Kube, Name } from "../kube/types.ts";
import { afterConflict, type Controller } from "./controller.ts";
import { namesake, owns, writtenOver } from "./infrastructure/due.ts";
import type { Child, ChildKind, ChildWrite } from "./infrastructure/mod.ts";
import { fieldManager, labels } from "./infrastructure/names.ts";
import type { Key, Table } from "./runtime/graph.ts";
import type { Log } from "./runtime/log.ts";
import type { Again } from "./runtime/queue.ts";

/** Why a write is not possible, for the condition Programmed of its Gateway. */
export interface WriteRefusal {
  readonly gateway: Key;
  readonly reason: string;
  readonly message: string;
}

export type ChildResult = "applied" | "deleted" | "conflict" | "namesake" | "refused" | "failed";

export interface InfrastructureControllerOptions {
  readonly due: Table<ChildWrite>;
  readonly kube: Kube;
  readonly log: Log;
  /** Told why a row cannot be written, or that there is no reason any more. */
  readonly refused: (row: Key, refusal: WriteRefusal | undefined) => void;
  /** Told what came of each write. */
  readonly counted?: (kind: string, result: ChildResult) => void;
}

/** How soon to look again, in milliseconds. */
const again = {
  /** An object that is not ours is not watched, so that nobody tells when it goes. */
  namesake: 10_000,
  /** The namespace is about to go, or is gone. */
  namespace: 1_000,
} as const;

/**
 * A version that no object has. What is applied with it is made, or is in conflict if there is one by then: to whom that one
 * belongs has not been looked at. To create by POST would be as safe, but its fields would never be taken back by applying.
 */
const unborn = "1";

export function infrastructureController(
  options: InfrastructureControllerOptions,
): Controller<ChildWrite> {
  const { due, kube, log, counted } = options;
  /** Versions that a write of ours has superseded. What is due for one is due anew once the watch shows the next. */
  const superseded = new Map<Key, string>();
  const refusals = new Set<Key>();
  const refuse = (row: Key, refusal: WriteRefusal | undefined) => {
    if (refusal === undefined && !refusals.delete(row)) return;
    if (refusal !== undefined) refusals.add(row);
    options.refused(row, refusal);
  };

  async function write(row: Key, due: ChildWrite, signal: AbortSignal): Promise<Again | void> {
    const { gateway } = due;
    if (due.action === "none") {
      const { reason, message } = due;
      counted?.(due.kind, reason === "NoResources" ? "namesake" : "refused");
      return refuse(row, { gateway, reason, message });
    }
    if (due.action === "delete") {
      const { namespace, name, uid, resourceVersion } = due;
      await kube.delete(kindNamed(due.kind), { namespace, name }, {
        preconditions: { uid, resourceVersion },
        propagationPolicy: "Background",
        signal,
      });
      log.info("Deleted an object of a Gateway, which is wanted no longer", {
        gateway,
        object: `${due.kind}/${namespace}/${name}`,
      });
      counted?.(due.kind, "deleted");
      return refuse(row, undefined);
    }
    const { object, differs } = due, { metadata } = object;
    if (metadata.resourceVersion !== undefined) {
      await apply(row, object, signal);
      log.info("Applied an object of a Gateway", { gateway, object: nameOf(object), differs });
      return;
    }
    const found = await look(object, signal);
    if (found !== undefined && !owns(object, found)) {
      counted?.(due.kind, "namesake");
      refuse(row, { gateway, reason: "NoResources", message: namesake(object, found) });
      return { requeueAfter: again.namesake };
    }
    if (found === undefined) {
      await apply(row, object, signal);
      log.info("Made an object of a Gateway", { gateway, object: nameOf(object) });
      return;
    }
    // It is either on its way to the tables, or has lost the label that it is watched by.
    const { labels: there, deletionTimestamp } = found.metadata;
    if (there?.[labels.managedBy] === fieldManager || deletionTimestamp !== undefined) {
      return afterConflict;
    }
    await apply(row, writtenOver(object, found, due.pods), signal);
    log.info("Applied an object of a Gateway", {
      gateway,
      object: nameOf(object),
      differs: "metadata.labels",
    });
  }

  async function apply(row: Key, object: Child, signal: AbortSignal): Promise<void> {
    const { metadata } = object, { resourceVersion } = metadata;
    const versioned = { ...object, metadata: { ...metadata, resourceVersion: resourceVersion ?? unborn } };
    const written = await kube.apply(kindFor(object)!, versioned, {
      fieldManager,
      // Of an object that is ours, our fields are.
      ...resourceVersion !== undefined && { force: true },
      signal,
    });
    if (written.metadata.resourceVersion === resourceVersion) {
      log.warn(
        "Applying changed nothing: something before the API server's storage takes it back, or this is a bug in Gatehouse",
        { object: nameOf(object) },
      );
    } else if (resourceVersion !== undefined) superseded.set(row, resourceVersion);
    counted?.(object.kind, "applied");
    refuse(row, undefined);
  }

  async function look(object: Child, signal: AbortSignal): Promise<ApiObject | undefined> {
    const { namespace, name } = object.metadata as Name;
    try {
      return await kube.get(kindFor(object)!, { ...namespace !== undefined && { namespace }, name }, signal);
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  return {
    name: "infrastructure",
    due,
    observed(row, due) {
      if (superseded.get(row) !== versionOf(due)) superseded.delete(row);
      if (due === undefined) refuse(row, undefined);
    },
    async apply(due, signal) {
      const row = rowOf(due), version = versionOf(due);
      if (version !== undefined && superseded.get(row) === version) return;
      try {
        return await write(row, due, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isStatus(error, 404)) {
          return due.action === "delete" ? undefined : { requeueAfter: again.namespace };
        }
        // Somebody else made it in the meantime: who, is seen at the next look.
        if (isConflict(error) || isStatus(error, 409) && error.reason === "AlreadyExists") {
          counted?.(due.kind, "conflict");
          return afterConflict;
        }
        if (isEnding(error)) return { requeueAfter: again.namespace };
        const refusal = refusalOf(due, error);
        counted?.(due.kind, refusal ? "refused" : "failed");
        // Of what is wanted no longer nobody would take it back.
        if (refusal && options.due.get(row) !== undefined) refuse(row, refusal);
        throw error;
      }
    },
  };
}

function rowOf(due: ChildWrite): Key {
  return due.action === "delete"
    ? `unwanted ${due.kind}/${due.namespace}/${due.name}`
    : `${due.kind}/${due.gateway}`;
}

function versionOf(due: ChildWrite | undefined): string | undefined {
  return due?.action === "apply" ? due.object.metadata.resourceVersion : undefined;
}

function kindNamed(name: ChildKind): Kind<ApiObject> {
  const groups: { readonly [kind: string]: string } = {
    Deployment: "apps",
    DaemonSet: "apps",
    HorizontalPodAutoscaler: "autoscaling",
    PodDisruptionBudget: "policy",
  };
  return kindOf(groups[name] ?? "", name)!;
}

function nameOf({ kind, metadata }: ApiObject): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`;
}

/** Whether a write failed because its namespace is about to go. */
function isEnding(error: unknown): boolean {
  return isStatus(error, 403) &&
    (error.details.causes ?? []).some(({ reason }) => reason === "NamespaceTerminating");
}

/** Answers that say nothing against what was to be written. */
const passing = [401, 408, 429, 503, 504];

/** What the server has against a write, if it has. */
function refusalOf(due: ChildWrite, error: unknown): WriteRefusal | undefined {
  if (!(error instanceof KubeError) || passing.includes(error.status)) return undefined;
  const { metadata } = due.action === "apply"
    ? due.object
    : { metadata: due as { namespace?: string; name?: string } };
  const verb = due.action === "apply" ? "apply" : "delete";
  return {
    gateway: due.gateway,
    reason: reasonOf(due, error),
    message: `Cannot ${verb} ${due.kind} "${metadata.namespace}/${metadata.name}": ${error.words}`,
  };
}

function reasonOf({ kind }: ChildWrite, { status, details }: KubeError): string {
  const address = /^spec\.(clusterIPs?|loadBalancerIP)\b/;
  if (kind === "Service" && details.causes?.some(({ field }) => address.test(field ?? ""))) {
    return "AddressNotUsable";
  }
  // What is forbidden or beyond a quota is a lack of resources; what is invalid comes from the Gateway or its EnvoyFleet.
  return status === 422 ? "Invalid" : "NoResources";
}
