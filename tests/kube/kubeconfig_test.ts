import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { createKube } from "../../kube/client.ts";
import { ConfigError } from "../../kube/errors.ts";
import { openKubeconfig } from "../../kube/kubeconfig.ts";
import { defaultKubeconfigs, readKubeconfigs } from "../../kube/kubeconfig_files.ts";
import { type Command, type Output, type Surroundings, systemSurroundings } from "../../kube/surroundings.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { widget, widgets } from "./scripted_client.ts";

/** A machine of files and programs. */
class Machine implements Surroundings {
  readonly commands: Command[] = [];
  readonly reads: string[] = [];
  readonly files: Map<string, string>;
  readonly env: Record<string, string>;
  run: (command: Command) => Promise<Output> = () =>
    Promise.reject(new Deno.errors.NotFound("no such program"));

  constructor(files: Record<string, string>, env: Record<string, string> = {}) {
    this.files = new Map(Object.entries(files));
    this.env = env;
  }

  readFile = (path: string): Promise<string> => {
    this.reads.push(path);
    const text = this.files.get(path);
    return text === undefined
      ? Promise.reject(new Deno.errors.NotFound("No such file or directory"))
      : Promise.resolve(text);
  };
}

function config(cluster: object, user: object, more: object = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "dev",
    clusters: [{ name: "c", cluster: { server: "https://api.example:6443", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "dev", context: { cluster: "c", user: "u" } }],
    ...more,
  });
}

function base64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

async function open(
  machine: Machine,
  options: { context?: string; clock?: FakeClock; files?: string[] } = {},
) {
  const { clock = new FakeClock(), context, files = ["/home/me/.kube/config"] } = options;
  return await openKubeconfig({ files, context, surroundings: machine, clock, log: silentLog });
}

Deno.test("which files are read", () => {
  const cases: readonly (readonly [env: Record<string, string>, files: string[]])[] = [
    [{}, []],
    [{ HOME: "/home/me" }, ["/home/me/.kube/config"]],
    [{ HOME: "/home/me", KUBECONFIG: "" }, ["/home/me/.kube/config"]],
    [{ HOME: "/home/me", KUBECONFIG: "/a:/b::/a" }, ["/a", "/b"]],
  ];
  for (const [env, files] of cases) assertEquals(defaultKubeconfigs(env), files);
});

Deno.test("the first file that has a name has all of it", async () => {
  const machine = new Machine({
    "/a": `
current-context: ""
users: [{name: red, user: {token: a}}]
contexts: [{name: one, context: {cluster: pig, user: red, namespace: farm}}]`,
    "/b": `
current-context: one
clusters: [{name: pig, cluster: {server: https://pig}}]
users: [{name: red, user: {token: b, username: x}}, {name: blue, user: {token: c}}]
contexts: [{name: one, context: {cluster: cow, user: blue}}]`,
  });
  const merged = await readKubeconfigs(["/a", "/missing", "/b"], machine);
  assertEquals(merged.files, ["/a", "/b"]);
  assertEquals(merged.currentContext, "one");
  assertEquals(merged.users.get("red"), { file: "/a", value: { token: "a" } });
  assertEquals([...merged.users.keys()], ["red", "blue"]);
  const cluster = await open(machine, { files: ["/a", "/missing", "/b"] });
  assertEquals(cluster.server.href, "https://pig/");
  assertEquals(cluster.namespace, "farm");
  assertEquals(cluster.name, 'the context "one" of /a');
  assertEquals((await cluster.credentials()).authorization, "Bearer a");
});

Deno.test("data, files and tokens", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config(
      { "certificate-authority": "pki/ca.crt" },
      { "client-certificate-data": base64("CERT"), "client-key": "/keys/me.key", token: "t" },
    ),
    "/home/me/.kube/pki/ca.crt": "CA",
    "/keys/me.key": "KEY",
  });
  const cluster = await open(machine);
  assertEquals(await cluster.credentials(), {
    tls: { caCerts: ["CA"], cert: "CERT", key: "KEY" },
    authorization: "Bearer t",
  });
  assertEquals(cluster.namespace, "default");
});

Deno.test("data comes before a file, a token file before a token", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config(
      { "certificate-authority": "/none", "certificate-authority-data": base64("CA") },
      { token: "t", tokenFile: "/token" },
    ),
    "/token": "from file\n",
  });
  assertEquals(await (await open(machine)).credentials(), {
    tls: { caCerts: ["CA"] },
    authorization: "Bearer from file",
  });
});

