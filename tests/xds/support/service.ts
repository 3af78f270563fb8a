/**
 * What the address of a Service is to those who connect to it: a port behind which now this server is, now that.
 *
 * @module
 */
import * as net from "node:net";
import { once } from "node:events";

export class Service implements AsyncDisposable {
  /** The port where connections go from now on. */
  target: number;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(target: number) {
    this.target = target;
    this.#server = net.createServer((near) => {
      const far = net.connect(this.target, "127.0.0.1");
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

  static async open(target: number): Promise<Service> {
    const service = new Service(target);
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
