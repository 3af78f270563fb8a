/**
 * The authority that has signed the xDS servers' certificates: a Secret that all replicas read, and that the leader writes.
 *
 * Who deletes the Secret gets another authority at once. Proxies go on with what they have until they have been told of it.
 *
 * @module
 */
import { type Secret, secret as secretKind } from "../crds/mod.ts";
import { isStatus } from "../kube/errors.ts";
import { isConflict } from "../kube/patch.ts";
import type { Kube } from "../kube/types.ts";
import { afterConflict, type Controller } from "./controller.ts";
import {
  type AuthorityFile,
  type AuthorityTimes,
  bundleOf,
  changeDue,
  readAuthorities,
  renewAuthorities,
  writeAuthorities,
} from "./runtime/authorities.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Graph, Table } from "./runtime/graph.ts";
import type { Log } from "./runtime/log.ts";

/** Which Secret. */
export interface AuthoritySecret {
  readonly namespace: string;
  readonly name: string;
}

/** A write to the Secret. */
export interface AuthorityWrite {
  readonly reason: string;
  /** Of the Secret as it is; without one it has to be made. */
  readonly resourceVersion?: string;
}

export interface AuthorityTables {
  /** What the Secret keeps. One row, {@linkcode row}. */
  readonly authorities: Table<AuthorityFile>;
  /** PEM: whom proxies have to trust. One row, {@linkcode row}. */
  readonly bundle: Table<string>;
  readonly due: Table<AuthorityWrite>;
}

/** The key of the only rows that there are; those who trust have a file of this name. */
export const row = "ca.crt";

const key = "authorities.pem";

/** Derives who is trusted and whether that has to change. `secrets` may have others too. */
export function deriveAuthority(
  graph: Graph,
  { secrets, time }: { readonly secrets: Table<Secret>; readonly time: Table<number> },
  { namespace, name, times }: AuthoritySecret & { readonly times: AuthorityTimes },
): AuthorityTables {
  const ours = graph.index(
    "secret of the xDS authority",
    secrets,
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace ? [row] : [],
  );
  const authorities = graph.derive("xDS authorities", ours, (group) => {
    const [secret] = group.values();
    return secret && readAuthorities(decode(secret.data?.[key]));
  });
  const bundle = graph.derive(
    "xDS trust",
    authorities,
    ({ authorities }) => authorities.length > 0 ? bundleOf(authorities) : undefined,
  );
  const due = graph.derive("xDS authority due", time, (now, read): AuthorityWrite | undefined => {
    const file = read(authorities, row) ?? nothing, reason = changeDue(file, now, times);
    if (reason === undefined) return undefined;
    const [secret] = read(ours, row)?.values() ?? [], version = secret?.metadata.resourceVersion;
    return { reason, ...version !== undefined && { resourceVersion: version } };
  });
  return { authorities, bundle, due };
}

const nothing: AuthorityFile = { authorities: [], broken: false };

function decode(data: string | undefined): string {
  try {
    return atob(data ?? "");
  } catch {
    return ""; // An API server would not have taken it.
  }
}

export interface AuthorityOptions extends AuthoritySecret {
  readonly tables: AuthorityTables;
  readonly times: AuthorityTimes;
  readonly kube: Pick<Kube, "create" | "patch">;
  readonly labels: { readonly [name: string]: string };
  readonly clock: Clock;
  readonly log: Log;
}

export function authorityController(options: AuthorityOptions): Controller<AuthorityWrite> {
  const { tables, times, kube, namespace, name, labels, clock, log } = options;
  return {
    name: "authority",
    due: tables.due,
    async apply({ reason, resourceVersion }, signal) {
      const file = tables.authorities.get(row) ?? nothing;
      const next = await renewAuthorities(file, clock.now().getTime(), times, "gatehouse xDS");
      const data = { [key]: btoa(writeAuthorities(next)) };
      try {
        if (resourceVersion === undefined) {
          const type = "gatehouse.dev/authority", metadata = { namespace, name, labels };
          await kube.create(secretKind, { apiVersion: "v1", kind: "Secret", metadata, type, data }, signal);
        } else {
          await kube.patch(secretKind, { namespace, name }, [
            { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
            { op: "add", path: "/data", value: data },
          ], { signal });
        }
        if (reason === "broken") {
          log.warn(
            "Replaced what cannot sign in the Secret of the xDS authority: it takes pairs of a CA's certificate and its EC key on P-256, in PEM",
            { secret: `${namespace}/${name}`, kept: file.authorities.length },
          );
        }
        log.info("Renewed the authority of the xDS servers", { reason, authorities: next.length });
      } catch (error) {
        if (!isConflict(error) && !isStatus(error, 404, 409)) throw error;
        return afterConflict;
      }
    },
  };
}
