/**
 * What the xDS server counts.
 *
 * @module
 */
import type { ResourceId } from "../controllers/ir/mod.ts";
import type { ResourceType } from "./types.ts";

/** Told what happens; whoever keeps the metrics decides what to make of it. */
export interface XdsMetrics {
  /** A stream has been opened (1) or has ended (-1). */
  stream(change: 1 | -1): void;
  /** A response has been written. */
  pushed(type: ResourceType, resources: number, removed: number, bytes: number): void;
  /** A proxy that had all before has acknowledged a resource, whose current version is `milliseconds` old. */
  acked(id: ResourceId, milliseconds: number): void;
  /** A proxy has refused a resource. */
  nacked(id: ResourceId): void;
}

/** Counts nothing. */
export const noMetrics: XdsMetrics = {
  stream: () => {},
  pushed: () => {},
  acked: () => {},
  nacked: () => {},
};
