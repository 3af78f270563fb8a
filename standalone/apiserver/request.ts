/**
 * What a request asks for, read from its path and query as kube-apiserver reads them.
 *
 * @module
 */
import { parseSelector, type Selector } from "./selectors.ts";
import { badRequest, invalid, invalidOption, type OptionsKind } from "./status.ts";

/** `/api/v1/namespaces/a/services/b/status` in parts. */
export interface ResourcePath {
  readonly groupVersion: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether it is one of the old `/watch/` paths. */
  readonly watch: boolean;
}

/** Reads a path below `/api/v1` or `/apis/GROUP/VERSION`; `undefined` if it names no resource. */
export function parsePath(pathname: string): ResourcePath | undefined {
  const parts = pathname.split("/").filter((part) => part !== "").map(decode);
  const prefix = parts.shift();
  const groupVersion = prefix === "api"
    ? parts.shift()
    : prefix === "apis"
    ? parts.splice(0, 2).join("/")
    : undefined;
  if (groupVersion === undefined || parts.length === 0) return undefined;
  const watch = parts[0] === "watch";
  if (watch) parts.shift();
  let namespace: string | undefined;
  if (parts[0] === "namespaces" && parts.length > 2 && parts[2] !== "status" && parts[2] !== "finalize") {
    namespace = parts[1];
    parts.splice(0, 2);
  }
  const [plural, name, subresource, ...rest] = parts;
  if (plural === undefined || rest.length > 0) return undefined;
  return { groupVersion, plural, namespace, name, subresource, watch };
}

function decode(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(part)}`);
  }
}

/** How far a list or watch may lie behind. */
export type Match = "Exact" | "NotOlderThan" | undefined;

export interface ListOptions {
  readonly selector: Selector;
  readonly resourceVersion: string;
  readonly match: Match;
  readonly limit: number;
  readonly continue: string;
  readonly watch: boolean;
  readonly bookmarks: boolean;
  readonly initialEvents: boolean | undefined;
  /** Seconds. */
  readonly timeout: number | undefined;
}

function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  return !["false", "0", "f", "F", "False", "FALSE"].includes(value);
}

function count(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (!/^-?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  return Number(value);
}

export function listOptions(query: URLSearchParams): ListOptions {
  const resourceVersion = query.get("resourceVersion") ?? "";
  if (!/^\d*$/.test(resourceVersion)) {
    throw badRequest(`invalid resource version: ${JSON.stringify(resourceVersion)}`);
  }
  const match = query.get("resourceVersionMatch") ?? "";
  if (match !== "" && match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOption("ListOptions", "resourceVersionMatch", match, ["", "Exact", "NotOlderThan"]);
  }
  return {
    selector: parseSelector(query.get("labelSelector") ?? "", query.get("fieldSelector") ?? ""),
    resourceVersion,
    match: match === "" ? undefined : match,
    limit: Math.max(0, count(query, "limit") ?? 0),
    continue: query.get("continue") ?? "",
    watch: flag(query, "watch") ?? false,
    bookmarks: flag(query, "allowWatchBookmarks") ?? false,
    initialEvents: flag(query, "sendInitialEvents"),
    timeout: count(query, "timeoutSeconds"),
  };
}

export type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
}

/** Options of create, update and patch. */
export function writeOptions(query: URLSearchParams, kind: OptionsKind): WriteOptions {
  const fieldValidation = query.get("fieldValidation") ?? "", modes = ["", "Ignore", "Strict", "Warn"];
  if (!modes.includes(fieldValidation)) {
    throw invalidOption(kind, "fieldValidation", fieldValidation, modes);
  }
  return {
    dryRun: dryRun(query.getAll("dryRun"), kind),
    fieldValidation: fieldValidation === "" ? "Warn" : fieldValidation as FieldValidation,
  };
}

/** Whether nothing is to be kept. The only mode there is is `All`. */
export function dryRun(values: readonly string[], kind: OptionsKind): boolean {
  if (values.some((value) => value !== "All" && value !== "")) {
    throw invalidOption(kind, "dryRun", values, ["All"]);
  }
  return values.includes("All");
}

export type Propagation = "Background" | "Foreground" | "Orphan";

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagation: Propagation | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Options of a deletion; those of the body win over those of the query. */
export function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const options = (body ?? {}) as {
    readonly kind?: string;
    readonly propagationPolicy?: string;
    readonly orphanDependents?: boolean;
    readonly dryRun?: readonly string[];
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  };
  if (typeof options !== "object" || (options.kind !== undefined && options.kind !== "DeleteOptions")) {
    throw badRequest(`the object provided is unrecognized (must be of type DeleteOptions)`);
  }
  const orphan = options.orphanDependents ?? flag(query, "orphanDependents");
  const policy = options.propagationPolicy ?? query.get("propagationPolicy") ??
    (orphan === undefined ? undefined : orphan ? "Orphan" : "Background");
  if (policy !== undefined && policy !== "Background" && policy !== "Foreground" && policy !== "Orphan") {
    throw invalidOption("DeleteOptions", "propagationPolicy", policy, [
      "Foreground",
      "Background",
      "Orphan",
      "nil",
    ]);
  }
  if (orphan !== undefined && (options.propagationPolicy ?? query.get("propagationPolicy")) != null) {
    throw invalid({ group: "meta.k8s.io", plural: "", kind: "DeleteOptions" }, "", [{
      reason: "FieldValueInvalid",
      field: "propagationPolicy",
      message: `Invalid value: ${
        JSON.stringify(policy)
      }: orphanDependents and propagationPolicy exclude each other`,
    }]);
  }
  return {
    dryRun: dryRun([...options.dryRun ?? [], ...query.getAll("dryRun")], "DeleteOptions"),
    propagation: policy,
    preconditions: options.preconditions ?? {},
  };
}
