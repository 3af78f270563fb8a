/**
 * What the xDS server counts.
 *
 * @module
 */
import type { ResourceType } from "./types.ts";

/** Told what happens; whoever keeps the metrics decides what to make of it. */
export interface XdsMetrics {
  /** A response has been written. */
  pushed(type: ResourceType, resources: number, removed: number, bytes: number): void;
}

/** Counts nothing. */
export const noMetrics: XdsMetrics = {
  pushed: () => {},
};
