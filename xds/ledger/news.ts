/**
 * What replicas tell each other about the proxies of one Gateway.
 *
 * Replicas may be of different versions while they are replaced, so it is about objects and their generations, never about
 * versions of resources. What has been refused is a fact about a content and a software, which holds for all of them.
 *
 * @module
 */
import type { GatewayKey, Origin } from "../../controllers/ir/mod.ts";
import type { Key } from "../../controllers/runtime/graph.ts";

/** A proxy that is connected to the replica that tells. */
export interface ProxyNews {
  readonly id: string;
  /** It has not said yet what it has. */
  readonly arriving: boolean;
  /** It has owed an answer for too long. */
  readonly silent: boolean;
}

/** How far the proxies of the replica that tells are with a contribution. */
export interface ContributionNews {
  readonly origin: Origin;
  /** Absent if there is no such contribution any more. */
  readonly generation?: number;
  /** Those that have arrived and do not have it, by id. */
  readonly waiting: readonly string[];
  /** Why one of them refuses it, in its words. */
  readonly rejected?: string;
}

/** A content that some software refuses. */
export interface RejectionNews {
  readonly piece: Key;
  /** Of the content; equal in replicas of one version. */
  readonly hash: string;
  readonly software: string;
  /** The software's own words. */
  readonly message: string;
}

/** What is to be told: which contributions, and whether of the proxies and of what they refuse; undefined for all there is. */
export type Changes = ReadonlySet<Origin | "proxies" | "rejections"> | undefined;

/** Who is told. */
export interface Addressee {
  /** The source of what that replica tells us. */
  readonly to: string;
  /** Only who leads is told how far proxies are. */
  readonly leads: boolean;
}

/** What has changed since the news before. */
export interface News {
  readonly gateway: GatewayKey;
  /** All of them. */
  readonly proxies?: readonly ProxyNews[];
  /** Those that have changed. */
  readonly contributions?: readonly ContributionNews[];
  /** All of them. */
  readonly rejections?: readonly RejectionNews[];
  /** What proxies run that are connected to others than the replica that is told; all of it. */
  readonly software?: readonly string[];
}
