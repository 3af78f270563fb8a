/**
 * Tells the replica that leads about the proxies of this one, whoever that is.
 *
 * @module
 */
import { connect, type TLSSocket } from "node:tls";
import type { Credentials } from "../controllers/own_certificate.ts";
import { Nap } from "../controllers/runtime/nap.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { Backoff } from "../kube/backoff.ts";
import { exchangeReports, type ReportStreamOptions } from "./report_stream.ts";
import { reportProtocol } from "./report_server.ts";

export interface ReportClientOptions extends Omit<ReportStreamOptions, "addressee" | "signal"> {
  /** What this replica shows; nothing yet if undefined. */
  readonly credentials: () => Credentials | undefined;
  /** The DNS name in the certificates of all replicas. */
  readonly serverName: string;
}

/** Where a replica can be told. */
export interface ReportAddress {
  readonly host: string;
  readonly port: number;
}

/** How we call the one that leads. */
const source = "leader";

/** How long a handshake may take, in milliseconds. */
const handshake = 5_000;

export class ReportClient {
  readonly #options: ReportClientOptions;
  readonly #changed = new Nap();
  #target: ReportAddress | undefined;
  #current: AbortController | undefined;

  constructor(options: ReportClientOptions) {
    this.#options = options;
  }

  /** Says where the leader is; undefined if nobody leads or this replica does. */
  follow(target: ReportAddress | undefined): void {
    if (target?.host === this.#target?.host && target?.port === this.#target?.port) return;
    this.#target = target;
    this.#current?.abort();
    this.#changed.wake();
  }

  /** Keeps telling, until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (true) {
      const target = this.#target;
      if (!target) {
        await this.#changed.sleep(clock, forever, signal);
        continue;
      }
      const backoff = new Backoff({ clock, first: 100, most: 5_000, reset: 10_000 });
      while (target === this.#target) {
        const credentials = this.#options.credentials();
        if (credentials) await this.#talk(target, { credentials, backoff, signal });
        signal.throwIfAborted();
        if (target === this.#target) await this.#changed.sleep(clock, backoff.failed(), signal);
      }
    }
  }

  async #talk(
    target: ReportAddress,
    { credentials, backoff, signal }: {
      readonly credentials: Credentials;
      readonly backoff: Backoff;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    const { log } = this.#options, current = this.#current = new AbortController();
    using either = linkSignals(signal, current.signal);
    try {
      const socket = await this.#dial(target, credentials, either.signal);
      backoff.healthy();
      log.info("Telling the leader about the proxies of this replica", { ...target });
      await exchangeReports(socket, {
        ...this.#options,
        addressee: { to: source, leads: true },
        signal: either.signal,
      });
    } catch (error) {
      if (!either.signal.aborted) log.debug("Cannot reach the leader", { ...target, error });
    } finally {
      this.#current = undefined;
    }
  }

  async #dial(
    { host, port }: ReportAddress,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<TLSSocket> {
    const { clock, serverName } = this.#options, { certificate: cert, key, authorities: ca } = credentials;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({
      host,
      port,
      servername: serverName,
      cert,
      key,
      ca,
      ALPNProtocols: [reportProtocol],
      minVersion: "TLSv1.3",
    });
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    using _timer = clock.timer(handshake, () => reject(new Error("No handshake in time")));
    try {
      await promise;
      return socket;
    } catch (error) {
      socket.on("error", () => {});
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      socket.off("error", reject);
    }
  }
}

/** Longer than any process runs, and no longer than a timer can be set, in milliseconds. */
const forever = 2 ** 31 - 1;
