/**
 * What Gatehouse can do, in the names that Gateway API has for it (GEP-2162).
 *
 * A name stands here once everything that it stands for works: conformance tests take it by its word.
 *
 * @module
 */

import type { Config } from "./config.ts";

const names = [
  "BackendTLSPolicy",
  "BackendTLSPolicySANValidation",
  "Gateway",
  "GatewayAddressEmpty",
  "GatewayBackendClientCertificate",
  "GatewayFrontendClientCertificateValidation",
  "GatewayFrontendClientCertificateValidationInsecureFallback",
  "GatewayHTTPListenerIsolation",
  "GatewayHTTPSListenerDetectMisdirectedRequests",
  "GatewayPort8080",
  "GatewayRouteHostnameIntersectionPrecedence",
  "GatewayStaticAddresses",
  "HTTPRoute",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolH2C",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendRequestHeaderModification",
  "HTTPRouteBackendTimeout",
  "HTTPRouteBackendURLRewrite",
  "HTTPRouteCORS",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestMirror",
  "HTTPRouteRequestMultipleMirrors",
  "HTTPRouteRequestPercentageMirror",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteRetry", // as 1.6 calls it
  "HTTPRouteRetryBackendTimeout", // as 1.6 calls it
  "HTTPRouteRetryCodes",
  "HTTPRouteRetryConnectionError",
  "HTTPRouteSchemeRedirect",
  "ListenerSet",
  "ReferenceGrant",
];

/** Those for which proxies have to be objects of a cluster. */
const ofInfrastructure = ["GatewayInfrastructure"];

/** The supported features, in the order in which a status has to list them. */
export function supportedFeatures({ infrastructure }: Pick<Config, "infrastructure">): readonly string[] {
  return infrastructure ? onClusters : elsewhere;
}

const elsewhere = names.toSorted();
const onClusters = [...names, ...ofInfrastructure].sort();
