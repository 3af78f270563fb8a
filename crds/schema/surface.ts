/**
 * Which part of an API a cluster serves: Gateway API has two channels, and fields come and go with releases.
 *
 * @module
 */
import type { Channel } from "../kind.ts";

/** The minor releases of Gateway API that the model tells apart, oldest first. */
export const releases = ["1.6", "1.7"] as const;
export type Release = typeof releases[number];

/** What is installed in a cluster. */
export interface Surface {
  readonly channel: Channel;
  readonly release: Release;
}

/** The most that there is. Declared schemas describe this, and besides it the fields that it dropped. */
export const newest: Surface = { channel: "experimental", release: "1.7" };

/**
 * The first release in which something is served, by channel (absent: never), and the last one (absent: it still is).
 * What carries no availability was there in both channels before the oldest release that the model knows.
 */
export interface Availability {
  readonly standard?: Release;
  readonly experimental?: Release;
  readonly until?: { readonly standard?: Release; readonly experimental?: Release };
}

export const standardOnly: Availability = { standard: "1.6" };
export const experimental: Availability = { experimental: "1.6" };
export const since17: Availability = { standard: "1.7", experimental: "1.7" };
export const standardSince17: Availability = { standard: "1.7", experimental: "1.6" };
export const experimentalSince17: Availability = { experimental: "1.7" };
export const until16: Availability = {
  standard: "1.6",
  experimental: "1.6",
  until: { standard: "1.6", experimental: "1.6" },
};
export const experimentalUntil16: Availability = { experimental: "1.6", until: { experimental: "1.6" } };
/** Reshaped by 1.7's experimental channel. */
export const standardOrUntil16: Availability = {
  standard: "1.6",
  experimental: "1.6",
  until: { experimental: "1.6" },
};

/** Whether a surface has what is available like this. */
export function serves({ channel, release }: Surface, availability: Availability | undefined): boolean {
  if (!availability) return true;
  const from = availability[channel];
  if (!from) return false;
  const until = availability.until?.[channel];
  const at = releases.indexOf(release);
  return releases.indexOf(from) <= at && (!until || at <= releases.indexOf(until));
}
