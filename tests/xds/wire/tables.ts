/**
 * All tables of Envoy's messages.
 *
 * @module
 */
import * as bootstrap from "../../../xds/wire/envoy/bootstrap.ts";
import * as cluster from "../../../xds/wire/envoy/cluster.ts";
import * as core from "../../../xds/wire/envoy/core.ts";
import * as discovery from "../../../xds/wire/envoy/discovery.ts";
import * as filters from "../../../xds/wire/envoy/filters.ts";
import * as listener from "../../../xds/wire/envoy/listener.ts";
import * as matcher from "../../../xds/wire/envoy/matcher.ts";
import * as route from "../../../xds/wire/envoy/route.ts";
import * as tls from "../../../xds/wire/envoy/tls.ts";
import * as trace from "../../../xds/wire/envoy/trace.ts";
import type { AnyMessage, Enumeration } from "../../../xds/wire/mod.ts";

const exported = [bootstrap, cluster, core, discovery, filters, listener, matcher, route, tls, trace]
  .flatMap((module) => Object.values<unknown>(module))
  .filter((value): value is object => typeof value === "object" && value !== null);

export const messages = exported.filter((value): value is AnyMessage => "fields" in value);
export const enumerations = exported.filter((value): value is Enumeration<string> => "numbers" in value);
