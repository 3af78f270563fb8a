/**
 * The time as Leases and Events have it.
 *
 * @module
 */
import { MicroTime } from "@cloudydeno/kubernetes-apis/common.ts";
import type { Clock } from "../controllers/runtime/clock.ts";

/** The present moment; clocks have milliseconds, so the last three digits are zeros. */
export function microTime(clock: Clock): MicroTime {
  const now = clock.now();
  return new MicroTime(now, now.getMilliseconds() * 1000);
}
