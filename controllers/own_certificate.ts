/**
 * The certificate of this replica, renewed while it runs.
 *
 * @module
 */
import { type Authority, type AuthorityTimes, bundleOf, signerOf } from "./runtime/authorities.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Log } from "./runtime/log.ts";
import { Nap } from "./runtime/nap.ts";
import { issue, type KeyPair, type Leaf, renewalTime } from "./runtime/pki.ts";

/** What a replica proves itself with, and whom it trusts. All PEM. */
export interface Credentials extends KeyPair {
  readonly authorities: string;
}

export interface OwnCertificateOptions {
  /** What the certificate says. */
  readonly leaf: Omit<Leaf, "notBefore" | "notAfter">;
  /** How long one is good, in milliseconds; after two thirds of it there is another. */
  readonly life: number;
  readonly times: AuthorityTimes;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of the first one, and whenever there is another or others are trusted. */
  readonly changed: (credentials: Credentials) => void;
}

/** After how long to look whether another authority signs by now, and how soon at the earliest, in milliseconds. */
const latest = 60_000, soonest = 1_000;

export class OwnCertificate {
  readonly #options: OwnCertificateOptions;
  readonly #nap = new Nap();
  #authorities: readonly Authority[] = [];
  #current: { readonly pair: KeyPair; readonly signer: string; readonly renew: number } | undefined;
  #told: Credentials | undefined;

  constructor(options: OwnCertificateOptions) {
    this.#options = options;
  }

  /** Undefined until there is an authority. */
  get credentials(): Credentials | undefined {
    return this.#told;
  }

  /** Takes in which authorities there are. */
  use(authorities: readonly Authority[]): void {
    if (authorities === this.#authorities) return;
    this.#authorities = authorities;
    this.#nap.wake();
  }

  /** Keeps the certificate good, until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (true) {
      let left = Infinity;
      try {
        await this.#renew(clock.now().getTime());
        if (this.#current) left = this.#current.renew - clock.now().getTime();
      } catch (error) {
        // What there is goes on, and there is time left until it expires.
        log.error("Cannot renew the certificate of this replica", { error });
      }
      await this.#nap.sleep(clock, Math.max(soonest, Math.min(left, latest)), signal);
    }
  }

  async #renew(now: number): Promise<void> {
    const { leaf, life, times, log, changed } = this.#options;
    const authorities = this.#authorities, signer = signerOf(authorities, now, times);
    // What there is goes on: it may still be good, and nothing is surely not.
    if (!signer) return;
    if (this.#current?.signer !== signer.certificate || this.#current.renew <= now) {
      const notAfter = new Date(Math.min(now + life, signer.notAfter));
      const pair = await issue(signer, {
        ...leaf,
        notBefore: new Date(now - times.skew),
        notAfter,
      });
      this.#current = {
        pair,
        signer: signer.certificate,
        renew: renewalTime({ notBefore: new Date(now), notAfter }).getTime(),
      };
      log.info("Issued a certificate for this replica", { until: notAfter.toISOString() });
    }
    const credentials = { ...this.#current.pair, authorities: bundleOf(authorities) };
    if (same(credentials, this.#told)) return;
    changed(credentials);
    this.#told = credentials;
  }
}

function same(a: Credentials, b: Credentials | undefined): boolean {
  return a.certificate === b?.certificate && a.authorities === b.authorities;
}
