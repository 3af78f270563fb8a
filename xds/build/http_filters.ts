/**
 * The HTTP filters of every listener. A filter that only some routes need is switched off, and a route that has a
 * configuration for it switches it on: requests of other routes do not even meet it.
 *
 * @module
 */
import type { HttpFilter } from "../wire/envoy/listener.ts";

/** Names of filters, which are the keys of `typed_per_filter_config`, too. */
export const filterNames = {
  cors: "envoy.filters.http.cors",
  session: "envoy.filters.http.stateful_session",
  router: "envoy.filters.http.router",
} as const;

const types = "type.googleapis.com/envoy.extensions.filters.http";

/** In the order in which they see requests. */
export const httpFilters: readonly HttpFilter[] = [
  { name: filterNames.cors, typed_config: { "@type": `${types}.cors.v3.Cors` }, disabled: true },
  {
    name: filterNames.session,
    typed_config: { "@type": `${types}.stateful_session.v3.StatefulSession` },
    disabled: true,
  },
  {
    name: filterNames.router,
    typed_config: { "@type": `${types}.router.v3.Router`, suppress_envoy_headers: true },
  },
];
