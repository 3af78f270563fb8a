/**
 * What a scenario is: requests that are made in a namespace of their own, on both servers.
 *
 * @module
 */
import type { Recorder } from "./side.ts";

export interface Scenario {
  readonly name: string;
  /** Makes its requests. What they depend on is taken from earlier answers. */
  run(api: Recorder): Promise<void>;
}

export const merge = "application/merge-patch+json";
export const jsonPatch = "application/json-patch+json";
export const strategic = "application/strategic-merge-patch+json";
