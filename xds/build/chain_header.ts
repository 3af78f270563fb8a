/**
 * How requests on a connection that was made for another name are found out.
 *
 * Every listener of a port may own some hostnames, and a connection belongs to the one whose chain its SNI picked. All of
 * them share the port's route table, in which each virtual host knows its owner; so the chain tells the route table,
 * in a header that the client cannot set and no backend gets to see, which listener the connection belongs to. Where the
 * two differ, the answer is 421 (Misdirected Request). A table for each chain that repeats the hostnames of all the
 * others would say the same, at the square of the size.
 *
 * A connection lasts longer than the chain that it came by is the right one: listeners come and go, and Envoy hears of
 * chains before it hears of routes. So the header tells the SNI, too. A request for the very name that the connection was
 * made for is never misdirected, whichever chain that was, nor is one for a wildcard that the name falls under.
 *
 * @module
 */
import type { EarlyHeaderMutationExtension } from "../wire/envoy/listener.ts";
import type { StringMatcher } from "../wire/envoy/matcher.ts";
import type { Route } from "../wire/envoy/route.ts";

export const chainHeaderName = "x-gatehouse-chain";

/** Sets the header on every request of a chain, before a route is chosen. */
export function chainHeader(hostname: string): EarlyHeaderMutationExtension {
  return {
    name: "envoy.http.early_header_mutation.header_mutation",
    typed_config: {
      "@type":
        "type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
      mutations: [{
        append: {
          header: { key: chainHeaderName, value: `${hostname} %REQUESTED_SERVER_NAME%` },
          append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
        },
      }],
    },
  };
}

/**
 * The first route of a virtual host of a chain: whoever comes by another one is turned away, unless the connection was made
 * for this `hostname` when another chain was the right one. Without a hostname there is no such exception: for what belongs to a
 * chain that is not there the others are no substitute.
 *
 * With a wildcard, a connection was made for it if it came by a chain of just that name, which then is no more, or if it asked for
 * a name that the wildcard stands for and came by a wider chain than now: a new one would not.
 */
export function misdirected(chain: string, hostname: string | undefined): Route {
  const isNot = (string_match: StringMatcher) => ({
    name: chainHeaderName,
    string_match,
    invert_match: true,
  });
  return {
    name: "misdirected",
    match: {
      prefix: "/",
      headers: [{ prefix: `${chain} ` }, ...hostname === undefined ? [] : formerly(hostname, chain)].map(
        isNot,
      ),
    },
    direct_response: { status: 421 },
  };
}

/** How connections look that were made for a hostname when it belonged to another chain. */
function formerly(hostname: string, chain: string): readonly StringMatcher[] {
  if (!hostname.startsWith("*")) return [{ suffix: ` ${hostname}` }];
  const itself = hostname === chain ? [] : [{ prefix: `${hostname} ` }];
  const wider = widerThan(chain);
  if (hostname === "*" || wider.length === 0) return itself;
  const regex = `(${wider.map(literally).join("|")}) .+${literally(hostname.slice(1))}`;
  return [...itself, { safe_regex: { regex } }];
}

/** `*.com` and `*` for `*.example.com`, the narrowest first. */
function widerThan(wildcard: string): readonly string[] {
  const labels = wildcard.split(".").slice(1);
  return labels.map((_, i) => ["*", ...labels.slice(i + 1)].join("."));
}

function literally(text: string): string {
  return text.replace(/[.*]/g, "\\$&");
}
