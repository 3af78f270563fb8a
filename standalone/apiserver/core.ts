/**
 * The API server without its socket: store, controllers and the hono app on top of them.
 *
 * @module
 */
import type { Hono } from "hono";
import type { Channel } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { Scope } from "../../controllers/runtime/scope.ts";
import { createApp } from "./app.ts";
import type { Env } from "./env.ts";
import type { Database } from "./database.ts";
import { expireEvents } from "./expiry.ts";
import { type Fault, Faults } from "./faults.ts";
import { collectGarbage } from "./garbage.ts";
import { emptyNamespaces } from "./namespaces.ts";
import { typedModel } from "./model.ts";
import { type Model, Resources } from "./resources.ts";
import { seed } from "./seed.ts";
import { Store, type StoreOptions } from "./store.ts";

export interface CoreOptions {
  /** The kinds that are served; by default those of Gatehouse, the core and the newest Gateway API. */
  readonly model?: Model;
  /** Which kinds and versions are served; the default is `experimental`: all. */
  readonly channel?: Channel;
  readonly clock: Clock;
  readonly log: Log;
  /** Faults that are on from the start. */
  readonly faults?: readonly Fault[];
  /** Whether faults can be switched over HTTP, at `/debug/faults`; the default is no. */
  readonly debug?: boolean;
  readonly history?: StoreOptions;
  /** Stops the server, too. */
  readonly signal?: AbortSignal;
}

export interface Core extends AsyncDisposable {
  readonly app: Hono<Env>;
  readonly store: Store;
  readonly faults: Faults;
  /** Ends watches and controllers; does not wait for them. */
  stop(): void;
  /** Resolves once everything has stopped; rejects if something broke. */
  join(): Promise<void>;
}

/** Starts everything but the socket. Takes over `database` unless it rejects. */
export async function startCore(database: Database, options: CoreOptions): Promise<Core> {
  const { clock, log, model = typedModel(), channel = "experimental" } = options;
  await using stack = new AsyncDisposableStack();
  const store = stack.use(new Store(database, options.history));
  const resources = new Resources(model, channel);
  const api = { store, resources, clock, log };
  await seed(api);

  const faults = new Faults(options.faults);
  const scope = stack.use(new Scope(options.signal));
  const app = createApp({ ...api, faults, debug: options.debug ?? false, signal: scope.signal });
  scope.spawn("garbage collector", (signal) => collectGarbage(api, signal));
  scope.spawn("namespaces", (signal) => emptyNamespaces(api, signal));
  scope.spawn("expiry of events", (signal) => expireEvents(api, signal));

  const owned = stack.move();
  return {
    app,
    store,
    faults,
    stop: () => scope.stop(),
    join: () => scope.join(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
