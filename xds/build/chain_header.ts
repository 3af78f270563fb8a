/**
 * How requests on a connection that was made for another name are found out.
 *
 * Every listener of a port may own some hostnames, and a connection belongs to the one whose chain its SNI picked. All of
 * them share the port's route table, in which each virtual host knows its owner; so the chain tells the route table,
 * in a header that the client cannot set and no backend gets to see, which listener the connection belongs to. Where the
 * two differ, the answer is 421 (Misdirected Request). A table for each chain that repeats the hostnames of all the
 * others would say the same, at the square of the size.
 *
 * @module
 */
import type { EarlyHeaderMutationExtension } from "../wire/envoy/listener.ts";
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
          header: { key: chainHeaderName, value: hostname },
          append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
        },
      }],
    },
  };
}

/** The first route of a virtual host of a chain: whoever comes by another one is turned away. */
export function misdirected(chain: string): Route {
  return {
    name: "misdirected",
    match: {
      prefix: "/",
      headers: [{ name: chainHeaderName, string_match: { exact: chain }, invert_match: true }],
    },
    direct_response: { status: 421 },
  };
}
