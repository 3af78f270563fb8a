/**
 * The session filter of routes.
 *
 * @module
 */
import type { Session } from "../../controllers/ir/mod.ts";
import type { Cookie, SessionState, StatefulSessionPerRoute } from "../wire/envoy/filters.ts";
import { hashOf } from "./hash.ts";

const filter =
  "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute";
const states = "type.googleapis.com/envoy.extensions.http.stateful_session";

/** An endpoint that is gone is replaced by another: the session starts anew. */
export function buildSession(
  session: Session,
  scheme: "http" | "https",
): StatefulSessionPerRoute & { readonly "@type": typeof filter } {
  return { "@type": filter, stateful_session: { session_state: stateOf(session, scheme) } };
}

function stateOf({ id, name, backend, carrier }: Session, scheme: "http" | "https"): SessionState {
  const own = name ?? `gatehouse-${lettersOf(id)}`;
  const title = backend === undefined ? own : `${own}-${lettersOf(backend)}`;
  if (carrier.type === "header") {
    return {
      name: "envoy.http.stateful_session.header",
      typed_config: { "@type": `${states}.header.v3.HeaderBasedSessionState`, name: title },
    };
  }
  const cookie: Cookie = {
    name: title,
    ...(carrier.lifetime === undefined ? {} : { ttl: `${carrier.lifetime}s` }),
    path: carrier.path,
    // HttpOnly it is anyway. No browser would send a secure cookie back without TLS.
    attributes: [
      { name: "SameSite", value: "Strict" },
      ...(scheme === "https" ? [{ name: "Secure" }] : []),
    ],
  };
  return {
    name: "envoy.http.stateful_session.cookie",
    typed_config: { "@type": `${states}.cookie.v3.CookieBasedSessionState`, cookie },
  };
}

/** Letters and digits alone, which do in the name of a cookie and of a header. */
function lettersOf(key: string): string {
  return hashOf(key).replace(/[^a-zA-Z0-9]/g, "0").toLowerCase();
}
