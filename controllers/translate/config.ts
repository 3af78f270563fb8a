/**
 * What an installation decides about translation.
 *
 * @module
 */
import type { Place } from "./topology.ts";

export interface Config {
  /** The controller name of the GatewayClasses that are ours. */
  readonly controllerName: string;
  /** The DNS domain of the cluster's Services. */
  readonly clusterDomain: string;
  /**
   * How many listeners a Gateway may have, with those that ListenerSets add: what one object can hold of it, a Service above
   * all, has an end.
   */
  readonly mostListeners: number;
  /**
   * Whether to find out before the proxies do what they would refuse. Off only in tests of what happens when they
   * do refuse something.
   */
  readonly validate: boolean;
  /** Whether proxies are objects of a cluster, which `spec.infrastructure` of a Gateway is about. */
  readonly infrastructure: boolean;
  /** Whether each request is logged where no EnvoyFleet says anything of it. */
  readonly accessLog: boolean;
  /** The finalizer that Gateways have while proxies serve them. Without one they go at once, and so do GatewayClasses. */
  readonly finalizer?: string;
  /**
   * Where the proxies run, if all of them run in one place: endpoints that are hinted for others are then left out. Without
   * it hints are not followed.
   */
  readonly place?: Place;
}

export const defaultConfig: Config = {
  controllerName: "gatehouse.dev/gateway-controller",
  clusterDomain: "cluster.local",
  mostListeners: 16_384,
  validate: true,
  infrastructure: true,
  accessLog: false,
};
