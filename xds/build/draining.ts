/**
 * Listeners for a proxy that is about to end, which make its clients go elsewhere.
 *
 * @module
 */
import { typeUrls, type XdsResource } from "../types.ts";
import { Resource } from "../wire/envoy/discovery.ts";
import type { Filter } from "../wire/envoy/listener.ts";
import { decode, encode } from "../wire/mod.ts";
import { concatenated, sizeOf } from "./pack.ts";

const made = new WeakMap<XdsResource, XdsResource>();

const mark = ".draining";

/**
 * The resource as a draining proxy has it: a listener whose connections are for one request each. Everything else stays.
 *
 * Envoy, with the drain strategy `immediate`, asks the clients of filter chains that have changed to close their connections,
 * with the next answer on each. The listener goes on taking connections, since some of those who send clients here hear of its
 * end later than others; with a limit of one request these do not stay.
 */
export function drainingOf(resource: XdsResource): XdsResource {
  if (resource.type !== "listener") return resource;
  let draining = made.get(resource);
  if (!draining) made.set(resource, draining = build(resource));
  return draining;
}

/** The version of the resource that one for a draining proxy came of; undefined for any other. */
export function versionOfDraining(version: string): string | undefined {
  return version.endsWith(mark) ? version.slice(0, -mark.length) : undefined;
}

function build(resource: XdsResource): XdsResource {
  const version = `${resource.version}${mark}`;
  const { resource: listener, ...rest } = decode(
    Resource,
    concatenated(resource.bytes, sizeOf(resource.bytes)),
  );
  if (listener?.["@type"] !== typeUrls.listener) return resource;
  const chains = (listener.filter_chains ?? []).map((chain) => ({
    ...chain,
    filters: (chain.filters ?? []).map(closing),
  }));
  const bytes = encode(Resource, {
    ...rest,
    version,
    resource: { ...listener, filter_chains: chains },
  });
  return { ...resource, version, bytes: [bytes] };
}

function closing(filter: Filter): Filter {
  const { typed_config: config } = filter;
  if (!config || !("common_http_protocol_options" in config)) return filter;
  return {
    ...filter,
    typed_config: {
      ...config,
      common_http_protocol_options: {
        ...config.common_http_protocol_options,
        max_requests_per_connection: 1,
      },
    },
  };
}
