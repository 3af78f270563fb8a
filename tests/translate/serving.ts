/**
 * Objects as traffic sees them: translated, served by the xDS server, obeyed by a real Envoy.
 *
 * @module
 */
import { type ApiObject, keyOf } from "../../crds/kind.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { createWorld, defaultConfig, deriveIr } from "../../controllers/translate/mod.ts";
import { sourceOf } from "../../controllers/translate/batch.ts";
import { type Ask, ask, backend, type Echo } from "../xds/support/http.ts";
import { Rig } from "../xds/support/rig.ts";
import { gateway, gatewayClass, type Raw, service, slice, to } from "./cluster.ts";
import { freePort } from "../support/free_port.ts";

/** A Gateway with one Envoy on one port of this machine, and the Service `app` that answers with what it was asked. */
export async function serving(
  listeners: readonly Raw[],
  objects: readonly Raw[],
  endpoints: { readonly [service: string]: number } = {},
) {
  const stack = new AsyncDisposableStack();
  const graph = new Graph(), world = createWorld(graph);
  const { ir, statuses } = deriveIr(graph, world, defaultConfig);
  const rig = stack.use(await Rig.start(graph, { ir, ledger: world }));
  const port = freePort(), app = stack.use(backend("app"));
  const put = (...objects: readonly ApiObject[]) => {
    for (const object of objects) sourceOf(world, object.kind)!.set(keyOf(object), object);
  };
  const onPort = listeners.map((listener) => ({ port, protocol: "HTTP", ...listener }));
  put(gatewayClass(), gateway("gw", onPort), ...objects);
  for (const [name, at] of Object.entries({ app: app.port, ...endpoints })) {
    put(service(name), { ...slice(name, "127.0.0.1"), ports: [{ name: "http", port: at }] });
  }
  world.addresses.set("default/gw", {
    assigned: [{ type: "IPAddress", value: "127.0.0.1" }],
    bind: ["127.0.0.1"],
  });
  world.proxies.set("default/gw", [{ id: "proxy" }]);
  rig.settle();
  const envoy = await rig.envoy();
  await rig.synced();
  const echo = async (path: string, options?: Ask): Promise<Echo | number> => {
    const { status, body } = await ask(port, path, options);
    return status === 200 ? JSON.parse(body) : status;
  };
  return {
    rig,
    envoy,
    port,
    put,
    statuses,
    world,
    ask: (path: string, options?: Ask) => ask(port, path, options),
    echo,
    /** The path that the backend is asked for, or the status if it is not. */
    path: async (path: string, options?: Ask) => {
      const answer = await echo(path, options);
      return typeof answer === "number" ? answer : answer.path;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export const parentRefs = [{ name: "gw" }];
export const any = [{ name: "http" }];

/** A rule that sends a prefix to `app`, through a filter. */
export function filtered(path: string, filter: Raw): Raw {
  return { ...to("app", path), filters: [filter] };
}
