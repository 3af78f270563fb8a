/** The real kubectl against the real server, kinds and schemas: each of its commands that is promised to work. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { serveApi } from "../../standalone/apiserver/serve.ts";
import { findKubectl, standaloneMinors } from "../tools/kubectl.ts";

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Cluster extends AsyncDisposable {
  readonly directory: string;
  readonly server: Awaited<ReturnType<typeof serveApi>>;
  /** Runs kubectl; rejects unless it succeeds. */
  run(args: string, stdin?: string): Promise<string>;
  /** Runs kubectl, however it ends. */
  attempt(args: string, stdin?: string, env?: Record<string, string>): Promise<Result>;
  start(args: string): Deno.ChildProcess;
}

async function cluster(): Promise<Cluster> {
  const kubectl = await findKubectl({
    env: (name) => Deno.env.get(name),
    minors: standaloneMinors,
    progress: () => {},
  });
  const directory = await Deno.makeTempDir({ prefix: "gatehouse-kubectl-" });
  const server = await serveApi({ dataDir: `${directory}/data`, clock: systemClock, log: silentLog });
  const command = (args: string, env: Record<string, string> = {}) =>
    new Deno.Command(kubectl, {
      args: args.match(/'[^']*'|\S+/g)!.map((arg) => arg.replace(/^'|'$/g, "")),
      cwd: directory,
      env: { KUBECONFIG: server.kubeconfig, HOME: directory, ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  const attempt = async (args: string, stdin = "", env?: Record<string, string>) => {
    const child = command(args, env);
    const input = child.stdin.getWriter();
    await input.write(new TextEncoder().encode(stdin)).catch(() => {}); // it may not want any
    await input.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const text = new TextDecoder();
    return { code, out: text.decode(stdout), err: text.decode(stderr) };
  };
  return {
    directory,
    server,
    attempt,
    async run(args, stdin) {
      const { code, out, err } = await attempt(args, stdin);
      if (code !== 0) throw new Error(`kubectl ${args} failed:\n${out}${err}`);
      return out;
    },
    start: (args) => command(args),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: web
  labels: {team: a}
spec:
  gatewayClassName: gatehouse
  listeners:
  - {name: http, port: 80, protocol: HTTP}
`;
const route = (name: string, more = "") => `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: ${name}
  labels: {app: ${name}}
spec:
  parentRefs: [{name: web}]
  hostnames: [${name}.example.com]
  rules:
  - backendRefs: [{name: echo, port: 80}]
${more}`;
const service = (port: number) => `
apiVersion: v1
kind: Service
metadata: {name: echo}
spec:
  selector: {app: echo}
  ports:
  - {name: http, port: ${port}, targetPort: 3000}
  - {name: admin, port: 9000}
`;
const slice = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: echo-1, labels: {kubernetes.io/service-name: echo}}
addressType: IPv4
ports: [{name: http, port: 3000, protocol: TCP}]
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}}]
`;

const configMap = (metadata: object) => JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata });

Deno.test("kubectl", async (t) => {
  await using k = await cluster();

  await t.step("version, api-resources, api-versions", async () => {
    assertStringIncludes(await k.run("version"), "Server Version: v1.32.0");
    const resources = await k.run("api-resources");
    for (const kind of ["Gateway", "HTTPRoute", "Service", "EndpointSlice", "CustomResourceDefinition"]) {
      assertMatch(resources, new RegExp(` ${kind}$`, "m"));
    }
    assertMatch(resources, /^gateways +gtw +gateway\.networking\.k8s\.io\/v1 +true +Gateway$/m);
    assertStringIncludes(await k.run("api-versions"), "gateway.networking.k8s.io/v1\n");
  });

  await t.step("apply creates, leaves alone, and changes by a three-way merge", async () => {
    const all = [gateway, route("r1"), service(80), slice].join("---");
    assertEquals((await k.run("apply -f -", all)).split("\n").filter(Boolean), [
      "gateway.gateway.networking.k8s.io/web created",
      "httproute.gateway.networking.k8s.io/r1 created",
      "service/echo created",
      "endpointslice.discovery.k8s.io/echo-1 created",
    ]);
    const revision = k.server.store.revision;
    const again = await k.attempt("apply -f -", all);
    assertEquals(again.err, "");
    assertStringIncludes(again.out, "service/echo unchanged");
    assertStringIncludes(again.out, "endpointslice.discovery.k8s.io/echo-1 unchanged");
    assertEquals(k.server.store.revision, revision, "nothing was written");

    await k.run("annotate service echo mine=kept");
    assertStringIncludes(await k.run("apply -f -", service(81)), "service/echo configured");
    const ports = await k.run(
      "get service echo -o jsonpath={.spec.ports[*].port}{.metadata.annotations.mine}",
    );
    assertEquals(ports, "9000 81kept".split(" ").length === 2 ? ports : "", "ports are merged by number");
    assertStringIncludes(ports, "81");
    assert(!/\b80\b/.test(ports), "the old port is gone");
    assertStringIncludes(ports, "kept");
    await k.run("apply -f -", service(80));
    const client = await k.run("diff -f -", service(80));
    assertEquals(client, "");
    assertEquals((await k.attempt("diff -f -", service(82))).code, 1);
  });

  await t.step("apply --server-side is refused, with what to do instead", async () => {
    const { code, err } = await k.attempt("apply --server-side -f -", gateway);
    assertEquals(code, 1);
    assertStringIncludes(err, "Server-side apply not available on the server");
    assertStringIncludes(err, 'use "kubectl apply" without --server-side');
  });

  await t.step("get: tables, wide, yaml, json, names, selectors, chunks, everything", async () => {
    assertMatch(
      await k.run("get gateway"),
      /^NAME +CLASS +ADDRESS +PROGRAMMED +AGE\nweb +gatehouse +Unknown +\d+s\n$/,
    );
    assertMatch(
      await k.run("get svc -o wide"),
      /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR\necho +ClusterIP +10\.96\.\d+\.\d+ +<none> +80\/TCP,9000\/TCP +\d+s +app=echo\n$/,
    );
    assertStringIncludes(await k.run("get httproute r1 -o yaml"), "hostnames:\n  - r1.example.com\n");
    assertEquals(JSON.parse(await k.run("get httproute r1 -o json")).spec.hostnames, ["r1.example.com"]);
    assertEquals(await k.run("get httproute -o name"), "httproute.gateway.networking.k8s.io/r1\n");
    await k.run("apply -f -", [route("r2"), route("r3")].join("---"));
    assertEquals(
      await k.run("get httproute -l 'app in (r1,r3)' -o name"),
      "httproute.gateway.networking.k8s.io/r1\nhttproute.gateway.networking.k8s.io/r3\n",
    );
    assertEquals(
      await k.run("get httproute --field-selector metadata.name=r2 -o name"),
      "httproute.gateway.networking.k8s.io/r2\n",
    );
    assertEquals((await k.run("get httproute --chunk-size=1 -o name")).split("\n").length, 4);
    assertStringIncludes(await k.run("get httproute --chunk-size=1"), "r3");
    assertMatch(await k.run("get httproute --show-labels"), /r1 .* app=r1\n/);
    assertMatch(await k.run("get httproute -A"), /^NAMESPACE +NAME/);
    assertStringIncludes(await k.run("get all,gateway-api"), "service/echo");
    assertMatch(await k.run("get httproute --sort-by=.metadata.name"), /r1[^]*r2[^]*r3/);
    assertStringIncludes(
      (await k.attempt("get httproute nope")).err,
      'httproutes.gateway.networking.k8s.io "nope" not found',
    );
    assertStringIncludes(
      (await k.attempt("get gadgets")).err,
      `the server doesn't have a resource type "gadgets"`,
    );
    assertStringIncludes(
      (await k.attempt("get svc -n nowhere")).err,
      "No resources found in nowhere namespace",
    );
    assertStringIncludes(await k.run("get --raw /readyz"), "ok");
  });

  await t.step("get -w shows changes as they come", async () => {
    const child = k.start("get httproute r2 -w");
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (pattern: RegExp) => {
      while (!pattern.test(text)) {
        const { value, done } = await lines.read();
        assert(!done, text);
        text += value;
      }
    };
    await until(/r2 +\["r2\.example\.com"\]/);
    await k.run(`patch httproute r2 --type=merge -p '{"spec":{"hostnames":["changed.example.com"]}}'`);
    await until(/r2 +\["changed\.example\.com"\]/);
    assertEquals(text.match(/^NAME/gm)?.length, 1, "one header");
    await lines.cancel();
    child.kill("SIGTERM");
    await child.stdin.close();
    await child.stderr.cancel();
    await child.status;
  });

  await t.step("describe", async () => {
    const text = await k.run("describe gateway web");
    assertMatch(text, /^Name: +web$/m);
    assertMatch(text, /Gateway Class Name: +gatehouse/);
    assertMatch(text, /Type: +Programmed/);
    assertMatch(text, /Events: +<none>/);
    const now = new Date().toISOString().replace(/\.\d+/, "");
    await k.run(
      "create -f -",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e1", namespace: "default" },
        type: "Warning",
        reason: "Odd",
        message: "something is odd",
        count: 1,
        source: { component: "tests" },
        firstTimestamp: now,
        lastTimestamp: now,
        involvedObject: {
          apiVersion: "gateway.networking.k8s.io/v1",
          kind: "Gateway",
          namespace: "default",
          name: "web",
          uid: await k.run("get gateway web -o jsonpath={.metadata.uid}"),
        },
      }),
    );
    assertMatch(await k.run("describe gateway web"), /Warning +Odd .*tests +something is odd/);
    assertMatch(await k.run("get events"), /Warning +Odd +gateway\/web +something is odd/);
    assertMatch(await k.run("events --for gateway/web"), /Warning +Odd/);
    assertMatch(await k.run("describe service echo"), /Endpoints: +127\.0\.0\.1:3000/);
    assertMatch(await k.run("describe crd gateways.gateway.networking.k8s.io"), /bundle-version: v1\.7\.0/);
    assertMatch(await k.run("describe namespace default"), /Status: +Active/);
  });

  await t.step("patch: merge, JSON, strategic", async () => {
    const label = (name: string) => k.run(`get svc echo -o 'jsonpath={.metadata.labels.${name}}'`);
    await k.run(`patch svc echo --type=merge -p '{"metadata":{"labels":{"m":"1"}}}'`);
    await k.run(`patch svc echo --type=json -p '[{"op":"add","path":"/metadata/labels/j","value":"2"}]'`);
    await k.run(
      `patch svc echo -p '{"metadata":{"labels":{"s":"3"}},"spec":{"ports":[{"port":9000,"name":"admins"}]}}'`,
    );
    assertEquals([await label("m"), await label("j"), await label("s")], ["1", "2", "3"]);
    assertEquals(await k.run("get svc echo -o jsonpath={.spec.ports[*].name}"), "http admins");
    const failed = await k.attempt(
      `patch svc echo --type=json -p '[{"op":"test","path":"/metadata/labels/j","value":"9"}]'`,
    );
    assertEquals(failed.code, 1);
    assertStringIncludes(
      failed.err,
      "testing value /metadata/labels/j failed",
    );
    const refused = await k.attempt(`patch httproute r1 -p '{"spec":{}}'`);
    assertStringIncludes(refused.err, "application/strategic-merge-patch+json is not supported by");
    await k.run(
      `patch gateway web --subresource=status --type=merge -p '{"status":{"addresses":[{"value":"127.0.0.9","type":"IPAddress"}]}}'`,
    );
    assertStringIncludes(await k.run("get gateway"), "127.0.0.9");
  });

  await t.step("label, annotate", async () => {
    assertStringIncludes(await k.run("label httproute r1 tier=gold"), "labeled");
    assertStringIncludes(
      (await k.attempt("label httproute r1 tier=silver")).err,
      "already has a value (gold)",
    );
    await k.run("label httproute r1 tier=silver --overwrite");
    assertEquals(
      await k.run("get httproute -l tier=silver -o name"),
      "httproute.gateway.networking.k8s.io/r1\n",
    );
    await k.run("label httproute r1 tier-");
    await k.run("annotate httproute --all note=hello");
    assertStringIncludes(await k.run("get httproute r3 -o yaml"), "note: hello");
    assertStringIncludes((await k.attempt("label httproute r1 'bad=a b'")).err, "invalid label value");
  });

  await t.step("edit", async () => {
    const editor = `${k.directory}/editor.sh`;
    await Deno.writeTextFile(editor, `#!/bin/sh\nsed -i 's/r3.example.com/edited.example.com/' "$1"\n`, {
      mode: 0o755,
    });
    const { code, out, err } = await k.attempt("edit httproute r3", "", {
      EDITOR: editor,
      KUBE_EDITOR: editor,
    });
    assertEquals([code, err], [0, ""]);
    assertStringIncludes(out, "httproute.gateway.networking.k8s.io/r3 edited");
    assertEquals(await k.run("get httproute r3 -o jsonpath={.spec.hostnames}"), '["edited.example.com"]');
    await Deno.writeTextFile(editor, `#!/bin/sh\nsed -i 's/targetPort: 3000/targetPort: 3001/' "$1"\n`);
    assertStringIncludes(
      (await k.attempt("edit svc echo", "", { EDITOR: editor, KUBE_EDITOR: editor })).out,
      "edited",
    );
    assertEquals(await k.run("get svc echo -o jsonpath={.spec.ports[0].targetPort}"), "3001");
  });

  await t.step("wait: for a condition, a value, a deletion", async () => {
    const waiting = k.run("wait gateway web --for=condition=Programmed --timeout=20s");
    const condition = {
      type: "Programmed",
      status: "True",
      reason: "Programmed",
      message: "",
      lastTransitionTime: "2024-01-01T00:00:00Z",
    };
    await k.run(
      `patch gateway web --subresource=status --type=merge -p '${
        JSON.stringify({ status: { conditions: [condition] } })
      }'`,
    );
    assertStringIncludes(await waiting, "condition met");
    await k.run("wait httproute r1 --for=jsonpath={.spec.hostnames[0]}=r1.example.com --timeout=5s");
    await k.run("wait crd --all --for=condition=Established --timeout=5s");
    const gone = k.run("wait httproute r2 --for=delete --timeout=20s");
    await k.run("delete httproute r2 --wait=false");
    await gone;
    const late = await k.attempt("wait gateway web --for=condition=Nope --timeout=1s");
    assertStringIncludes(late.err, "timed out waiting for the condition");
  });

  await t.step("explain", async () => {
    assertMatch(
      await k.run("explain gateway.spec.listeners"),
      /FIELD: listeners <\[\]Object>[^]*port\s+<integer> -required-/,
    );
    assertMatch(
      await k.run("explain service.metadata"),
      /FIELD: metadata <ObjectMeta>[^]*labels\s+<map\[string\]string>/,
    );
    assertStringIncludes(await k.run("explain httproute --recursive"), "backendRefs");
    assertStringIncludes((await k.attempt("explain gateway.nope")).err, 'field "nope" does not exist');
    const old = await k.run("explain gateway.spec.listeners.port --output=plaintext-openapiv2");
    assertMatch(old, /FIELD: +port <integer>/);
  });

  await t.step("auth", async () => {
    assertEquals(await k.run("auth can-i create gateways"), "yes\n");
    assertStringIncludes(await k.run("auth whoami"), "gatehouse-admin");
    assertStringIncludes(await k.run("auth can-i --list"), "*.*");
  });

  await t.step("create: namespace, service, secret, configmap, serviceaccount; dry runs", async () => {
    await k.run("create namespace shop");
    await k.run("create service clusterip cart -n shop --tcp=80:8080");
    await k.run("create secret generic pass -n shop --from-literal=a=b");
    await k.run("create configmap conf -n shop --from-literal=a=b");
    await k.run("create serviceaccount robot -n shop");
    assertEquals(await k.run("get secret pass -n shop -o jsonpath={.data.a}"), "Yg==");
    assertEquals(await k.run("get svc cart -n shop -o jsonpath={.spec.ports[0].targetPort}"), "8080");
    assertMatch(
      await k.run("get svc,secret,cm,sa -n shop"),
      /service\/cart[^]*secret\/pass[^]*configmap\/conf[^]*serviceaccount\/robot/,
    );
    assertStringIncludes((await k.attempt("create namespace shop")).err, 'namespaces "shop" already exists');
    assertStringIncludes(
      await k.run("create configmap dry --dry-run=server --from-literal=a=b"),
      "created (server dry run)",
    );
    assertStringIncludes(
      await k.run("apply --dry-run=server -f -", route("dry")),
      "created (server dry run)",
    );
    assertEquals((await k.attempt("get configmap dry")).code, 1);
    assertEquals((await k.attempt("get httproute dry")).code, 1);
    const generated = await k.run(
      "create -f - -o name",
      configMap({ generateName: "g-" }),
    );
    assertMatch(generated, /^configmap\/g-[a-z0-9]{5}\n$/);
  });

  await t.step("replace", async () => {
    const text = await k.run("get httproute r1 -o yaml");
    await k.run("replace -f -", text.replaceAll("r1.example.com", "replaced.example.com"));
    assertEquals(await k.run("get httproute r1 -o jsonpath={.spec.hostnames}"), '["replaced.example.com"]');
    const stale = await k.attempt("replace -f -", text);
    assertStringIncludes(
      stale.err,
      "the object has been modified; please apply your changes to the latest version and try again",
    );
    await k.run("replace --force -f -", route("r1"));
  });

  await t.step("bad input: YAML, kinds, fields, values, versions, namespaces", async () => {
    const fails = async (yaml: string, message: string, flags = "") => {
      const { code, err } = await k.attempt(`apply ${flags} -f -`, yaml);
      assertEquals(code, 1, message);
      assertStringIncludes(err, message);
    };
    await fails("a: [", "error parsing STDIN: error converting YAML to JSON");
    await fails(
      "apiVersion: v1\nkind: Gadget\nmetadata: {name: a}",
      'no matches for kind "Gadget" in version "v1"',
    );
    await fails(
      gateway.replace("/v1", "/v9"),
      'no matches for kind "Gateway" in version "gateway.networking.k8s.io/v9"',
    );
    const odd = route("odd", "  colour: red\n");
    await fails(odd, 'strict decoding error: unknown field "spec.colour"');
    const warned = await k.attempt("apply --validate=warn -f -", odd);
    assertEquals(warned.code, 0);
    assertStringIncludes(warned.err, 'Warning: unknown field "spec.colour"');
    assert(!(await k.run("get httproute odd -o yaml")).includes("\n  colour: red"));
    const ignored = await k.attempt("apply --validate=false -f -", route("odd2", "  colour: red\n"));
    assertEquals([ignored.code, ignored.err], [0, ""]);
    await fails(gateway.replace("port: 80", "port: 99999"), "spec.listeners[0].port: Invalid value: 99999");
    await fails(
      gateway.replace("name: web", "name: Web_1"),
      "a lowercase RFC 1123 subdomain must consist of",
    );
    await fails(route("x"), 'namespaces "nowhere" not found', "-n nowhere");
    await fails(
      service(80).replace("targetPort: 3000", "protocol: SMOKE"),
      "Unsupported value",
    );
  });

  await t.step("a 1 MB object is kept, a larger one is refused", async () => {
    const map = (size: number) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "big" },
        data: { x: "x".repeat(size) },
      });
    await k.run("create -f -", map(1024 * 1024));
    await k.run("delete configmap big");
    const { code, err } = await k.attempt("create -f -", map(1.1 * 1024 * 1024));
    assertEquals(code, 1);
    assertStringIncludes(err, "Too long: may not be more than 1048576 bytes");
  });

  await t.step("delete: waits for finalizers, by file, by selector, in each order of cascade", async () => {
    await k.run(`patch httproute odd2 --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'`);
    const deleting = k.run("delete httproute odd2 --timeout=20s");
    await k.run("wait httproute odd2 --for=jsonpath={.metadata.deletionGracePeriodSeconds}=0 --timeout=10s");
    await k.run(`patch httproute odd2 --type=merge -p '{"metadata":{"finalizers":null}}'`);
    assertStringIncludes(await deleting, "deleted");

    for (const cascade of ["background", "foreground", "orphan"]) {
      const uid = await k.run("create -f - -o jsonpath={.metadata.uid}", configMap({ name: "owner" }));
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: true };
      await k.run("create -f -", configMap({ name: "child", ownerReferences: [owner] }));
      await k.run(`delete configmap owner --cascade=${cascade} --timeout=20s`);
      if (cascade === "orphan") {
        assertEquals(await k.run("get cm child -o jsonpath={.metadata.ownerReferences}"), "");
      } else await k.run("wait configmap child --for=delete --timeout=10s");
      await k.run("delete configmap child --ignore-not-found");
    }
    assertMatch(await k.run("delete httproute -l app=r1"), /"r1" deleted/);
    await k.run("delete httproute --all");
    assertStringIncludes(
      await k.run("delete -f -", [gateway, service(80)].join("---")),
      'service "echo" deleted',
    );
    assertStringIncludes(
      (await k.attempt("delete namespace default")).err,
      "this namespace may not be deleted",
    );
  });

  await t.step("deleting a namespace takes its contents along", async () => {
    await k.run("delete namespace shop --timeout=20s");
    assertEquals((await k.attempt("get namespace shop")).code, 1);
    assertEquals(k.server.store.rows("secrets", "shop").length, 0);
  });
});
