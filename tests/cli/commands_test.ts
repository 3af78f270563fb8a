/**
 * The commands that need no gateway, run as a user runs them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { gatehouse, root, run, succeed } from "../support/command.ts";

Deno.test("help lists every command, and each says how it is used", async () => {
  const help = await succeed(gatehouse("--help"));
  const names = [...help.matchAll(/^ {2}([a-z-]+) .*?\S/gm)].map(([, name]) => name!)
    .filter((name) => !["gatehouse", "help"].includes(name));
  assertEquals(
    names.sort(),
    [
      "apiserver",
      "completion",
      "echo",
      "expose",
      "local",
      "operator",
      "remove-finalizers",
      "standalone",
      "status",
      "translate",
      "uninstall",
      "version",
    ],
  );
  const helps = await Promise.all(names.map((name) => succeed(gatehouse(name, "--help"))));
  for (const [i, text] of helps.entries()) {
    assertStringIncludes(text, `Usage: gatehouse ${names[i]}`);
    assertMatch(text, /Examples:\n {2}\S/, `${names[i]} gives an example`);
  }
});

Deno.test("version tells what it works with, without network and without Envoy", async () => {
  const [program, ...args] = gatehouse("version", "-o", "json");
  const offline = args.flatMap((arg) => arg === "--allow-all" ? ["--allow-read", "--allow-env"] : [arg]);
  const { version, envoy } = JSON.parse(await succeed([program, ...offline], { env: { PATH: "/nowhere" } }));
  assertMatch(version, /^\d+\.\d+\.\d+/);
  assertEquals(envoy, "1.37 to 1.40");
});

Deno.test("wrong usage is explained on standard error, with status 2", async () => {
  const lifetimes = ["29s", "721h", "1d"].map((lifetime) => ["operator", "--certificate-lifetime", lifetime]);
  const wrong = [["nonsense"], ["expose", "web"], ["echo", "--port", "x"], ["status", "-o", "toml"]];
  for (const args of [...wrong, ...lifetimes]) {
    const { code, out, err } = await run(gatehouse(...args));
    assertEquals([code, out], [2, ""], args.join(" "));
    assertMatch(err, /^error: /);
  }
});

Deno.test("an API server that does not answer is told in one line, with a remedy", async () => {
  const file = await Deno.makeTempFile();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  try {
    await Deno.writeTextFile(
      file,
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
        users: [{ name: "u", user: {} }],
      }),
    );
    const { code, err } = await run(gatehouse("status", "--kubeconfig", file));
    assertEquals(code, 1);
    assertMatch(err, /^error: Cannot GET .*refused.*does it run\?.*\n$/);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("completion scripts are valid shell and know commands and choices", async () => {
  const script = await succeed(gatehouse("completion", "bash"));
  await succeed(["bash", "-n"], { input: script });
  const complete = async (...words: readonly string[]) => {
    const list = words.map((word) => `'${word}'`).join(" ");
    const code = `${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${
      words.length - 1
    }; _gatehouse; echo "\${COMPREPLY[@]}"`;
    return (await succeed(["bash", "-c", code])).trim().split(" ");
  };
  assertEquals(await complete("gatehouse", "sta"), ["standalone", "status"]);
  assertEquals(await complete("gatehouse", "translate", "--show", ""), ["all", "status", "xds", "none"]);
  assert((await complete("gatehouse", "standalone", "--a")).includes("--addresses"));
  assertEquals(await complete("gatehouse", "completion", ""), ["bash", "zsh", "fish"]);
  assertEquals(await complete("gatehouse", "completion"), ["completion"]);
  for (const shell of ["zsh", "fish"]) {
    assertStringIncludes(await succeed(gatehouse("completion", shell)), "translate");
  }
});

Deno.test("translate shows statuses and Envoy's configuration of the example", async () => {
  const { status, xds } = parse(await succeed(gatehouse("translate", `${root}standalone/quickstart`)));
  const accepted = (conditions: { type: string; status: string }[]) =>
    conditions.find(({ type }) => type === "Accepted")!.status;
  assertEquals(accepted(status["GatewayClass/gatehouse"].conditions), "True");
  assertEquals(accepted(status["HTTPRoute/default/echo"].parents[0].conditions), "True");
  const [host] = xds["default/web"]["routes:default/web/80"].virtual_hosts;
  assertEquals(host.domains, ["*"]);
  assertEquals(host.routes[0].route.cluster, "default/echo/80");
  assert(!JSON.stringify(status).includes("Programmed"), "nothing is programmed offline");
});

Deno.test("a command whose output nobody reads any more ends without a word, as others in a pipe do", async () => {
  const [program, ...args] = gatehouse("translate", "-");
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  await child.stdout.cancel();
  // It writes once it has read everything.
  const input = await Deno.readFile(`${root}standalone/quickstart/2-gateway.yaml`);
  await new Blob([input]).stream().pipeTo(child.stdin);
  const said = await new Response(child.stderr).text();
  assertEquals([(await child.status).code, said], [141, ""]);
});

Deno.test("translate tells of certificates that have expired by the time that is given", async () => {
  const golden = await Deno.readTextFile(`${root}tests/golden/expired-certificates/in.yaml`);
  const [, ...objects] = golden.split("---\n");
  const input = objects.join("---\n");
  const problemsAt = async (...args: readonly string[]) =>
    (await run(gatehouse("translate", "--show", "none", ...args, "-"), { input })).err.split("\n")
      .filter((line) => line.includes("it expired on"));
  assertEquals((await problemsAt("--now", "2200-01-01T00:00:00Z")).length, 2);
  assertEquals(await problemsAt("--now", "2100-01-01T00:00:00Z"), []);
  assertEquals(await problemsAt(), [], "the current time is taken");
  const { code, err } = await run(gatehouse("translate", "--now", "tomorrow", "-"), { input });
  assertEquals([code, err.includes("Expected a time such as 2027-01-01T00:00:00Z")], [2, true]);
});

const route = (spec: string) => `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec: ${spec}
`;

const problems: readonly [name: string, input: string, message: RegExp][] = [
  ["invalid YAML", "kind: [", /^error: Cannot parse "-", document 1: .* line 1/],
  [
    "no object",
    "- 1\n",
    /document 1: it is not an object; each document needs apiVersion, kind and metadata.name/,
  ],
  [
    "aliases that grow without bound",
    `a: &a [${"x,".repeat(50)}]\nb: &b [${"*a,".repeat(50)}]\nc: [${"*b,".repeat(50)}]\n`,
    /^error: Cannot use "-", document 1: Excessive alias count/,
  ],
  ["no name", "apiVersion: v1\nkind: Service\n", /document 1: metadata.name is missing/],
  [
    "an unknown field",
    route("{ parentRefs: [{ name: web }], colour: red }"),
    /^problem: -, document 1: HTTPRoute "shop": spec.colour: .*unknown field "spec.colour"/m,
  ],
  [
    "a value out of range",
    route("{ rules: [{ backendRefs: [{ name: a, port: 99999 }] }] }"),
    /spec\.rules\[0\]\.backendRefs\[0\]\.port: Invalid value: .*99999.*less than or equal to 65535/,
  ],
  [
    "an unknown version",
    route("{}").replace("io/v1", "io/v9"),
    /no kind "HTTPRoute" in version "gateway.networking.k8s.io\/v9"/,
  ],
  [
    "an expression that RE2 refuses",
    route(
      "{ parentRefs: [{ name: web }], rules: [{ matches: [{ path: { type: RegularExpression, value: /(a } }] }] }",
    ),
    /spec\.rules\[0\]\.matches\[0\]\.path\.value: RE2 refuses the regular expression "\/\(a".*write it in RE2 syntax/,
  ],
  [
    "a backend that is not there",
    route("{ parentRefs: [{ name: web }], rules: [{ backendRefs: [{ name: nope, port: 80 }] }] }"),
    /spec\.rules\[0\]\.backendRefs\[0\]: Cannot resolve backend "default\/nope": service not found/,
  ],
];

for (const [name, input, message] of problems) {
  Deno.test(`translate fails on ${name}, and says where and why`, async () => {
    const { code, err } = await run(
      gatehouse("translate", "--show", "none", "-", `${root}standalone/quickstart`),
      { input },
    );
    assertMatch(err, message);
    assert(code !== 0);
  });
}

Deno.test("translate fails on routes of Gateways, and Gateways of classes, that are not among the files", async () => {
  const alone = await run(gatehouse("translate", "--show", "none", "-"), {
    input: route("{ parentRefs: [{ name: web }, { name: mesh, kind: Service, group: '' }] }"),
  });
  assertEquals(alone.code, 1);
  assertStringIncludes(
    alone.err,
    'problem: HTTPRoute/default/shop: Gateway "default/web" is not among these files',
  );
  assert(!alone.err.includes("mesh"), "what others are responsible for is no problem");
  const classless = await run(
    gatehouse(
      "translate",
      "--show",
      "none",
      ...["1-backend", "3-route"].map((name) => `${root}standalone/quickstart/${name}.yaml`),
      "-",
    ),
    {
      input: "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: { name: web }\n" +
        "spec: { gatewayClassName: none, listeners: [{ name: http, port: 80, protocol: HTTP }] }\n",
    },
  );
  assertEquals(classless.code, 1);
  assertStringIncludes(
    classless.err,
    'problem: Gateway/default/web: GatewayClass "none" is not among these files',
  );
});

Deno.test("translate still shows what is right beside what is wrong", async () => {
  const { code, out } = await run(
    gatehouse("translate", "--show", "xds", "-", `${root}standalone/quickstart`),
    {
      input: route("{ parentRefs: [{ name: web }], colour: red }"),
    },
  );
  assertEquals(code, 1);
  assertStringIncludes(out, "default/echo/80");
});

Deno.test("expose prints what it would write", async () => {
  const text = await succeed(
    gatehouse("expose", "web", "--port", "80", "--to", "127.0.0.1:3000", "127.0.0.1:3001", "--dry-run"),
  );
  const [service, ...slices] = text.split("---\n").map((document) => parse(document));
  assertEquals(service.spec.ports[0].port, 80);
  assertEquals(slices.map((slice) => slice.ports[0].port).sort(), [3000, 3001]);
});

Deno.test("expose prints names so that kubectl, which reads YAML 1.1, takes them for names", async () => {
  const command = [
    "expose",
    "on",
    "--port",
    "80",
    "--to",
    "127.0.0.1:3000",
    "--namespace",
    "no",
    "--dry-run",
  ];
  const [service] = (await succeed(gatehouse(...command))).split("---\n");
  const { metadata: { name, namespace } } = parse(service!, { version: "1.1" });
  assertEquals([name, namespace], ["on", "no"]);
});
