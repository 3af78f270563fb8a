/**
 * Virtual hosts and the route configurations made of them.
 *
 * `virtual_hosts` is a repeated field, and repeated fields may be written one after the other: each virtual host is encoded
 * when it changes, and a route configuration is the concatenation of what is there already.
 *
 * @module
 */
import type { ResourceId, RouteTable, VirtualHost } from "../../controllers/ir/mod.ts";
import type { Key } from "../../controllers/runtime/graph.ts";
import { lookalikes } from "./lookalikes.ts";
import type { Needs } from "../types.ts";
import { RouteConfiguration } from "../wire/envoy/route.ts";
import { encode } from "../wire/mod.ts";
import { type Block, leafOf } from "./block.ts";
import { chainHeaderName, misdirected } from "./chain_header.ts";
import { hashOf } from "./hash.ts";
import type { Place } from "./redirect.ts";
import { buildRoutes, clustersOf } from "./route.ts";

/** A virtual host as a part of a serialized RouteConfiguration. */
export interface EncodedVirtualHost extends Block {
  /** That it is in. */
  readonly leaf: Key;
}

/**
 * Encodes a virtual host of the listener that `on` tells about. If there is a chain by which it is to be reached, `reached`
 * is true.
 */
export function encodeVirtualHost(
  { routes: table, hostname, chain, entries }: VirtualHost,
  { reached, ...on }: Omit<Place, "hostname"> & { readonly reached: boolean },
): EncodedVirtualHost {
  const bytes = encode(RouteConfiguration, {
    virtual_hosts: [{
      name: hostname,
      domains: [hostname],
      routes: [
        ...(chain === undefined ? [] : [misdirected(chain, reached ? hostname : undefined)]),
        ...entries.flatMap((route) => buildRoutes(route, { hostname, ...on })),
      ],
      ...(chain === undefined ? {} : { request_headers_to_remove: [chainHeaderName] }),
    }],
  });
  const clusters = entries.flatMap(({ action }) => clustersOf(action));
  return {
    leaf: leafOf(table, hostname),
    hash: hashOf(bytes),
    bytes,
    needs: new Set(clusters.map((name): ResourceId => `cluster:${name}`)),
  };
}

/** A serialized RouteConfiguration, in pieces. */
export interface EncodedRoutes {
  readonly version: string;
  readonly body: readonly Uint8Array[];
  readonly needs: Needs;
}

/** Puts blocks of virtual hosts together. */
export function encodeRoutes(table: RouteTable, blocks: readonly Block[]): EncodedRoutes {
  const head = encode(RouteConfiguration, {
    name: table.name,
    ignore_port_in_host_matching: true,
    request_headers_to_remove: lookalikes,
    // A filter that sets such a header all the same has the last word.
    most_specific_header_mutations_wins: true,
  });
  return {
    version: hashOf(head, ...blocks.map(({ hash }) => hash)),
    body: [head, ...blocks.map(({ bytes }) => bytes)],
    needs: blocks.map(({ needs }) => needs),
  };
}
