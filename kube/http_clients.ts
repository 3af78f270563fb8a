/**
 * The connections to an API server.
 *
 * A `Deno.HttpClient` is one HTTP/2 connection, and a server allows 100 to 250 streams on it; once watches hold them all, every
 * further request waits without a word. So watches have connections of their own, a few on each.
 *
 * @module
 */

/** What secures the connections, in PEM. A changed one is a new object. */
export interface Tls {
  /** Trusted besides the well-known authorities; Deno cannot trust these alone. */
  readonly caCerts?: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  /** A proxy for all connections: `http://`, `https://` or `socks5://`. */
  readonly proxy?: string;
}

/** What a request is: one that ends soon, or one that stays open. */
export type Purpose = "request" | "watch";

/** A connection in use. */
export interface Lease extends Disposable {
  readonly client: Deno.HttpClient;
  /** Lets no further request use this connection: it does not answer any more. */
  retire(): void;
}

/** Watches on one connection. Far below the smallest limit, and few enough to lose at once. */
const watchesPerClient = 32;

interface Slot {
  readonly client: Deno.HttpClient;
  readonly tls: Tls;
  readonly purpose: Purpose;
  users: number;
  retired: boolean;
}

/** Makes connections as they are needed and closes them once nobody uses them. */
export class HttpClients implements Disposable {
  readonly #slots = new Set<Slot>();
  readonly #create: (options: Deno.CreateHttpClientOptions) => Deno.HttpClient;
  #closed = false;

  constructor(create: (options: Deno.CreateHttpClientOptions) => Deno.HttpClient = Deno.createHttpClient) {
    this.#create = create;
  }

  /** How many connections there are for a purpose. */
  count(purpose: Purpose): number {
    return [...this.#slots].filter((slot) => slot.purpose === purpose).length;
  }

  /** Takes a connection until the lease is disposed of. */
  use(purpose: Purpose, tls: Tls): Lease {
    if (this.#closed) throw new Error("Cannot send a request: the client is closed");
    const slot = this.#find(purpose, tls) ?? this.#open(purpose, tls);
    slot.users++;
    let released = false;
    return {
      client: slot.client,
      retire: () => {
        slot.retired = true;
        this.#sweep(slot);
      },
      [Symbol.dispose]: () => {
        if (released) return;
        released = true;
        slot.users--;
        this.#sweep(slot);
      },
    };
  }

  /** Closes every connection; requests under way go on. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const slot of this.#slots) {
      slot.retired = true;
      this.#sweep(slot);
    }
  }

  #find(purpose: Purpose, tls: Tls): Slot | undefined {
    const most = purpose === "watch" ? watchesPerClient : Infinity;
    for (const slot of this.#slots) {
      if (slot.purpose !== purpose || slot.retired) continue;
      if (slot.tls === tls) {
        if (slot.users < most) return slot;
      } else {
        // Other certificates than those of today.
        slot.retired = true;
        this.#sweep(slot);
      }
    }
    return undefined;
  }

  #open(purpose: Purpose, tls: Tls): Slot {
    const { caCerts, cert, key, proxy } = tls;
    const client = this.#create({
      ...(caCerts ? { caCerts: [...caCerts] } : {}),
      ...(cert !== undefined && key !== undefined ? { cert, key } : {}),
      ...(proxy === undefined ? {} : { proxy: { url: proxy } }),
    } as Deno.CreateHttpClientOptions);
    const slot = { client, tls, purpose, users: 0, retired: false };
    this.#slots.add(slot);
    return slot;
  }

  #sweep(slot: Slot): void {
    // The last watch of a connection is often replaced at once, but connections are cheap next to a leak.
    const idle = slot.users === 0 && (slot.retired || slot.purpose === "watch");
    if (idle && this.#slots.delete(slot)) slot.client.close();
  }
}
