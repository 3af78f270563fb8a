/**
 * The images that pods of the test cluster can run: folders laid over each other, made from what this machine has.
 *
 * @module
 */
import { cachedFolder, type CacheOptions, hashOf, hashOfFolder } from "../../tools/cache.ts";
import { goProgram } from "../../tools/go.ts";
import { envoyBinaryForTests } from "../../standalone/envoy_for_tests.ts";
import { root, succeed } from "../../support/command.ts";

/** What `tests/cluster/lab/node.go` reads. */
export interface Image {
  /** Folders of the root file system, the topmost first. */
  readonly layers: readonly string[];
  readonly entrypoint: readonly string[];
  /** The user if the pod names none; root if absent. */
  readonly user?: number;
  /** As in `PATH=/bin`. */
  readonly env?: readonly string[];
  /** The host's programs and libraries can be seen, read-only: for tests that want a shell. */
  readonly host?: boolean;
}

/** By name, without `docker.io/` and without tag or digest. */
export interface Images {
  readonly [name: string]: Image;
}

const nonroot = 65532;

/** Envoy under another name, as a mirror has it. Who runs it has it in the environment, as `IMAGE`. */
export const otherEnvoy = "mirror.example.com/envoy";

/** Where an image has this program, if it is not an executable. */
export const bundle = "/app/node_modules/gatehouse.mjs";

/** All images that there are, made if need be. */
export async function allImages(options: CacheOptions): Promise<Images> {
  const { path: envoy, version } = await envoyBinaryForTests();
  const [coredns, bench] = await Promise.all([
    goProgram({
      name: "coredns",
      module: `${root}tests/cluster/coredns`,
      packages: { coredns: "." },
      takes: "2 minutes",
    }, options),
    goProgram({
      name: "gwbench",
      module: `${root}tests/bench/gwbench`,
      packages: { gwbench: "." },
      takes: "2 minutes",
    }, options),
  ]);
  const proxy: Image = {
    layers: [await alone("envoy", version, envoy, options)],
    entrypoint: ["/usr/local/bin/envoy"],
    user: nonroot,
  };
  return {
    "registry.k8s.io/coredns/coredns": { layers: [coredns], entrypoint: ["/coredns"] },
    "bench/backend": { layers: [bench], entrypoint: ["/gwbench"], user: nonroot },
    "envoyproxy/envoy": proxy,
    [otherEnvoy]: { ...proxy, env: [`IMAGE=${otherEnvoy}`] },
    "localhost/gatehouse": {
      layers: [await application(options), await alone("deno", Deno.version.deno, Deno.execPath(), options)],
      entrypoint: await entrypoint(),
      user: nonroot,
      env: await environment(),
    },
    "host/shell": { layers: [], host: true, entrypoint: ["/bin/sh", "-c"] },
  };
}

/** What the image of a cluster starts: permissions and all, as the Containerfile says. */
export async function entrypoint(): Promise<readonly string[]> {
  return JSON.parse(await instruction("ENTRYPOINT"));
}

/** What it has in its environment, as `NAME=VALUE`, as the Containerfile says too. */
export async function environment(): Promise<readonly string[]> {
  return (await instruction("ENV")).split(" ");
}

/** What an instruction says in the stage of the Containerfile whose image this is. */
async function instruction(name: string): Promise<string> {
  const text = await Deno.readTextFile(`${root}deploy/Containerfile`);
  const stage = text.split(/^FROM /m).find((stage) => /^\S+ AS bundle$/m.test(stage)) ?? "";
  const [, words] = new RegExp(`^${name} (.*)$`, "m").exec(stage) ?? [];
  if (words === undefined) throw new Error(`deploy/Containerfile has no ${name} in the stage "bundle"`);
  return words;
}

/** A folder with one dynamic program, the few libraries that it needs, and the machine's certificates. */
async function alone(name: string, version: string, program: string, options: CacheOptions): Promise<string> {
  const { size, mtime } = await Deno.stat(program);
  return await cachedFolder({
    name: `image-${name}`,
    key: await hashOf(version, program, String(size), String(mtime?.getTime())),
    says: `making the image of ${name} ${version}`,
    async make(folder) {
      const put = async (from: string, to: string) => {
        await Deno.mkdir(`${folder}${to.slice(0, to.lastIndexOf("/"))}`, { recursive: true });
        await Deno.copyFile(from, folder + to);
      };
      await put(await Deno.realPath(program), `/usr/local/bin/${name}`);
      for (const [library] of (await succeed(["ldd", program])).matchAll(/\/\S+/g)) {
        await put(library, library);
      }
      const certificates = "/etc/ssl/certs/ca-certificates.crt";
      await put(certificates, certificates).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    },
  }, options);
}

/** A folder with this tree's bundle. */
async function application(options: CacheOptions): Promise<string> {
  const parts = ["cli", "compat", "controllers", "crds", "kube", "standalone", "webhooks", "xds"];
  const hashes = await Promise.all(
    parts.map((part) => hashOfFolder(root + part).catch(() => `no ${part}`)),
  );
  const files = await Promise.all(
    ["main.ts", "deno.json", "deno.lock", "scripts/bundle.ts"].map((file) => Deno.readTextFile(root + file)),
  );
  return await cachedFolder({
    name: "image-gatehouse",
    key: await hashOf(Deno.version.deno, bundle, ...hashes, ...files),
    says: "bundling Gatehouse",
    async make(folder) {
      await succeed(
        [
          Deno.execPath(),
          "run",
          "--quiet",
          "--no-prompt",
          "--allow-all",
          "scripts/bundle.ts",
          folder + bundle,
        ],
        { cwd: root },
      );
    },
  }, options);
}
