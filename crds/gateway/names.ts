/**
 * The simple values of Gateway API: names, ports, hostnames, durations.
 *
 * @module
 */
import { integer, string } from "../schema/build.ts";
import {
  durationPattern,
  headerNamePattern,
  hostnamePattern,
  labelPattern,
  subdomainPattern,
} from "../schema/formats.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

export const group = string({ maxLength: 253, pattern: `^$|${subdomainPattern}` });
export const kind = string({ minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$" });
export const objectName = string({ minLength: 1, maxLength: 253 });
export const namespace = string({ minLength: 1, maxLength: 63, pattern: labelPattern });
export const sectionName = string({ minLength: 1, maxLength: 253, pattern: subdomainPattern });
export const port = integer({ format: "int32", minimum: 1, maximum: 65535 });

/** A hostname, perhaps with a wildcard as its first label. */
export const hostname = string({ minLength: 1, maxLength: 253, pattern: hostnamePattern });
export const preciseHostname = string({ minLength: 1, maxLength: 253, pattern: subdomainPattern });

/** `example.com/name`: who is responsible for an object. */
export const controllerName = string({
  minLength: 1,
  maxLength: 253,
  pattern: subdomainPattern.slice(0, -1) + String.raw`\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`,
});

export const headerName = string({ minLength: 1, maxLength: 256, pattern: headerNamePattern });

/** GEP-2257, such as `1h30m` or `0s`. */
export const duration = string({ pattern: durationPattern });

export const annotationValue = string({ minLength: 0, maxLength: 4096 });
