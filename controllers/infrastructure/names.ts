/**
 * Every name that the operator, its proxies and those who look at them have to agree on.
 *
 * Nothing is imported here, so that whoever needs a name can have it.
 *
 * @module
 */

/** Labels of everything that is made for a Gateway; the first two are those of GEP-1762. */
export const labels = {
  gatewayName: "gateway.networking.k8s.io/gateway-name",
  gatewayClassName: "gateway.networking.k8s.io/gateway-class-name",
  managedBy: "app.kubernetes.io/managed-by",
  name: "app.kubernetes.io/name",
} as const;

export const annotations = {
  /** Which controller made an object. Two Gatehouses with names of their own leave each other's alone. */
  controller: "gatehouse.dev/controller",
  /** Hash of what was applied, by which fields are noticed that are wanted no longer. */
  applied: "gatehouse.dev/applied",
  /** Hash of what a proxy is started with: another one takes another pod. */
  config: "gatehouse.dev/config",
} as const;

/** The value of {@linkcode labels.managedBy}, and who owns the fields that are applied. */
export const fieldManager = "gatehouse";

/** Selects what the operator made: only that is watched, of kinds that translation does not read. */
export const managedSelector = `${labels.managedBy}=${fieldManager}`;

/** For whom the tokens are that proxies show to the xDS server. */
export const tokenAudience = "gatehouse.dev/xds";

/** How long such a token is good, in seconds; the kubelet renews it at 80 % of that. */
export const tokenSeconds = 3600;

/** The key of a Gateway's ConfigMap under which proxies find the authorities of the xDS server. */
export const authorityKey = "ca.crt";

/** Where a proxy finds what, in its container. */
export const paths = {
  /** The files of the ConfigMap. */
  config: "/etc/gatehouse",
  /** The folder with the token, which is called `token`. */
  token: "/var/run/secrets/gatehouse.dev",
  /** A folder to write to, for the socket of the admin interface. */
  run: "/var/run/gatehouse",
} as const;

/** Ports on which proxies answer to others than clients; moved up where a listener has the number. */
export const proxyPorts = { readiness: 19001, metrics: 19002 } as const;
