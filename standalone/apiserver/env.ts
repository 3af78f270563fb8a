/**
 * What the handlers of requests share.
 *
 * @module
 */
import type { Identity } from "./access.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import type { Faults } from "./faults.ts";
import type { Resources } from "./resources.ts";
import type { Store } from "./store.ts";

export interface AppOptions {
  readonly store: Store;
  readonly resources: Resources;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
  /** Whether faults can be switched over HTTP. */
  readonly debug: boolean;
  /** Ends all watches. */
  readonly signal: AbortSignal;
}

/** What the transport knows of a request. */
export interface Bindings {
  /** Absent if the client showed no certificate of ours. */
  readonly identity?: Identity;
}

export type Env = { Bindings: Bindings };
