/**
 * The xDS server of an operator, and how its proxies and it know each other: by certificates of one authority.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { issue, type KeyPair } from "../controllers/runtime/pki.ts";
import type { XdsCache } from "../xds/cache.ts";
import { type Authenticate, startXdsServer, type XdsServer } from "../xds/grpc/server.ts";
import type { XdsMetrics } from "../xds/metrics.ts";
import type { ProxyEvent } from "../xds/types.ts";

export interface XdsAddress {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Signs the server's certificate, and those of the proxies that it serves. */
  readonly authority: KeyPair;
}

/** The DNS name in the certificate of the xDS server. */
export const xdsServerName = "xds.gatehouse.internal";

const identityPrefix = "gatehouse://gateway/";

/** What the certificate of a proxy says about whom it serves. */
export function identityOf(gateway: GatewayKey): string {
  return `${identityPrefix}${gateway}`;
}

/** Who a proxy is, as its certificate says. */
export const byCertificate: Authenticate = ({ certificate }) => {
  const uri = certificate?.uris.find((uri) => uri.startsWith(identityPrefix));
  return uri === undefined
    ? { refused: "UNAUTHENTICATED", message: "The certificate of this proxy names no Gateway" }
    : { gateway: uri.slice(identityPrefix.length) };
};

/** A year, in milliseconds. */
const year = 365 * 24 * 3600 * 1000;

/** What an operator gives its xDS server. */
export interface XdsParts {
  readonly cache: XdsCache;
  readonly onEvent: (event: ProxyEvent) => void;
  readonly metrics: XdsMetrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Starts the server with a certificate of its own. A proxy may read what belongs to the Gateways that its certificate names. */
export async function serveXds(
  { hostname, port, authority }: XdsAddress,
  options: XdsParts,
): Promise<XdsServer> {
  const now = options.clock.now().getTime();
  const leaf = await issue(authority, {
    commonName: "gatehouse",
    dnsNames: [xdsServerName],
    usages: ["server"],
    notBefore: new Date(now - 60_000),
    notAfter: new Date(now + year),
  });
  return await startXdsServer({
    ...options,
    tls: { ...leaf, clientAuthority: authority.certificate },
    authenticate: byCertificate,
    hostname,
    port,
  });
}
