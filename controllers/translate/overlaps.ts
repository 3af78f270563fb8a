/**
 * Listeners on one port whose TLS is for the same names. A client may then reuse a connection that it made to one of
 * them for a request to the other (RFC 9113, 9.1.1), and is told that it is misdirected.
 *
 * @module
 */
import { enumerate, type Fault } from "./conditions.ts";
import { covers } from "./hostnames.ts";
import type { ListenerState } from "./gateway_state.ts";

/** What overlaps with a listener among all that share its port; `undefined` if nothing does. */
export function overlapOf(state: ListenerState, onPort: readonly ListenerState[]): Fault | undefined {
  if (state.refused || state.tls === undefined) return undefined;
  const others = onPort.filter((other) =>
    other.listener.id !== state.listener.id && other.tls !== undefined && !other.refused
  );
  const byCertificate = others.filter((other) => certificatesOverlap(state, other));
  if (byCertificate.length > 0) {
    return {
      reason: "OverlappingCertificates",
      message: `Its certificates are for names that those of ${named(byCertificate, state)} are for, too`,
    };
  }
  const byHostname = others.filter((other) =>
    hostnamesOverlap(state.listener.hostname, other.listener.hostname)
  );
  if (byHostname.length === 0) return undefined;
  return {
    reason: "OverlappingHostnames",
    message: `Its hostname overlaps with that of ${named(byHostname, state)}`,
  };
}

function hostnamesOverlap(a: string, b: string): boolean {
  return covers(a, b) || covers(b, a);
}

function certificatesOverlap({ tls: a }: ListenerState, { tls: b }: ListenerState): boolean {
  return a!.dnsNames.some((name) => b!.dnsNames.some((other) => sameName(name, other)));
}

/** Whether a name is for both; a wildcard in a certificate stands for one label (RFC 6125, 6.4.3). */
function sameName(a: string, b: string): boolean {
  return a === b || isUnder(a, b) || isUnder(b, a);
}

function isUnder(name: string, wildcard: string): boolean {
  return wildcard.startsWith("*.") && name.slice(name.indexOf(".")) === wildcard.slice(1);
}

/** Names listeners of the same owner; what others are called is nobody's business. */
function named(listeners: readonly ListenerState[], { listener: { owner } }: ListenerState): string {
  const own = listeners.filter(({ listener }) => listener.owner === owner);
  const names = enumerate(own.map(({ listener }) => `"${listener.name}"`));
  const known = own.length === 0 ? "" : `listener${own.length > 1 ? "s" : ""} ${names}`;
  if (own.length === listeners.length) return known;
  return known === "" ? "a listener of another owner" : `${known} and of another owner's`;
}
