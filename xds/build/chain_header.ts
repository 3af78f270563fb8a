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
 * made for is never misdirected, whichever chain that was.
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
 * for just this `hostname`. Without a hostname, or with a wildcard, there is no such exception: for what belongs to a
 * chain that is not there the others are no substitute.
 */
export function misdirected(chain: string, hostname: string | undefined): Route {
  const isNot = (string_match: StringMatcher) => ({
    name: chainHeaderName,
    string_match,
    invert_match: true,
  });
  const isExact = hostname !== undefined && !hostname.startsWith("*");
  return {
    name: "misdirected",
    match: {
      prefix: "/",
      headers: [isNot({ prefix: `${chain} ` }), ...(isExact ? [isNot({ suffix: ` ${hostname}` })] : [])],
    },
    direct_response: { status: 421 },
  };
}
