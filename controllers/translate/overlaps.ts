/**
 * Listeners on one port whose TLS is for the same names. A client may then reuse a connection that it made to one of
 * them for a request to the other (RFC 9113, 9.1.1), and is told that it is misdirected.
 *
 * Listeners of one owner are compared with each other. Those of others, of which there may be thousands, are found by what they
 * claim: each listener claims its names, and what a wider name would have to look for to find it.
 *
 * @module
 */
import type { Key } from "../runtime/graph.ts";
import { enumerate, type Fault } from "./conditions.ts";
import type { ListenerState } from "./gateway_state.ts";
import { covering, covers } from "./hostnames.ts";

/** What the listeners of an owner claim. Two listeners overlap if one of them looks for what the other claims. */
export function tlsClaims(listeners: readonly ListenerState[]): readonly Key[] {
  const claims = listeners.filter(isSecured).flatMap((state) => {
    const { listener: { hostname }, tls } = state;
    const at = claimOn(state);
    const names = (tls?.dnsNames ?? []).flatMap((name) => {
      const wildcard = wildcardOf(name);
      return [at("certificate", name), ...wildcard === undefined ? [] : [at("certificate below", wildcard)]];
    });
    const [, ...wider] = covering(hostname);
    return [...names, at("hostname", hostname), ...wider.map((one) => at("hostname below", one))];
  });
  return [...new Set(claims)];
}

/**
 * What overlaps with a listener; `undefined` if nothing does. `own` are the listeners of its owner; `elsewhere` says whether
 * another owner of the same Gateway has a claim.
 */
export function overlapOf(
  state: ListenerState,
  own: readonly ListenerState[],
  elsewhere: (claim: Key) => boolean,
): Fault | undefined {
  if (!isSecured(state)) return undefined;
  const { listener: { hostname }, portKey, tls } = state;
  const at = claimOn(state);
  const others = own.filter((other) =>
    isSecured(other) && other.portKey === portKey && other.listener.id !== state.listener.id
  );
  const byCertificate = others.filter((other) => certificatesOverlap(state, other));
  const certificateElsewhere = (tls?.dnsNames ?? []).some((name) => {
    const wildcard = wildcardOf(name);
    return elsewhere(at("certificate", name)) ||
      elsewhere(
        wildcard === undefined ? at("certificate below", name) : at("certificate", wildcard),
      );
  });
  if (byCertificate.length > 0 || certificateElsewhere) {
    return {
      reason: "OverlappingCertificates",
      message: `Its certificates are for names that those of ${
        named(byCertificate, certificateElsewhere)
      } are for, too`,
    };
  }
  const byHostname = others.filter((other) => hostnamesOverlap(hostname, other.listener.hostname));
  const hostnameElsewhere = elsewhere(at("hostname below", hostname)) ||
    covering(hostname).some((one) => elsewhere(at("hostname", one)));
  if (byHostname.length === 0 && !hostnameElsewhere) return undefined;
  return {
    reason: "OverlappingHostnames",
    message: `Its hostname overlaps with that of ${named(byHostname, hostnameElsewhere)}`,
  };
}

function isSecured({ refused, tls }: ListenerState): boolean {
  return refused === undefined && tls !== undefined;
}

type ClaimKind = "certificate" | "certificate below" | "hostname" | "hostname below";

/** Names claims on the port of a listener. */
function claimOn({ portKey }: ListenerState): (kind: ClaimKind, name: string) => Key {
  return (kind, name) => `${portKey}|${kind} ${name}`;
}

function hostnamesOverlap(a: string, b: string): boolean {
  return covers(a, b) || covers(b, a);
}

function certificatesOverlap({ tls: a }: ListenerState, { tls: b }: ListenerState): boolean {
  return a!.dnsNames.some((name) => b!.dnsNames.some((other) => sameName(name, other)));
}

/** Whether a name of a certificate is for both; a wildcard stands for one label (RFC 6125, 6.4.3). */
function sameName(a: string, b: string): boolean {
  return a === b || wildcardOf(a) === b || wildcardOf(b) === a;
}

/** The wildcard that a precise name is under; a wildcard is under none. */
function wildcardOf(name: string): string | undefined {
  const dot = name.indexOf(".");
  return dot < 0 || name.startsWith("*.") ? undefined : `*${name.slice(dot)}`;
}

/** Names listeners of the same owner; what others are called is nobody's business. */
function named(own: readonly ListenerState[], elsewhere: boolean): string {
  const names = enumerate(own.map(({ listener }) => `"${listener.name}"`));
  const known = own.length === 0 ? "" : `listener${own.length > 1 ? "s" : ""} ${names}`;
  if (!elsewhere) return known;
  return known === "" ? "a listener of another owner" : `${known} and of another owner's`;
}
