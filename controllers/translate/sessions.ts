/**
 * Session persistence (GEP-1619), as 1.6 writes it and as 1.7 does.
 *
 * @module
 */
import type { SessionPersistence } from "../../crds/mod.ts";
import type { Session } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import { milliseconds } from "./durations.ts";
import { headerFault, isToken } from "./validate.ts";

/** Reads the field, which `where` names, of the rule with an id. */
export function readSession(session: SessionPersistence, where: string, id: string): Session | Fault {
  const type: string = session.type ?? "Cookie";
  const kind = Object.hasOwn(carriers, type) ? carriers[type] : undefined;
  if (kind === undefined) {
    return unsupported(
      `${where}.type`,
      `"${type}" is not supported, use ${Object.keys(carriers).join(" or ")}`,
    );
  }
  const { field, name = session.sessionName } = kind.name(session);
  if (name !== undefined && !isToken(name)) {
    return unsupported(`${where}.${field}`, `"${name}" is not a name, use letters, digits and hyphens`);
  }
  const carrier = kind.read(session, where);
  if (!("reason" in carrier) && carrier.type === "header" && name !== undefined) {
    const problem = headerFault("set", name, "");
    if (problem) return unsupported(`${where}.${field}`, problem);
  }
  return "reason" in carrier ? carrier : { id, ...name !== undefined && { name }, carrier };
}

interface CarrierKind {
  /** The name that is asked for, and where. */
  name(session: SessionPersistence): { readonly field: string; readonly name?: string | undefined };
  read(session: SessionPersistence, where: string): Session["carrier"] | Fault;
}

const carriers: { readonly [type: string]: CarrierKind } = {
  Cookie: {
    name: ({ cookie }) =>
      cookie?.name === undefined ? { field: "sessionName" } : { field: "cookie.name", name: cookie.name },
    read: readCookie,
  },
  Header: {
    name: ({ header }) =>
      header === undefined ? { field: "sessionName" } : { field: "header.name", name: header.name },
    read: ({ absoluteTimeout }, where) =>
      absoluteTimeout === undefined
        ? { type: "header" }
        : unsupported(`${where}.absoluteTimeout`, "a session in a header cannot end by itself, remove it"),
  },
};

/** Without what would end a cookie or change its meaning. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const cookiePath = /^\/[^;\x00-\x1f\x7f]*$/;

function readCookie(
  { cookie, cookieConfig, absoluteTimeout }: SessionPersistence,
  where: string,
): Session["carrier"] | Fault {
  const path = cookie?.path ?? "/",
    lifetimeType = cookie?.lifetimeType ?? cookieConfig?.lifetimeType ?? "Session";
  if (!cookiePath.test(path)) {
    return unsupported(`${where}.cookie.path`, `"${path}" is not a path, begin it with a slash`);
  }
  const field = `${where}.absoluteTimeout`;
  if (lifetimeType === "Session") {
    if (absoluteTimeout === undefined) return { type: "cookie", path };
    const problem = "a cookie of lifetimeType Session cannot end before the browser's session, use Permanent";
    return unsupported(field, problem);
  }
  const lifetime = absoluteTimeout === undefined ? NaN : Math.ceil(milliseconds(absoluteTimeout) / 1000);
  if (!(lifetime > 0)) {
    const problem = `"${
      absoluteTimeout ?? ""
    }" is no lifetime of a permanent cookie, write it like 1m30s or 24h`;
    return unsupported(field, problem);
  }
  return { type: "cookie", path, lifetime };
}

function unsupported(field: string, problem: string): Fault {
  return { reason: "UnsupportedValue", message: `${field}: ${problem}` };
}
