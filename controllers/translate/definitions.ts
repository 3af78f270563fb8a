/**
 * Which Gateway API is installed: what the annotations of its CustomResourceDefinitions say.
 *
 * @module
 */
import type { ApiObject } from "../../crds/mod.ts";
import type { Graph, Group, Table } from "../runtime/graph.ts";
import { type DesiredCondition, enumerate } from "./conditions.ts";
import { gatewayGroup } from "./listeners.ts";

/** One definition of Gateway API. Row key: its name. */
interface Definition {
  /** Its release, such as `v1.7.0`; absent if it does not say. */
  readonly version?: string;
}

const groups = [gatewayGroup, "gateway.networking.x-k8s.io"];
const bundleVersion = "gateway.networking.k8s.io/bundle-version";

/** The minor releases of Gateway API whose objects are understood: `1.OLDEST` to `1.NEWEST`. */
const understood = { oldest: 4, newest: 7 };

/** Reads a CustomResourceDefinition; `undefined` if it is not one of Gateway API. */
function modelDefinition({ metadata: { name, annotations } }: ApiObject): Definition | undefined {
  if (!groups.some((group) => name.endsWith(`.${group}`))) return undefined;
  const version = annotations?.[bundleVersion];
  return version ? { version } : {};
}

/** What is installed. The only row has the key {@linkcode installed}. */
export type Installed = Table<DesiredCondition>;

export const installed = "installed";

/** Derives the condition that all GatewayClasses have in common. */
export function deriveInstalled(graph: Graph, definitions: Table<ApiObject>): Installed {
  const ours = graph.derive("definitions of Gateway API", definitions, modelDefinition);
  const together = graph.index("all definitions of Gateway API", ours, () => [installed]);
  return graph.derive("installed Gateway API", together, supportedVersion);
}

/** The condition SupportedVersion of a GatewayClass. */
function supportedVersion(definitions: Group<Definition>): DesiredCondition {
  const versions = new Set<string>(), odd = new Map<string, string[]>();
  for (const [name, { version }] of definitions) {
    if (version !== undefined && isUnderstood(version)) versions.add(version);
    else {
      const title = version === undefined ? "definitions that do not say" : `"${version}"`;
      odd.set(title, [...odd.get(title) ?? [], name]);
    }
  }
  if (odd.size === 0) {
    const names = `${versions.size === 1 ? "version" : "versions"} ${enumerate([...versions].sort())}`;
    return {
      type: "SupportedVersion",
      status: "True",
      reason: "SupportedVersion",
      message: `Gateway API is installed in ${names}`,
    };
  }
  const found = [...odd].map(([title, names]) => `${title} (${names.join(", ")})`);
  return {
    type: "SupportedVersion",
    status: "False",
    reason: "UnsupportedVersion",
    message:
      `Of Gateway API the versions v1.${understood.oldest} to v1.${understood.newest} are supported, ` +
      `but there are ${enumerate(found)}; install a supported one, until then what is understood is served`,
  };
}

/** As long as no definition has been seen: they come late, or may not be read. */
export const unseen: DesiredCondition = {
  type: "SupportedVersion",
  status: "Unknown",
  reason: "Pending",
  message: "The CustomResourceDefinitions of Gateway API have not been seen: Gatehouse has to be allowed " +
    "to list and watch them",
};

function isUnderstood(version: string): boolean {
  const minor = /^v1\.(\d+)\.\d+(?:-.+)?$/.exec(version)?.[1];
  return minor !== undefined && Number(minor) >= understood.oldest && Number(minor) <= understood.newest;
}
