/**
 * An Envoy as a kubelet runs it: with volumes whose contents change as a whole.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";
import { systemClock } from "../../../controllers/runtime/clock.ts";
import { podFiles, type PodOptions } from "../../../xds/pod.ts";
import { envoyBinaryForTests, envoyForTests } from "../../standalone/envoy_for_tests.ts";
import { exchange } from "./http.ts";

export interface PodInput {
  readonly node: string;
  readonly gateway: string;
  readonly port: number;
  /** The DNS name of the xDS server. */
  readonly serverName: string;
  /** PEM. */
  readonly authority: string;
  readonly token: string;
  readonly more?: Partial<PodOptions>;
}

export class Pod implements AsyncDisposable {
  readonly #folder: string;
  readonly #files: { readonly [name: string]: string };
  readonly #child: Deno.ChildProcess;

  private constructor(folder: string, files: { readonly [name: string]: string }, child: Deno.ChildProcess) {
    this.#folder = folder;
    this.#files = files;
    this.#child = child;
  }

  static async start({ node, gateway, port, serverName, authority, token, more }: PodInput): Promise<Pod> {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-pod-" });
    const { files, args } = podFiles({
      gateway,
      node,
      xds: { host: "127.0.0.1", port, serverName },
      configuration: `${folder}/configuration`,
      token: `${folder}/token`,
      adminSocket: `${folder}/admin.sock`,
      concurrency: 1,
      drain: 2,
      ...more,
    });
    await mount(`${folder}/configuration`, { ...files, "ca.crt": authority });
    await mount(`${folder}/token`, { token });
    const child = new Deno.Command(await envoyForTests(), {
      args: [...args, "--log-path", `${folder}/envoy.log`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    return new Pod(folder, files, child);
  }

  /** As when the kubelet renews the token. */
  renewToken(token: string): Promise<void> {
    return mount(`${this.#folder}/token`, { token });
  }

  /** As when the ConfigMap has changed. */
  replaceAuthority(authority: string): Promise<void> {
    return mount(`${this.#folder}/configuration`, { ...this.#files, "ca.crt": authority });
  }

  log(): Promise<string> {
    return Deno.readTextFile(`${this.#folder}/envoy.log`);
  }

  async admin(path: string): Promise<string> {
    return (await exchange({ socketPath: `${this.#folder}/admin.sock`, path })).body;
  }

  /** Resolves once a connection to the xDS server has failed. */
  async fails(): Promise<void> {
    const failures = /upstream_cx_connect_fail: [1-9]/;
    for (const end = Date.now() + 10_000; !failures.test(await this.admin("/stats?filter=gatehouse/xds"));) {
      if (Date.now() > end) throw new Error(`Envoy trusts the xDS server:\n${await this.log()}`);
      await systemClock.sleep(20);
    }
  }

  /** Resolves once it trusts these authorities and no other. Envoy before 1.40 shows just the first of them. */
  async trusts(authorities: readonly string[]): Promise<void> {
    const { version } = await envoyBinaryForTests(), all = Number(version.split(".")[1]) >= 40;
    const serials = authorities.map((pem) =>
      new X509Certificate(pem).serialNumber.toLowerCase().replace(/^0+/, "")
    );
    const expected = serials.slice(0, all ? undefined : 1).join();
    const known = async () =>
      [...(await this.admin("/certs")).matchAll(/"serial_number": "0*(\w+)"/g)].map(([, serial]) => serial)
        .join();
    for (const end = Date.now() + 10_000; await known() !== expected;) {
      if (Date.now() > end) throw new Error(`Envoy trusts others: ${await this.admin("/certs")}`);
      await systemClock.sleep(20);
    }
  }

  async stop(): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
    await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Writes a volume as a kubelet does: a new folder, a link to it that takes the place of the one before, links to that. */
async function mount(volume: string, files: { readonly [name: string]: string }): Promise<void> {
  const data = `..${crypto.randomUUID()}`;
  await Deno.mkdir(`${volume}/${data}`, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${volume}/${data}/${name}`, content);
  }
  const before = await Deno.readLink(`${volume}/..data`).catch(() => undefined);
  await Deno.symlink(data, `${volume}/..data_tmp`);
  await Deno.rename(`${volume}/..data_tmp`, `${volume}/..data`);
  if (before !== undefined) return await Deno.remove(`${volume}/${before}`, { recursive: true });
  for (const name of Object.keys(files)) await Deno.symlink(`..data/${name}`, `${volume}/${name}`);
}
