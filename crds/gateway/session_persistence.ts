/**
 * Sessions that stay with a backend (GEP-1619), which 1.7 reshaped.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import { experimentalSince17, experimentalUntil16 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { duration, headerName } from "./names.ts";

const lifetimeType = k.defaulted(
  k.enumeration("Permanent", "Session"),
  "Session",
  "Whether the cookie outlives the browser's session.",
);

export const sessionPersistence = k.object({
  sessionName: k.optional(k.string({ maxLength: 128 }), "Name of the cookie or header.", experimentalUntil16),
  absoluteTimeout: k.optional(duration, "When a session ends, used or not."),
  type: k.defaulted(k.enumeration("Cookie", "Header"), "Cookie", "What carries the session."),
  cookieConfig: k.optional(k.object({ lifetimeType }), "For type Cookie.", experimentalUntil16),
  cookie: k.optional(
    k.object({
      name: k.optional(headerName, "Name of the cookie."),
      path: k.defaulted(k.string({ maxLength: 1024 }), "/", "Path that the cookie is for."),
      lifetimeType,
    }),
    "For type Cookie.",
    experimentalSince17,
  ),
  header: k.optional(
    k.object({ name: k.required(headerName, "Name of the header.") }),
    "For type Header.",
    experimentalSince17,
  ),
}, {
  rules: [
    {
      message: "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
      holds: (session) =>
        session.cookieConfig?.lifetimeType !== "Permanent" || session.absoluteTimeout !== undefined,
      in: experimentalUntil16,
    },
    {
      message: "cookieConfig can only be set with type Cookie",
      holds: (session) => session.cookieConfig === undefined || session.type === "Cookie",
      in: experimentalUntil16,
    },
    {
      message: "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
      holds: (session) =>
        session.cookie?.lifetimeType !== "Permanent" || session.absoluteTimeout !== undefined,
      in: experimentalSince17,
    },
    {
      message: "cookie must be nil if type is not Cookie",
      holds: (session) => session.cookie === undefined || session.type === "Cookie",
      in: experimentalSince17,
    },
    {
      message: "cookie must be specified for Cookie type",
      holds: (session) => session.type !== "Cookie" || session.cookie !== undefined,
      in: experimentalSince17,
    },
    {
      message: "header must be nil if type is not Header",
      holds: (session) => session.header === undefined || session.type === "Header",
      in: experimentalSince17,
    },
    {
      message: "header must be specified for Header type",
      holds: (session) => session.type !== "Header" || session.header !== undefined,
      in: experimentalSince17,
    },
  ],
});
export type SessionPersistence = Infer<typeof sessionPersistence>;
