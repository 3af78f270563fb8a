/**
 * Gateway API's own CRDs, from its Go module: never committed, read where Go is present.
 *
 * @module
 */
import { parse } from "yaml";
import type { Channel } from "../../crds/kind.ts";
import type { JSONSchema } from "../../crds/openapi.ts";

export interface UpstreamVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly schema: { readonly openAPIV3Schema: JSONSchema };
  readonly subresources?: { readonly status?: unknown };
  readonly additionalPrinterColumns?: readonly { readonly name: string; readonly jsonPath: string }[];
}

export interface UpstreamCrd {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly UpstreamVersion[];
  };
}

/** Whether there is a Go toolchain. */
export function hasGo(): boolean {
  try {
    return new Deno.Command("go", { args: ["version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

async function go(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command("go", { args, cwd: folder, stdout: "piped", stderr: "null" })
    .output();
  return new TextDecoder().decode(stdout);
}

/** The folder of a version of sigs.k8s.io/gateway-api, downloaded if need be. */
export async function moduleFolder(version: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/go.mod`, "module crds\n\ngo 1.20\n");
    const answer = await go(folder, "mod", "download", "-json", `sigs.k8s.io/gateway-api@${version}`);
    const { Dir } = JSON.parse(answer) as { readonly Dir?: string };
    // A module that wants a newer Go is unpacked nevertheless, but not named.
    const found = Dir ??
      `${(await go(folder, "env", "GOMODCACHE")).trim()}/sigs.k8s.io/gateway-api@${version}`;
    await Deno.stat(`${found}/config/crd`);
    return found;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export async function upstreamCrds(folder: string, channel: Channel): Promise<UpstreamCrd[]> {
  const crds: UpstreamCrd[] = [];
  for await (const { name } of Deno.readDir(`${folder}/config/crd/${channel}`)) {
    if (!name.startsWith("gateway.networking.k8s.io_") || name.includes("_vap_")) continue;
    crds.push(parse(await Deno.readTextFile(`${folder}/config/crd/${channel}/${name}`)) as UpstreamCrd);
  }
  return crds;
}

/** Everything that a schema says, one fact a line: `.spec.rules[] maxItems 16`. */
export function flatten(schema: JSONSchema): Set<string> {
  const lines = new Set<string>();
  const walk = (path: string, node: JSONSchema): void => {
    for (const [keyword, value] of Object.entries(node)) {
      if (["description", "properties", "items", "additionalProperties", "required"].includes(keyword)) {
        continue;
      }
      if (keyword === "x-kubernetes-validations") {
        for (const { message } of value as { readonly message: string }[]) {
          lines.add(`${path} rule ${message}`);
        }
      } else {lines.add(
          `${path} ${keyword} ${canonical(keyword === "enum" ? [...value as string[]].sort() : value)}`,
        );}
    }
    for (const field of node.required ?? []) lines.add(`${path}.${field} required`);
    for (const [field, child] of Object.entries(node.properties ?? {})) {
      // Metadata is no part of a CRD.
      if (path === "" && field === "metadata") continue;
      walk(`${path}.${field}`, child);
    }
    if (node.items) walk(`${path}[]`, node.items);
    if (node.additionalProperties) walk(`${path}{}`, node.additionalProperties);
  };
  walk("", schema);
  return lines;
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
        : inner,
  );
}
