/**
 * A standalone Gatehouse to measure, with as many objects as it takes.
 *
 * @module
 */
import { systemClock } from "../../../controllers/runtime/clock.ts";
import { type ApiObject, keyOf } from "../../../crds/kind.ts";
import { kindFor } from "../../../crds/mod.ts";
import type { Kube } from "../../../kube/types.ts";
import { gatehouse, Running } from "../../support/command.ts";
import { kubeOf } from "../../support/kube.ts";
import { gatewayClass } from "./objects.ts";
import { kept, type Use, useOf } from "./process.ts";

/** How many requests are made to the API server at once. */
const concurrency = 32;

export interface StandOptions {
  /** Where its Gateways may be: a CIDR, or addresses. */
  readonly addresses: string;
  /** Objects that are there before it starts. */
  readonly objects?: readonly ApiObject[];
}

/** A directory with data, and after {@linkcode Stand.start} what runs on it. All of it is gone once it is disposed of. */
export class Stand implements AsyncDisposable {
  readonly data: string;
  readonly #addresses: string;
  readonly #stack = new AsyncDisposableStack();
  #running!: Running;
  kube!: Kube;

  private constructor(data: string, addresses: string) {
    this.data = data;
    this.#addresses = addresses;
    this.#stack.defer(() => Deno.remove(data, { recursive: true }));
  }

  /** Makes the directory and writes the objects, without an operator that could see them. */
  static async prepare({ addresses, objects = [] }: StandOptions): Promise<Stand> {
    const stand = new Stand(await Deno.makeTempDir({ prefix: "gatehouse-bench-" }), addresses);
    await using api = new Running(gatehouse("apiserver", "--data", stand.data, "--port", "0"));
    await api.line(/listens on/);
    await write(await kubeOf(`${stand.data}/kubeconfig`, "bench"), [gatewayClass(), ...objects]);
    await Deno.writeTextFile(`${stand.data}/example-applied`, "");
    return stand;
  }

  /** Starts everything. Resolves at once; {@linkcode Stand.ready} tells when it serves. */
  async start(...flags: readonly string[]): Promise<void> {
    const { data } = this;
    const args = ["--data", data, "--api-port", "0", "--addresses", this.#addresses, ...flags];
    this.#running = this.#stack.use(new Running(gatehouse("standalone", ...args)));
    await Promise.resolve();
  }

  /** Resolves once the operator has listed everything: its start is over, and work begins. */
  async begun(): Promise<void> {
    const path = `${this.data}/operator.sock`;
    // fetch takes five seconds for a socket that has only just come to be.
    for (let there = false; !there;) {
      await systemClock.sleep(5);
      there = await Deno.connect({ transport: "unix", path }).then(
        (socket) => (socket.close(), true),
        () => false,
      );
    }
    using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
    for (let ok = false; !ok;) {
      await systemClock.sleep(20);
      const response = await fetch("http://operator/readyz", { client }).catch(() => undefined);
      await response?.body?.cancel();
      ok = response?.ok ?? false;
    }
  }

  /** Resolves once all Gateways and routes are programmed, and their statuses written. */
  async ready(): Promise<void> {
    await this.#running.line(/^ready/);
    this.kube = await kubeOf(`${this.data}/kubeconfig`, "bench");
  }

  static async open(options: StandOptions): Promise<Stand> {
    const stand = await Stand.prepare(options);
    await stand.start();
    await stand.ready();
    return stand;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** Time and memory of the operator's process. */
  use(): Promise<Use> {
    return useOf(this.pid);
  }

  /** For how many milliseconds the thread of its event loop has wanted a core and had none. */
  kept(): number {
    return kept(this.pid);
  }

  /** The sum of each metric over its labels. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    using client = Deno.createHttpClient({
      proxy: { transport: "unix", path: `${this.data}/operator.sock` },
    });
    const response = await fetch("http://operator/metrics", { client });
    const sums = new Map<string, number>();
    for (const line of (await response.text()).split("\n")) {
      const [, name, value] = /^([a-z_]+)(?:{[^}]*})? (\S+)$/.exec(line) ?? [];
      if (name) sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
    return sums;
  }

  /** Resolves once the operator has used next to no time for a while, which is left out of what it returns. */
  async quiet(): Promise<Use> {
    for (let before = await this.use(), still = 0;;) {
      await systemClock.sleep(250);
      const now = await this.use();
      still = now.cpu - before.cpu <= 0.01 ? still + 1 : 0;
      if (still === 4) return now;
      before = now;
    }
  }

  write(objects: readonly ApiObject[]): Promise<void> {
    return write(this.kube, objects);
  }

  async delete(objects: readonly ApiObject[]): Promise<void> {
    await each(objects, (object) => this.kube.delete(knownKind(object), nameOf(object)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

function knownKind(object: ApiObject) {
  const found = kindFor(object);
  if (!found) throw new Error(`No such kind: ${object.kind}`);
  return found;
}

function nameOf({ metadata: { name, namespace } }: ApiObject) {
  return { name, ...namespace !== undefined && { namespace } };
}

/** Creates objects, or replaces what is not metadata of those that are there. */
async function write(kube: Kube, objects: readonly ApiObject[]): Promise<void> {
  await each(objects, async (object) => {
    try {
      await kube.create(knownKind(object), object);
    } catch (error) {
      if ((error as { readonly status?: number }).status !== 409) throw error;
      const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
      await kube.patch(knownKind(object), nameOf(object), [
        ...Object.entries(rest).map(([field, value]) => ({
          op: "replace" as const,
          path: `/${field}`,
          value,
        })),
        ...metadata.annotations
          ? [{ op: "add" as const, path: "/metadata/annotations", value: metadata.annotations }]
          : [],
      ]).catch((cause) => {
        throw new Error(`Cannot write ${object.kind} ${keyOf(object)}`, { cause });
      });
    }
  });
}

async function each<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items[Symbol.iterator]();
  await Promise.all(Array.from({ length: concurrency }, async () => {
    for (const item of queue) await run(item);
  }));
}
