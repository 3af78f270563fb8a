/**
 * What the address of a Service is to those who connect to it: a port behind which there are others, which come and go.
 *
 * @module
 */
import * as net from "node:net";
import { once } from "node:events";

export class Service implements AsyncDisposable {
  /** The ports where connections go from now on, in turn. */
  targets: readonly number[];
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  #turn = 0;

  private constructor(targets: readonly number[]) {
    this.targets = targets;
    this.#server = net.createServer((near) => {
      const far = net.connect(this.targets[this.#turn++ % this.targets.length]!, "127.0.0.1");
      for (const [one, other] of [[near, far], [far, near]] as const) {
        this.#sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  static async open(...targets: readonly number[]): Promise<Service> {
    const service = new Service(targets);
    service.#server.listen(0, "127.0.0.1");
    await once(service.#server, "listening");
    return service;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
