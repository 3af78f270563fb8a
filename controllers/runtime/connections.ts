/**
 * The connections of a server: how many there are, and how long each may go on without being of use.
 *
 * A server of Node's compatibility layer waits for ever for the handshake, for the rest of a header and for a first stream.
 * What is counted here is time since something was *finished*, so that a peer which sends a byte now and then gains nothing.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Times are in milliseconds. */
export interface ConnectionLimits {
  /** How many there are at most. */
  readonly connections: number;
  /** From the connection to the end of the TLS handshake. */
  readonly handshake: number;
  /** Without any request: from the handshake to the first one in full, and from the end of one to the next. */
  readonly idle: number;
}

export interface ConnectionsOptions {
  /** Whose connections these are, for the log. */
  readonly server: string;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly log: Log;
}

/** Which connection is meant. That of TLS or HTTP/2 will do, which for Node is another object. */
export type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/** Something that a connection is of use for. Disposing of it, once or more often, says that it has ended. */
export type Use = Disposable;

interface Entry {
  readonly socket: Socket;
  uses: number;
  timer: Disposable;
}

/** A little room again before the log tells of the next time that there is none. */
const relief = 0.9;

/**
 * Keeps the connections of one server within their limits. A full server lets go of the peer that has for the longest time
 * not said who it is, rather than turn away one that might; if all have, the new one is turned away.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** By the peer's address and port. */
  readonly #entries = new Map<string, Entry>();
  /** Those whose peer is not known, the oldest first. */
  readonly #strangers = new Map<string, Entry>();
  #full = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A connection has been made. */
  accept(socket: Socket): void {
    const { limits, log, server } = this.#options, key = keyOf(socket);
    if (this.#entries.size < limits.connections * relief) this.#full = false;
    if (this.#entries.size >= limits.connections) {
      if (!this.#full) {
        this.#full = true;
        log.warn(`Too many connections to the ${server}, turning some away`, { limit: limits.connections });
      }
      const [oldest] = this.#strangers.keys();
      if (oldest === undefined) return void socket.destroy();
      this.#cut(oldest, "made room for another");
    }
    const entry = { socket, uses: 0, timer: this.#timer(key, limits.handshake, "no TLS handshake in time") };
    this.#entries.set(key, entry);
    this.#strangers.set(key, entry);
    socket.once("close", () => this.#forget(key, entry));
  }

  /** Its handshake is done. */
  secured(socket: Socket): void {
    const key = keyOf(socket), entry = this.#entries.get(key);
    if (!entry) return;
    socket.once("close", () => this.#forget(key, entry));
    if (entry.uses === 0) this.#await(key, entry);
  }

  /** Something asked of it is under way, and takes as long as it takes. `known` if the peer has proved who it is. */
  use(peer: Peer, known: boolean): Use {
    const key = keyOf(peer), entry = this.#entries.get(key);
    if (!entry) return { [Symbol.dispose]: () => {} };
    if (known) this.#strangers.delete(key);
    entry.uses++;
    entry.timer[Symbol.dispose]();
    let ended = false;
    return {
      [Symbol.dispose]: () => {
        if (ended) return;
        ended = true;
        entry.uses--;
        if (entry.uses === 0 && this.#entries.get(key) === entry) this.#await(key, entry);
      },
    };
  }

  /** Cuts it. */
  cut(peer: Peer, reason: string): void {
    this.#cut(keyOf(peer), reason);
  }

  /** Cuts what is left. */
  destroy(): void {
    for (const { socket } of [...this.#entries.values()]) socket.destroy();
  }

  #await(key: string, entry: Entry): void {
    entry.timer[Symbol.dispose]();
    entry.timer = this.#timer(key, this.#options.limits.idle, "no request in time");
  }

  #timer(key: string, ms: number, reason: string): Disposable {
    return this.#options.clock.timer(ms, () => this.#cut(key, reason));
  }

  #cut(key: string, reason: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#options.log.debug(`Cut a connection to the ${this.#options.server}`, { peer: key, reason });
    this.#forget(key, entry);
    entry.socket.destroy();
  }

  #forget(key: string, entry: Entry): void {
    entry.timer[Symbol.dispose]();
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#strangers.delete(key);
  }
}

function keyOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
