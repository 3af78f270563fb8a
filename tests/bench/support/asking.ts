/**
 * A client that asks until it is answered.
 *
 * @module
 */
import { Agent, request } from "node:http";

/** Asks on one kept-alive connection. */
export class Asking implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #address: string;
  /** Answers that were neither 404, which means not yet, nor 200. */
  wrong = 0;

  constructor(address: string) {
    this.#address = address;
  }

  /** Asks for a host, again as soon as there is an answer, until that is 200. Returns how many milliseconds it took. */
  async until200(host: string): Promise<number> {
    const start = performance.now();
    for (let status = 0; status !== 200;) {
      status = await this.#ask(host);
      if (status !== 200 && status !== 404) this.wrong++;
      if (performance.now() - start > 30_000) throw new Error(`${host} still answers ${status}`);
    }
    return performance.now() - start;
  }

  #ask(host: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const options = { host: this.#address, port: 80, path: "/", headers: { host }, timeout: 5_000 };
    const call = request({ ...options, agent: this.#agent });
    call.on("timeout", () => call.destroy(new Error("late")));
    call.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    call.on("error", () => resolve(0));
    call.end();
    return promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
