/**
 * What a standalone gateway starts with: the example, or manifests of the user's own.
 *
 * @module
 */
import type { Log } from "../controllers/runtime/log.ts";
import type { ApiObject } from "../crds/kind.ts";
import { endpointSlice, kindFor } from "../crds/mod.ts";
import { KubeError } from "../kube/client.ts";
import type { Kube } from "../kube/types.ts";
import { type EchoServer, serveEcho } from "../standalone/echo.ts";
import { echoBackend, managedBy, quickstart } from "../standalone/quickstart/mod.ts";
import { type Manifest, parseManifests, placed, readManifests } from "./files.ts";
import { type Io, UsageError } from "./io.ts";
import { write } from "./write.ts";

export interface ApplyOptions {
  readonly data: string;
  /** Manifests of the user; the example is for when there are none. */
  readonly paths: readonly string[];
  readonly io: Io;
}

/** Applies the user's manifests at every start, the example at the very first: what was deleted since stays deleted. */
export async function applyFirst(kube: Kube, { data, paths, io }: ApplyOptions): Promise<void> {
  if (paths.length > 0) return await apply(kube, await readManifests(paths, io), io.signal);
  const marker = `${data}/example-applied`;
  try {
    await Deno.stat(marker);
    return;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await apply(kube, quickstart.flatMap(({ file, text }) => parseManifests(file, text)), io.signal);
  await Deno.writeTextFile(marker, "The example has been applied; it is not applied again.\n");
}

async function apply(kube: Kube, manifests: readonly Manifest[], signal: AbortSignal): Promise<void> {
  for (const { file, document, object } of manifests) {
    const { apiVersion, metadata: { name } } = object;
    const where = `Cannot apply "${file}", document ${document}, ${object.kind} "${name}"`;
    const kind = kindFor(object);
    if (!kind) throw new UsageError(`${where}: no such kind in ${apiVersion}`);
    try {
      await write(kube, kind, placed(kind, object), signal);
    } catch (error) {
      if (error instanceof KubeError) throw new UsageError(`${where}: ${error.message}`, { status: 1 });
      throw error;
    }
  }
}

/** Serves the example's backend for as long as the example is there, on another port if its own is taken. */
export async function startEcho(
  kube: Kube,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<AsyncDisposable | undefined> {
  const name = { namespace: "default", name: echoBackend.name };
  let slice: ApiObject & { readonly ports?: readonly { readonly port?: number }[] };
  try {
    slice = await kube.get(endpointSlice, name, signal);
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined;
    throw error;
  }
  if (slice.metadata.labels?.["app.kubernetes.io/managed-by"] !== managedBy) return undefined;
  const wanted = slice.ports?.[0]?.port ?? echoBackend.port;
  let server: EchoServer;
  try {
    server = await serveEcho({ ...echoBackend, port: wanted });
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    server = await serveEcho({ ...echoBackend, port: 0 });
    log.info("The port of the example's backend is in use, another one is taken", {
      wanted,
      port: server.port,
    });
  }
  if (server.port !== wanted) {
    await kube.patch(endpointSlice, name, [{ op: "replace", path: "/ports/0/port", value: server.port }], {
      signal,
    });
  }
  return server;
}
