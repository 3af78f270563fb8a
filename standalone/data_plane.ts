/**
 * The data plane of a single machine: an address, a certificate and an Envoy for each Gateway.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { issue, type KeyPair } from "../controllers/runtime/pki.ts";
import { AddressBook, type AddressWant, type GatewayAddresses } from "./addresses.ts";
import type { Pool } from "./addresses/pool.ts";
import { type DesiredEnvoy, Fleet, gatewayDirectory } from "./envoy/fleet.ts";
import type { EnvoyStatus, StopOptions } from "./envoy/process.ts";

/** The files that an Envoy is started with; who knows Envoy's configuration writes them. */
export interface EnvoyFiles {
  /** In JSON. */
  readonly bootstrap: string;
  /** More files of its directory, by name. */
  readonly files: { readonly [name: string]: string };
}

/** What they depend on. */
export interface EnvoyInput {
  readonly gateway: GatewayKey;
  readonly proxy: string;
  readonly adminSocket: string;
  /** The folder that holds everything else. */
  readonly directory: string;
  /** The folder with `tls.crt`, `tls.key` and `ca.crt`. */
  readonly certificates: string;
}

export interface DataPlaneOptions {
  /** Where Envoys have their directories and addresses are written down; absolute. */
  readonly directory: string;
  readonly binary: { readonly path: string; readonly version: string };
  readonly pool: Pool;
  readonly concurrency?: number;
  /** Signs the certificates by which Envoys prove who they are, and that of the xDS server. */
  readonly authority: KeyPair;
  /** What a Gateway's certificate says about its holder. */
  readonly identityOf: (gateway: GatewayKey) => string;
  readonly envoy: (input: EnvoyInput) => EnvoyFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly onAddresses: (gateway: GatewayKey, addresses: GatewayAddresses | undefined) => void;
  /** Told which proxies a Gateway is to have, as soon as they are on their way; none once it is gone. */
  readonly onProxies: (gateway: GatewayKey, proxies: readonly { readonly id: string }[]) => void;
}

/** How long the certificates of Envoys last, in milliseconds; a new start makes new ones. */
const lifetime = 10 * 365 * 24 * 3600 * 1000;

/** Brings the machine to what is wanted of it, whatever was wanted before. */
export class DataPlane implements AsyncDisposable {
  readonly #options: DataPlaneOptions;
  readonly #addresses: AddressBook;
  readonly #fleet: Fleet;
  readonly #desired = new Map<GatewayKey, DesiredEnvoy>();
  #wants: readonly AddressWant[] = [];
  #preparing: Promise<void> | undefined;
  #busy = false;
  #stopped = false;

  private constructor(options: DataPlaneOptions, addresses: AddressBook, fleet: Fleet) {
    this.#options = options;
    this.#addresses = addresses;
    this.#fleet = fleet;
  }

  /** Ends what an earlier run left behind, then is ready to serve. */
  static async open(options: DataPlaneOptions): Promise<DataPlane> {
    const { directory, binary, pool, concurrency, clock, log, onAddresses } = options;
    const fleet = await Fleet.open({
      directory: `${directory}/envoy`,
      binary,
      ...concurrency !== undefined && { concurrency },
      // Until then, others may have taken its ports.
      restarting: (gateway) => addresses.recheck(gateway),
      clock,
      log,
    });
    const addresses: AddressBook = await AddressBook.open({
      pool,
      file: `${directory}/addresses.json`,
      clock,
      log,
      onChange: onAddresses,
    });
    return new DataPlane(options, addresses, fleet);
  }

  /** Says which Gateways there are from now on. What comes while Envoys are drained for good is for the next run. */
  sync(wants: readonly AddressWant[]): void {
    if (this.#stopped) return;
    this.#wants = wants;
    this.#addresses.sync(wants);
    if (!this.#busy) this.#preparing = this.#prepare();
  }

  /** The state of every Envoy. */
  statuses(): ReadonlyMap<GatewayKey, EnvoyStatus> {
    return this.#fleet.statuses();
  }

  /** Calls `listener` whenever the state of an Envoy changes, until disposed of. */
  onChange(listener: () => void): Disposable {
    return this.#fleet.onChange(listener);
  }

  /** Drains and ends all Envoys. */
  async stop(options: StopOptions = {}): Promise<void> {
    this.#stopped = true;
    await this.#addresses[Symbol.asyncDispose]();
    await this.#preparing;
    await this.#fleet.stop(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Makes the certificates of Envoys that are new, then starts them and ends those that are not wanted any more. */
  async #prepare(): Promise<void> {
    const { onProxies } = this.#options;
    this.#busy = true;
    for (let again = true; again;) {
      const wants = this.#wants;
      const gateways = new Set(wants.map(({ gateway }) => gateway));
      for (const gateway of this.#desired.keys()) {
        if (gateways.has(gateway)) continue;
        this.#desired.delete(gateway);
        onProxies(gateway, []);
      }
      for (const gateway of gateways) {
        if (this.#desired.has(gateway)) continue;
        try {
          this.#desired.set(gateway, await this.#describe(gateway));
          onProxies(gateway, [{ id: proxyOf(gateway) }]);
        } catch (error) {
          this.#options.log.error("Cannot prepare the Envoy of a Gateway", { gateway, error });
        }
      }
      this.#fleet.sync(this.#desired);
      again = wants !== this.#wants;
    }
    // Nothing is awaited since the last look at what is wanted.
    this.#busy = false;
  }

  async #describe(gateway: GatewayKey): Promise<DesiredEnvoy> {
    const { directory, authority, identityOf, envoy, clock } = this.#options;
    const { path, adminSocket } = gatewayDirectory(`${directory}/envoy`, gateway);
    const proxy = proxyOf(gateway), now = clock.now();
    const input = { gateway, proxy, adminSocket, directory: path, certificates: `${path}/certificates` };
    const { bootstrap, files } = envoy(input);
    const leaf = await issue(authority, {
      commonName: proxy,
      uris: [identityOf(gateway)],
      usages: ["client"],
      notBefore: new Date(now.getTime() - 60_000),
      notAfter: new Date(now.getTime() + lifetime),
    });
    const certificates = {
      "certificates/tls.crt": leaf.certificate,
      "certificates/tls.key": leaf.key,
      "certificates/ca.crt": authority.certificate,
    };
    return { bootstrap, files: { ...files, ...certificates } };
  }
}

/** The node id of a Gateway's only Envoy. */
function proxyOf(gateway: GatewayKey): string {
  return `${gateway}/0`;
}
