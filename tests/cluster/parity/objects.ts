/**
 * A valid object of each kind that both servers have, with a change that is allowed.
 *
 * @module
 */
import { gatewayKinds, type Kind } from "../../../crds/mod.ts";
import * as kinds from "../../../crds/mod.ts";
import { pathOf } from "../../../kube/paths.ts";
import { objectOf } from "../../crds/rules/mod.ts";
import type { Json } from "./side.ts";

export interface Sample {
  readonly kind: Kind;
  readonly version: string;
  /** Of the collection; `NS` is the namespace. */
  readonly path: string;
  readonly object: Json;
  /** A merge patch of what may be changed. */
  readonly change: Json;
  /** Whether the change counts as a new generation. */
  readonly strategic: boolean;
}

function sample(kind: Kind, version: string, rest: Json, change: Json): Sample {
  const group = kind.group === "" ? version : `${kind.group}/${version}`;
  return {
    kind,
    version,
    path: pathOf(kind, { version, ...kind.namespaced && { namespace: "NS" } }),
    object: { apiVersion: group, kind: kind.kind, metadata: { name: "x" }, ...rest },
    change,
    strategic: !kind.group.includes("gateway") && !kind.group.includes("gatehouse"),
  };
}

const core: readonly Sample[] = [
  sample(kinds.configMap, "v1", { data: { a: "1" } }, { data: { b: "2" } }),
  sample(kinds.secret, "v1", { type: "Opaque", data: { a: "YQ==" } }, { data: { b: "Yg==" } }),
  sample(kinds.serviceAccount, "v1", {}, { automountServiceAccountToken: false }),
  sample(
    kinds.service,
    "v1",
    { spec: { selector: { app: "x" }, ports: [{ port: 80 }] } },
    { spec: { ports: [{ port: 81 }] } },
  ),
  sample(
    kinds.endpointSlice,
    "v1",
    {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true } }],
      ports: [{ name: "http", port: 80 }],
    },
    { endpoints: [{ addresses: ["10.1.2.4"] }] },
  ),
  sample(kinds.lease, "v1", { spec: { holderIdentity: "a", leaseDurationSeconds: 15 } }, {
    spec: { holderIdentity: "b" },
  }),
];

const gateway: readonly Sample[] = gatewayKinds.flatMap((kind) =>
  kind.versions.map(({ name: version }) => {
    const object = kind.kind === "ReferenceGrant"
      ? { spec: { from: [{ group: "a", kind: "B", namespace: "c" }], to: [{ group: "", kind: "Secret" }] } }
      : objectOf(kind, {}, version);
    return sample(kind, version, object, { metadata: { labels: { changed: "yes" } } });
  })
);

export const samples: readonly Sample[] = [...core, ...gateway];