Deno.test("a name and a password, a proxy", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config({ "proxy-url": "socks5://proxy:1080" }, {
      username: "me",
      password: "ü",
    }),
  });
  assertEquals(await (await open(machine)).credentials(), {
    tls: { proxy: "socks5://proxy:1080" },
    authorization: `Basic ${base64("me:ü")}`,
  });
});

Deno.test("files are read again after a minute, and at once after a rejection; connections change only with TLS", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config({ "certificate-authority": "/ca" }, { tokenFile: "/token" }),
    "/ca": "CA",
    "/token": "one",
  });
  const clock = new FakeClock();
  const cluster = await open(machine, { clock });
  const first = await cluster.credentials();
  machine.files.set("/token", "two");
  await clock.advance(59_999);
  assertStrictEquals(await cluster.credentials(), first);
  await clock.advance(1);
  const second = await cluster.credentials();
  assertEquals(second.authorization, "Bearer two");
  assertStrictEquals(second.tls, first.tls);

  machine.files.set("/token", "three");
  cluster.reject(first);
  assertStrictEquals(await cluster.credentials(), second, "old news");
  cluster.reject(second);
  assertEquals((await cluster.credentials()).authorization, "Bearer three");

  machine.files.set("/ca", "CA2");
  await clock.advance(60_000);
  const third = await cluster.credentials();
  assertEquals(third.tls, { caCerts: ["CA2"] });

  machine.files.delete("/token");
  await clock.advance(60_000);
  assertStrictEquals(await cluster.credentials(), third, "what was read once stays good");
  const reads = machine.reads.length;
  await Promise.all([1, 2, 3].map(() => cluster.credentials()));
  assertEquals(machine.reads.length, reads, "and is not looked for at every request");
});

const exec = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "cloud-login",
  args: ["token", "--cluster", "x"],
  env: [{ name: "PROFILE", value: "dev" }],
  interactiveMode: "Never",
};

function credential(status: object, apiVersion = exec.apiVersion): string {
  return JSON.stringify({ apiVersion, kind: "ExecCredential", status });
}

Deno.test("a plugin is run once and again when its token expires or is rejected", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config({ "certificate-authority-data": base64("CA"), "tls-server-name": "" }, {
      exec: { ...exec, provideClusterInfo: true },
    }),
  });
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  let count = 0;
  machine.run = async (command) => {
    machine.commands.push(command);
    const expires = new Date(clock.now().getTime() + 600_000).toISOString();
    const stdout = credential({ token: `t${++count}`, expirationTimestamp: expires });
    await settle();
    return { code: 0, stdout, stderr: "" };
  };
  const cluster = await open(machine, { clock });
  assertEquals(machine.commands.length, 0, "not before it is needed");
  const [first, same] = await Promise.all([cluster.credentials(), cluster.credentials()]);
  assertEquals(first.authorization, "Bearer t1");
  assertStrictEquals(same, first);
  assertEquals(machine.commands.length, 1);
  const [{ program, args, env }] = machine.commands as [Command];
  assertEquals([program, args, env.PROFILE], ["cloud-login", ["token", "--cluster", "x"], "dev"]);
  assertEquals(JSON.parse(env.KUBERNETES_EXEC_INFO!), {
    kind: "ExecCredential",
    apiVersion: exec.apiVersion,
    spec: {
      interactive: false,
      cluster: { server: "https://api.example:6443", "certificate-authority-data": base64("CA") },
    },
  });
  await clock.advance(599_999);
  assertEquals((await cluster.credentials()).authorization, "Bearer t1");
  await clock.advance(1);
  const second = await cluster.credentials();
  assertEquals(second.authorization, "Bearer t2");
  assertStrictEquals(second.tls, first.tls, "a new token needs no new connection");
  cluster.reject(second);
  assertEquals((await cluster.credentials()).authorization, "Bearer t3");
  assertEquals(clock.pending, 0);
});

Deno.test("a plugin may give a certificate, and lie beside the kubeconfig", async () => {
  const machine = new Machine({
    "/home/me/.kube/config": config({}, { exec: { ...exec, command: "bin/login", args: null, env: null } }),
  });
  machine.run = (command) => {
    machine.commands.push(command);
    const status = { clientCertificateData: "CERT", clientKeyData: "KEY" };
    return Promise.resolve({ code: 0, stdout: credential(status), stderr: "" });
  };
  const cluster = await open(machine);
  assertEquals((await cluster.credentials()).tls, { cert: "CERT", key: "KEY" });
  assertEquals(machine.commands[0]?.program, "/home/me/.kube/bin/login");
});

