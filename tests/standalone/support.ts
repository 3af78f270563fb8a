/**
 * Envoys to try processes on.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import type { RunDirectory } from "../../standalone/envoy/process.ts";
import { EnvoyProcess, type EnvoyStatus } from "../../standalone/envoy/process.ts";
import { runDirectory } from "../../standalone/envoy/process.ts";
import { envoyBinaryForTests } from "./envoy_for_tests.ts";
import { freePort } from "../support/free_port.ts";

/** A directory that goes away with the test. Its path is short, since sockets lie in it. */
export async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "gh-" });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await Deno.remove(path, { recursive: true });
    },
  };
}

/** Writes an executable shell script. */
export async function script(path: string, text: string): Promise<string> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${text}\n`);
  await Deno.chmod(path, 0o755);
  return path;
}

export interface StaticOptions {
  readonly adminSocket: string;
  readonly port: number;
  /** The upstream's port; without one, Envoy answers 200 itself. */
  readonly upstream?: number;
}

/** A bootstrap without xDS: one HTTP listener with one route. */
export function staticBootstrap({ adminSocket, port, upstream }: StaticOptions): string {
  const type = (name: string) => `type.googleapis.com/envoy.extensions.filters.${name}`;
  const address = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });
  return JSON.stringify({
    admin: { address: { pipe: { path: adminSocket, mode: 0o600 } } },
    static_resources: {
      listeners: [{
        name: "web",
        address: address(port),
        filter_chains: [{
          filters: [{
            name: "hcm",
            typed_config: {
              "@type": type("network.http_connection_manager.v3.HttpConnectionManager"),
              stat_prefix: "default/web/80",
              route_config: {
                virtual_hosts: [{
                  name: "all",
                  domains: ["*"],
                  routes: [{
                    match: { prefix: "/" },
                    ...upstream === undefined
                      ? { direct_response: { status: 200 } }
                      : { route: { cluster: "upstream" } },
                  }],
                }],
              },
              http_filters: [{
                name: "router",
                typed_config: { "@type": type("http.router.v3.Router") },
              }],
            },
          }],
        }],
      }],
      clusters: upstream === undefined ? [] : [{
        name: "upstream",
        load_assignment: {
          cluster_name: "upstream",
          endpoints: [{ lb_endpoints: [{ endpoint: { address: address(upstream) } }] }],
        },
      }],
    },
  });
}

/** An Envoy whose states can be waited for. */
export class WatchedEnvoy implements AsyncDisposable {
  readonly seen: EnvoyStatus[] = [];
  readonly directory: RunDirectory;
  readonly process: EnvoyProcess;
  #wake = Promise.withResolvers<void>();

  constructor(path: string, binary: { path: string; version: string }, bootstrap: string) {
    this.directory = runDirectory(path);
    this.process = new EnvoyProcess({
      name: "test",
      binary,
      bootstrap,
      directory: this.directory,
      concurrency: 1,
      clock: systemClock,
      log: silentLog,
      onChange: (status) => {
        this.seen.push(status);
        this.#wake.resolve();
        this.#wake = Promise.withResolvers();
      },
    });
  }

  /** Resolves with the first status that fits, from the `from`th on. */
  async until(fits: (status: EnvoyStatus) => boolean, from = 0): Promise<EnvoyStatus> {
    for (let at = from;;) {
      for (; at < this.seen.length; at++) if (fits(this.seen[at]!)) return this.seen[at]!;
      await this.#wake.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop({ deadline: 0 });
  }
}

export async function startEnvoy(
  directory: string,
  options: { readonly port?: number; readonly upstream?: number } = {},
): Promise<WatchedEnvoy & { readonly port: number }> {
  const port = options.port ?? freePort();
  const { adminSocket } = runDirectory(directory);
  const bootstrap = staticBootstrap({ adminSocket, ...options, port });
  return Object.assign(new WatchedEnvoy(directory, await envoyBinaryForTests(), bootstrap), { port });
}
