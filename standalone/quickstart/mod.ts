/**
 * The example that `gatehouse standalone` starts with.
 *
 * The manifests are part of the program's modules, so that a bundle has them too.
 *
 * @module
 */
import backend from "./1-backend.yaml" with { type: "text" };
import gateway from "./2-gateway.yaml" with { type: "text" };
import route from "./3-route.yaml" with { type: "text" };

/** The manifests, in the order in which to apply them. */
export const quickstart: readonly { readonly file: string; readonly text: string }[] = [
  { file: "standalone/quickstart/1-backend.yaml", text: backend },
  { file: "standalone/quickstart/2-gateway.yaml", text: gateway },
  { file: "standalone/quickstart/3-route.yaml", text: route },
];

/** The echo server that the manifests send requests to: its Service's name, and where it has to listen. */
export const echoBackend = { name: "echo", host: "127.0.0.1", port: 7080 } as const;

/** The label `app.kubernetes.io/managed-by` of its EndpointSlice. One without it leads to a server of somebody else's. */
export const managedBy = "gatehouse-standalone";
