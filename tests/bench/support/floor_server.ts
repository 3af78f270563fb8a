/**
 * What pushes to the Envoy of the floor, on a thread of its own as an operator would be.
 *
 * The resources are Gatehouse's own, made before the clock runs. They are pushed in plain text as soon as they are there, with
 * no regard to order, acknowledgements or refusals.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";
import { bootstrap } from "../../../xds/bootstrap.ts";
import { frameResponse, gather, readMessages } from "../../../xds/grpc/frames.ts";
import { type ResourceType, typeUrls, type XdsResource } from "../../../xds/types.ts";
import { DeltaDiscoveryRequest } from "../../../xds/wire/envoy/discovery.ts";
import { decode } from "../../../xds/wire/mod.ts";
import { envoyForTests } from "../../standalone/envoy_for_tests.ts";
import { Envoy } from "../../xds/support/rig.ts";
import type { FloorRequest } from "./floor.ts";
import { Tables } from "./tables.ts";

/** How much is given to HTTP/2 at once. */
const writeSize = 32 * 1024;

class FloorServer implements AsyncDisposable {
  readonly tables: Tables;
  readonly #stack = new AsyncDisposableStack();
  #stream: http2.ServerHttp2Stream | undefined;
  #nonce = 0;
  #sent = Promise.resolve();

  private constructor(tables: Tables) {
    this.tables = tables;
  }

  static async start(tables: Tables): Promise<FloorServer> {
    const floor = new FloorServer(tables), server = http2.createServer();
    server.on("connection", (socket) => socket.setNoDelay(true));
    server.on("stream", (stream) => void floor.#serve(stream));
    await new Promise<void>((resolve) => server.listen(0, "127.0.60.9", resolve));
    floor.#stack.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    floor.#stack.defer(() => floor.#stream?.session?.destroy());
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-floor-" });
    floor.#stack.defer(() => Deno.remove(folder, { recursive: true }));
    const { port } = server.address() as AddressInfo;
    await Deno.writeTextFile(`${folder}/envoy.json`, JSON.stringify(plain(folder, port)));
    floor.#stack.use(new Envoy(await envoyForTests(), folder));
    return floor;
  }

  /** Settles the tables. What it returns pushes what has changed. */
  settle(): () => void {
    const { tables: { graph, resources } } = this;
    graph.settle();
    const changed = [...resources.changed].flatMap((key) => resources.get(key) ?? []);
    return () => {
      for (const type of Object.keys(typeUrls) as ResourceType[]) {
        const some = changed.filter((resource) => resource.type === type);
        if (some.length > 0) this.#send(type, some);
      }
    };
  }

  async #serve(stream: http2.ServerHttp2Stream): Promise<void> {
    this.#stream = stream;
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const started = new Set<ResourceType>();
    try {
      for await (const message of readMessages(stream, 1 << 26)) {
        const { type_url, resource_names_subscribe: names = [] } = decode(DeltaDiscoveryRequest, message);
        const [type] = Object.entries(typeUrls).find(([, url]) => url === type_url) ?? [];
        if (!type) continue;
        const wildcard = (type === "cluster" || type === "listener") && !started.has(type);
        started.add(type as ResourceType);
        const wanted = [...this.tables.resources.entries()].map(([, resource]) => resource)
          .filter((resource) => resource.type === type && (wildcard || names.includes(resource.name)));
        if (wanted.length > 0) this.#send(type as ResourceType, wanted);
      }
    } catch {
      // The Envoy is gone.
    }
  }

  #send(type: ResourceType, resources: readonly XdsResource[]): void {
    const response = { type, nonce: `${++this.#nonce}`, resources, removed: [] };
    this.#sent = this.#sent.then(async () => {
      for (const piece of gather(frameResponse(response), writeSize)) {
        const free = this.#stream?.write(Buffer.from(piece));
        if (!free) await new Promise((resolve) => this.#stream?.once("drain", resolve) ?? resolve(undefined));
      }
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** The bootstrap of every Envoy here, with an xDS server in plain text. */
function plain(folder: string, port: number): unknown {
  const { static_resources: resources, ...rest } = bootstrap({
    proxy: "floor",
    gateway: "default/web",
    adminSocket: `${folder}/admin.sock`,
    sdsDirectory: folder,
    xds: { host: "127.0.60.9", port, serverName: "floor" },
  });
  const [xds, ...others] = resources?.clusters ?? [];
  const { transport_socket: _tls, ...open } = xds!;
  return { ...rest, static_resources: { ...resources, clusters: [open, ...others] } };
}

let floor: FloorServer | undefined, push = () => {};

async function obey(request: FloorRequest): Promise<void> {
  if (request.do === "start") {
    floor = await FloorServer.start(new Tables(request.address, request.objects));
  } else if (request.do === "prepare") {
    floor!.tables.set(request.object);
    push = floor!.settle();
  } else if (request.do === "push") {
    push();
  } else {
    await floor?.[Symbol.asyncDispose]();
  }
}

parentPort!.on("message", async (request: FloorRequest) => {
  await obey(request);
  parentPort!.postMessage(request.do);
});
