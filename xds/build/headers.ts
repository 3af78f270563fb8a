/**
 * Changes of headers.
 *
 * @module
 */
import type { Header, HeaderChanges } from "../../controllers/ir/mod.ts";
import type { HeaderValueOption } from "../wire/envoy/core.ts";

/** The fields of a Route, VirtualHost or ClusterWeight that change headers. */
export interface HeaderFields {
  readonly request_headers_to_add?: readonly HeaderValueOption[];
  readonly request_headers_to_remove?: readonly string[];
  readonly response_headers_to_add?: readonly HeaderValueOption[];
  readonly response_headers_to_remove?: readonly string[];
}

/**
 * Says header changes in Envoy's terms. Envoy removes first, then overwrites, then appends, as the model asks.
 *
 * Envoy refuses to touch `host` and pseudo headers this way, see {@linkcode hostChange} for the former.
 */
export function headerFields(
  request: HeaderChanges | undefined,
  response: HeaderChanges | undefined,
): HeaderFields {
  const requestAdd = additions(request), requestRemove = removals(request);
  const responseAdd = additions(response), responseRemove = removals(response);
  return {
    ...(requestAdd.length > 0 ? { request_headers_to_add: requestAdd } : {}),
    ...(requestRemove.length > 0 ? { request_headers_to_remove: requestRemove } : {}),
    ...(responseAdd.length > 0 ? { response_headers_to_add: responseAdd } : {}),
    ...(responseRemove.length > 0 ? { response_headers_to_remove: responseRemove } : {}),
  };
}

/**
 * Two changes as one: the first is made, then the other. Envoy itself would change headers for a weighted cluster before it
 * does for the route, and so give the last word to the wrong one.
 */
export function inTurn(
  first: HeaderChanges | undefined,
  then: HeaderChanges | undefined,
): HeaderChanges | undefined {
  if (!first || !then) return first ?? then;
  const gone = new Set([...then.remove, ...then.set.map(({ name }) => name)]);
  const stays = ({ name }: Header) => !gone.has(name);
  return {
    remove: [...new Set([...first.remove, ...then.remove])],
    // What is added before something is overwritten is overwritten, too.
    set: [...first.set.filter(stays), ...then.set],
    add: [...first.add.filter(stays), ...then.add],
  };
}

/** The value that request header changes give to `host`, for `host_rewrite_literal`. */
export function hostChange(request: HeaderChanges | undefined): string | undefined {
  return request?.set.find((header) => header.name.toLowerCase() === "host")?.value;
}

function additions(changes: HeaderChanges | undefined): readonly HeaderValueOption[] {
  if (!changes) return [];
  return [
    ...changes.set.filter(mayChange).map((header) => option(header, "OVERWRITE_IF_EXISTS_OR_ADD")),
    ...changes.add.filter(mayChange).map((header) => option(header, "APPEND_IF_EXISTS_OR_ADD")),
  ];
}

function removals(changes: HeaderChanges | undefined): readonly string[] {
  return (changes?.remove ?? []).filter((name) => mayChange({ name }));
}

function mayChange({ name }: { readonly name: string }): boolean {
  return !name.startsWith(":") && name.toLowerCase() !== "host";
}

function option(
  { name, value }: Header,
  append_action: NonNullable<HeaderValueOption["append_action"]>,
): HeaderValueOption {
  // A percent sign starts a command of Envoy's formatter; two of them stand for one.
  const header = { key: name, value: value.replaceAll("%", "%%") };
  return { header, append_action, ...(value === "" ? { keep_empty_value: true } : {}) };
}
