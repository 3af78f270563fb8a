/**
 * A clock that runs faster than time, for tests of what takes long and talks to real servers.
 *
 * @module
 */
import { type Clock, systemClock } from "../../controllers/runtime/clock.ts";

/** Time that passes `factor` times as fast. */
export function fastClock(factor: number): Clock {
  const start = systemClock.now().getTime(), zero = systemClock.monotonic();
  const elapsed = () => (systemClock.monotonic() - zero) * factor;
  return {
    now: () => new Date(start + elapsed()),
    monotonic: elapsed,
    sleep: (ms, options) => systemClock.sleep(ms / factor, options),
    timer: (ms, run) => systemClock.timer(ms / factor, run),
    turn: (run) => systemClock.turn(run),
  };
}
