/**
 * Waiting for something that nobody tells of.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";

/** Looks again and again until it `holds`; rejects after 20 seconds, with what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = systemClock.monotonic() + 20_000; !await holds();) {
    if (systemClock.monotonic() > end) throw new Error(`Not within 20 seconds: ${what}`);
    await systemClock.sleep(5);
  }
}
