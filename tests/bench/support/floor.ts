/**
 * The floor: how fast an Envoy takes a configuration when nothing but the configuration is given to it.
 *
 * @module
 */
import { Worker } from "node:worker_threads";
import type { ApiObject } from "../../../crds/kind.ts";

/** What the thread that pushes is asked to do, one thing after the other. */
export type FloorRequest =
  /** To start an Envoy for these objects, whose Gateways listen on an address. */
  | { readonly do: "start"; readonly address: string; readonly objects: readonly ApiObject[] }
  /** To make what an object changes. */
  | { readonly do: "prepare"; readonly object: ApiObject }
  /** To push that. */
  | { readonly do: "push" }
  | { readonly do: "stop" };

export class Floor implements AsyncDisposable {
  readonly #worker = new Worker(new URL("floor_server.ts", import.meta.url));

  static async start(address: string, objects: readonly ApiObject[]): Promise<Floor> {
    const floor = new Floor();
    await floor.#ask({ do: "start", address, objects });
    return floor;
  }

  /** Makes what an object changes, for {@linkcode Floor.push}. */
  async prepare(object: ApiObject): Promise<void> {
    await this.#ask({ do: "prepare", object });
  }

  async push(): Promise<void> {
    await this.#ask({ do: "push" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ask({ do: "stop" });
    await this.#worker.terminate();
  }

  async #ask(request: FloorRequest): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#worker.once("message", () => resolve()).once("error", reject).postMessage(request);
    await promise;
    this.#worker.off("error", reject);
  }
}
