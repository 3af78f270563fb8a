/**
 * What the image may do in a cluster: with its permissions, whoever has code in it reads no files but those that the cluster mounts,
 * writes none and starts nothing.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Json, startCluster } from "./support/cluster.ts";
import { bundle, entrypoint } from "./support/images.ts";

/** Tries what is forbidden and one thing that is not; prints how each went. */
const script = `
  const attempts = {
    "read what the cluster mounts": () => Deno.readTextFile("/var/run/secrets/attempt/script.js"),
    "read a file": () => Deno.readTextFile("/etc/passwd"),
    "read the process": () => Deno.readTextFile("/proc/self/environ"),
    "write": () => Deno.writeTextFile("/tmp/file", ""),
    "start a program": () => new Deno.Command("/usr/local/bin/deno", { args: ["--version"] }).output(),
    "load a library": () => Deno.dlopen("/usr/lib/libc.so.6", {}),
    "ask for more": () => Deno.permissions.request({ name: "run" }).then(({ state }) => {
      if (state !== "granted") throw new Deno.errors.NotCapable();
    }),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      console.log(name + ": done");
    } catch (error) {
      console.log(name + ": " + error.name);
    }
  }
`;

Deno.test("the image reads, writes and starts nothing but what it is for", async () => {
  await using cluster = await startCluster({ gatewayApi: false });
  const command = (await entrypoint()).map((word) =>
    word === bundle ? "/var/run/secrets/attempt/script.js" : word
  );
  const metadata = { namespace: "default", name: "attempt" };
  await cluster.apply([
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "script.js": script } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: {
        restartPolicy: "Never",
        containers: [{
          name: "attempt",
          image: "localhost/gatehouse:0.1.0",
          command,
          volumeMounts: [{ name: "script", mountPath: "/var/run/secrets/attempt" }],
        }],
        volumes: [{ name: "script", configMap: { name: "attempt" } }],
      },
    },
  ]);
  const pod: Json = await cluster.until({ what: "the attempts to end", seconds: 90 }, async () => {
    const found = await cluster.get("/api/v1/namespaces/default/pods/attempt");
    return ["Failed", "Succeeded"].includes(found?.status?.phase) && found;
  });
  const said = await cluster.logs({ namespace: "default", pod: "attempt", container: "attempt" });
  assertEquals(pod.status.phase, "Succeeded", said);
  assertEquals(said.trim().split("\n"), [
    "read what the cluster mounts: done",
    "read a file: NotCapable",
    "read the process: NotCapable",
    "write: NotCapable",
    "start a program: NotCapable",
    "load a library: NotCapable",
    "ask for more: NotCapable",
  ]);
});