const named = 'the context "dev" of /home/me/.kube/config';
const failures:
  readonly (readonly [name: string, files: Record<string, string>, message: string, context?: string])[] = [
    ["no file", {}, "Cannot read a kubeconfig: no file /home/me/.kube/config"],
    [
      "no YAML",
      { "/home/me/.kube/config": "a: [" },
      'Cannot read the kubeconfig "/home/me/.kube/config": Flow sequence',
    ],
    [
      "no kubeconfig",
      { "/home/me/.kube/config": "clusters: [{name: c, cluster: {}}]" },
      'Cannot read the kubeconfig "/home/me/.kube/config": clusters.0.cluster.server: ',
    ],
    [
      "no current context",
      { "/home/me/.kube/config": config({}, {}, { "current-context": "" }) },
      "Cannot choose a context of /home/me/.kube/config: it has no current-context; there are: dev",
    ],
    [
      "no such context",
      { "/home/me/.kube/config": config({}, {}) },
      'Cannot find the context "prod" in /home/me/.kube/config; there are: dev',
      "prod",
    ],
    [
      "no such cluster",
      { "/home/me/.kube/config": config({}, {}, { clusters: [] }) },
      `Cannot use ${named}: there is no cluster "c"`,
    ],
    [
      "no such user",
      { "/home/me/.kube/config": config({}, {}, { users: null }) },
      `Cannot use ${named}: there is no user "u"`,
    ],
    [
      "an unsafe one",
      { "/home/me/.kube/config": config({ "insecure-skip-tls-verify": true }, {}) },
      `Cannot use ${named}: insecure-skip-tls-verify is not supported; put the server's CA`,
    ],
    [
      "a strange server",
      { "/home/me/.kube/config": config({ server: "ftp://x" }, {}) },
      `Cannot use ${named}: the server "ftp://x" is no URL of HTTP`,
    ],
    [
      "half a pair",
      { "/home/me/.kube/config": config({}, { "client-key-data": base64("x") }) },
      `Cannot use ${named}: client-certificate and client-key need each other`,
    ],
    [
      "no base64",
      { "/home/me/.kube/config": config({ "certificate-authority-data": "%" }, {}) },
      `Cannot use ${named}: certificate-authority-data is not base64`,
    ],
    [
      "an auth provider",
      { "/home/me/.kube/config": config({}, { "auth-provider": { name: "gcp" } }) },
      `Cannot use ${named}: the auth-provider "gcp" is not supported; use its exec plugin instead`,
    ],
    [
      "impersonation",
      { "/home/me/.kube/config": config({}, { as: "root" }) },
      `Cannot use ${named}: impersonation`,
    ],
    [
      "a file that is away",
      { "/home/me/.kube/config": config({ "certificate-authority": "ca.crt" }, {}) },
      `Cannot read the certificate authority "/home/me/.kube/ca.crt" of ${named}: No such file`,
    ],
    [
      "an empty file",
      { "/home/me/.kube/config": config({}, { tokenFile: "/token" }), "/token": "\n" },
      `Cannot use the token "/token" of ${named}: it is empty`,
    ],
    [
      "a plugin that asks",
      { "/home/me/.kube/config": config({}, { exec: { ...exec, interactiveMode: "Always" } }) },
      `Cannot get credentials for ${named} from the plugin "cloud-login": it wants to ask questions`,
    ],
    [
      "an old plugin",
      {
        "/home/me/.kube/config": config({}, {
          exec: { ...exec, apiVersion: "client.authentication.k8s.io/v1alpha1" },
        }),
      },
      "it speaks client.authentication.k8s.io/v1alpha1; supported are",
    ],
    [
      "no plugin",
      { "/home/me/.kube/config": config({}, { exec: { ...exec, installHint: "Install cloud-login." } }) },
      `Cannot get credentials for ${named} from the plugin "cloud-login": no such program\nInstall cloud-login.`,
    ],
  ];

for (const [name, files, message, context] of failures) {
  Deno.test(`a kubeconfig with ${name} says what is wrong`, async () => {
    const opening = async () => {
      const cluster = await open(new Machine(files), context === undefined ? {} : { context });
      await cluster.credentials();
    };
    const error = await assertRejects(opening, ConfigError);
    assertStringIncludes(error.message, message);
  });
}

