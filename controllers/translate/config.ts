/**
 * What an installation decides about translation.
 *
 * @module
 */

export interface Config {
  /** The controller name of the GatewayClasses that are ours. */
  readonly controllerName: string;
  /** The DNS domain of the cluster's Services. */
  readonly clusterDomain: string;
  /**
   * Whether to find out before the proxies do what they would refuse. Off only in tests of what happens when they
   * do refuse something.
   */
  readonly validate: boolean;
}

export const defaultConfig: Config = {
  controllerName: "gatehouse.dev/gateway-controller",
  clusterDomain: "cluster.local",
  validate: true,
};