const answers: readonly (readonly [name: string, output: Partial<Output>, message: string])[] = [
  ["fails", { code: 3, stderr: "token expired\n" }, "it ended with 3: token expired"],
  ["writes no JSON", { stdout: "hello" }, "what it wrote is no JSON"],
  ["writes something else", { stdout: "{}" }, "what it wrote is no ExecCredential"],
  ["speaks another version", { stdout: credential({ token: "t" }, "x/v2") }, "it answered in x/v2"],
  ["gives nothing", { stdout: credential({}) }, "it gave neither a token nor a certificate"],
  ["gives half a pair", { stdout: credential({ clientKeyData: "x" }) }, "just one of certificate and key"],
  [
    "expires never",
    { stdout: credential({ token: "t", expirationTimestamp: "soon" }) },
    'expirationTimestamp "soon"',
  ],
];

for (const [name, output, message] of answers) {
  Deno.test(`a plugin that ${name} is an error that says so`, async () => {
    const machine = new Machine({ "/home/me/.kube/config": config({}, { exec }) });
    machine.run = () => Promise.resolve({ code: 0, stdout: "", stderr: "", ...output });
    const cluster = await open(machine);
    const error = await assertRejects(() => cluster.credentials(), ConfigError);
    assertStringIncludes(error.message, message);
    assertStringIncludes(error.message, named);
  });
}

Deno.test("a plugin that does not end is stopped", async () => {
  const machine = new Machine({ "/home/me/.kube/config": config({}, { exec }) });
  const clock = new FakeClock();
  machine.run = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("killed"))));
  const cluster = await open(machine, { clock });
  const rejected = assertRejects(() => cluster.credentials(), ConfigError, "it did not end within 60 s");
  await clock.advance(60_000);
  await rejected;
});

Deno.test("a real plugin", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const program = `${directory}/login`;
    await Deno.writeTextFile(
      program,
      `#!/bin/sh\n[ "$1" = token ] && [ "$PROFILE" = dev ] && [ -n "$KUBERNETES_EXEC_INFO" ] && echo '${
        credential({ token: "real" })
      }'\n`,
      { mode: 0o755 },
    );
    const file = `${directory}/config`;
    await Deno.writeTextFile(file, config({}, { exec: { ...exec, command: "./login" } }));
    const cluster = await openKubeconfig({
      files: [file],
      surroundings: systemSurroundings({}),
      clock: systemClock,
    });
    assertEquals((await cluster.credentials()).authorization, "Bearer real");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + 3600_000) };

Deno.test("TLS with a private authority, and a server known by another name", async () => {
  const authority = await createAuthority({ ...validity, commonName: "test" });
  const leaf = await issue(authority, {
    ...validity,
    commonName: "kubernetes",
    dnsNames: ["kubernetes.default.svc"],
    usages: ["server"],
  });
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert: leaf.certificate,
    key: leaf.key,
    onListen: () => {},
  }, () => Response.json(widget("a", 1)));
  const address = `https://127.0.0.1:${server.addr.port}`;
  const ca = base64(authority.certificate);
  const connect = async (cluster: object) => {
    const machine = new Machine({ "/config": config({ server: address, ...cluster }, {}) });
    const opened = await openKubeconfig({ files: ["/config"], surroundings: machine, clock: systemClock });
    const kube = createKube(opened, { clock: systemClock, version: "1", component: "test" });
    try {
      return await kube.get(widgets, { namespace: "default", name: "a" });
    } finally {
      kube[Symbol.dispose]();
      await opened.close?.();
    }
  };
  try {
    const named = await connect({
      "certificate-authority-data": ca,
      "tls-server-name": "kubernetes.default.svc",
    });
    assertEquals(named, widget("a", 1));
    const unnamed = await assertRejects(() => connect({ "certificate-authority-data": ca }), Error);
    assertStringIncludes(unnamed.message, "kubernetes.default.svc", "the certificate's names are said");
    const unknown = await assertRejects(
      () => connect({ "tls-server-name": "kubernetes.default.svc" }),
      Error,
    );
    assertStringIncludes(unknown.message, "certificate-authority-data");
    assert(unknown.message.includes('the context "dev" of /config'));
  } finally {
    await server.shutdown();
  }
});
