/** What the test cluster does as a cluster does, since other tests rely on it. */
import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Cluster, type Json, startCluster } from "./support/cluster.ts";

const namespace = "lab";

/** A cluster for the steps of one test. */
async function labCluster(options?: Parameters<typeof startCluster>[0]): Promise<Cluster> {
  const cluster = await startCluster({ gatewayApi: false, ...options });
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
  return cluster;
}

/** A pod that runs a shell script. */
function shell(
  name: string,
  script: string,
  more: { readonly pod?: object; readonly container?: object } = {},
) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      containers: [{ name: "main", image: "host/shell", args: [script], ...more.container }],
      ...more.pod,
    },
  };
}

/** A pod that answers HTTP. */
function server(name: string, more: { readonly pod?: object; readonly container?: object } = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      containers: [{
        name: "main",
        image: "localhost/gatehouse:test",
        args: ["echo", "--host=0.0.0.0", "--port=8080", `--name=${name}`],
        readinessProbe: { httpGet: { port: 8080, path: "/" }, periodSeconds: 1 },
        ...more.container,
      }],
      ...more.pod,
    },
  };
}

/** A pod that runs a script of Deno's, in an image with nothing else in it. */
function script(
  name: string,
  code: string,
  more: { readonly pod?: object; readonly container?: object } = {},
) {
  return server(name, {
    ...more,
    container: {
      command: ["/usr/local/bin/deno", "eval", code],
      args: [],
      readinessProbe: null,
      ...more.container,
    },
  });
}

const main = (pod: string) => ({ namespace, pod, container: "main" });

Deno.test("lab: pods run, Services lead to them, load balancers have addresses", async (t) => {
  await using cluster = await labCluster();
  await cluster.apply([
    server("web"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace },
      spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
    shell("client", "sleep 1000"),
  ]);
  const pod = await cluster.ready(namespace, "web"), client = await cluster.ready(namespace, "client");
  const service = await cluster.until({ what: "an address" }, async () => {
    const found = await cluster.get(`/api/v1/namespaces/${namespace}/services/web`);
    return found?.status?.loadBalancer?.ingress && found;
  });
  const addresses = {
    "the pod": `${pod.status.podIP}:8080`,
    "the Service": service.spec.clusterIP,
    "the load balancer": service.status.loadBalancer.ingress[0].ip,
  };
  for (const [what, address] of Object.entries(addresses)) {
    for (const [from, inside] of [["the node", undefined], ["a pod", client]] as const) {
      await t.step(`${what}, from ${from}`, async () => {
        const { out } = await cluster.until({ what: `${what} to answer` }, async () => {
          const result = await cluster.exec(["curl", "-sS", "-m1", `http://${address}/x`], { pod: inside });
          return result.code === 0 && result;
        });
        assertEquals(JSON.parse(out).path, "/x");
      });
    }
  }
  await t.step("a Service without endpoints refuses, always", async () => {
    await cluster.apply([{
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "none", namespace },
      spec: { selector: { app: "none" }, ports: [{ port: 80 }] },
    }]);
    const { spec: { clusterIP } } = await cluster.get(`/api/v1/namespaces/${namespace}/services/none`);
    const once = `curl -s -o /dev/null -m1 http://${clusterIP}/; printf '%s ' $?`;
    await cluster.until(
      { what: "a refusal" },
      async () => (await cluster.exec(["sh", "-c", once], { pod: client })).out === "7 ",
    );
    const { out } = await cluster.exec(["sh", "-c", `for i in $(seq 30); do ${once}; done`], { pod: client });
    assertEquals(out, "7 ".repeat(30));
  });
  await t.step("names are resolved in pods", async () => {
    await cluster.apply([
      shell("named", "until curl -sS -m1 http://web.lab/by-name; do sleep 0.1; done; sleep 1000"),
    ]);
    await cluster.until(
      { what: "an answer by name" },
      async () => (await cluster.logs(main("named"))).includes("/by-name"),
    );
  });
  await t.step("kubectl reads logs", async () => {
    assertStringIncludes(await cluster.kubectl("logs", "-n", namespace, "named"), "/by-name");
  });
  await t.step("a Deployment keeps its replicas", async () => {
    const { spec } = server("replicated");
    await cluster.apply([{
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "replicated", namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "replicated" } },
        template: { metadata: { labels: { app: "replicated" } }, spec },
      },
    }]);
    const available = () =>
      cluster.until({ what: "two replicas" }, async () => {
        const { items } = await cluster.get(
          `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Dreplicated`,
        );
        return items.filter((p: { status: { containerStatuses?: { ready: boolean }[] } }) =>
              p.status.containerStatuses?.[0]?.ready
            ).length === 2 && items;
      });
    const [first] = await available();
    await cluster.kubectl("delete", "pod", "-n", namespace, first.metadata.name, "--wait=false");
    await cluster.until(
      { what: "the pod to go" },
      async () => !await cluster.get(`/api/v1/namespaces/${namespace}/pods/${first.metadata.name}`),
    );
    const names = (await available()).map((pod: Json) => pod.metadata.name);
    assert(!names.includes(first.metadata.name));
  });

  await t.step("tokens are renewed after 80 % of their life, as the kubelet does", async () => {
    const command = (await Deno.readTextFile(`/proc/${cluster.pid}/cmdline`)).split("\0");
    assertEquals(command[command.indexOf("--renew-tokens-after") + 1], "0.8");
  });
});

Deno.test("lab: volumes follow what they show, in one step", async (t) => {
  // Tokens live for 600 s at least, so these are renewed after 3 s.
  await using cluster = await labCluster({ renewTokensAfter: 0.005 });
  const settings = (n: number) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace },
    data: { a: `${n}`, b: `${n}`, ...n === 1 && { first: "" } },
  });
  const secret = (n: number) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "secret", namespace },
    stringData: { key: `${n}` },
  });
  await cluster.apply([
    settings(1),
    secret(1),
    // Reads two files of one version again and again, and says when they differ, or when a version is new.
    shell(
      "reader",
      `cd /v; seen=; while :; do
        (cd -P config/..data && [ "$(cat a)" = "$(cat b)" ]) || [ -n "$seen" ] || echo torn
        now="$(cat config/a) $(cat secret/key) $(cat all/from-secret) $(cat all/labels)"
        [ "$now" = "$seen" ] || echo "now $now"; seen=$now
        sleep 0.02
      done`,
      {
        pod: {
          securityContext: { runAsUser: 1000, fsGroup: 2000 },
          volumes: [
            { name: "config", configMap: { name: "settings" } },
            { name: "secret", secret: { secretName: "secret", defaultMode: 0o440 } },
            {
              name: "all",
              projected: {
                sources: [
                  { secret: { name: "secret", items: [{ key: "key", path: "from-secret" }] } },
                  {
                    downwardAPI: {
                      items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels['app']" } }],
                    },
                  },
                  { serviceAccountToken: { path: "token", audience: "somebody", expirationSeconds: 600 } },
                ],
              },
            },
          ],
        },
        container: {
          volumeMounts: ["config", "secret", "all"].map((name) => ({
            name,
            mountPath: `/v/${name}`,
            readOnly: true,
          })),
        },
      },
    ),
  ]);
  const pod = await cluster.ready(namespace, "reader");
  const says = (line: string) =>
    cluster.until(
      { what: `"${line}"` },
      async () => (await cluster.logs(main("reader"))).split("\n").includes(line),
    );
  const volume = `/run/lab/${pod.metadata.uid}/volumes`;
  const inside = async (command: string) => {
    const { code, out, err } = await cluster.exec(["sh", "-c", `cd ${volume} && ${command}`]);
    assertEquals(code, 0, err);
    return out.trim();
  };
  await says("now 1 1 1 reader");
  const before = await inside("readlink config/..data");

  await t.step("a ConfigMap: a new folder, behind the same links", async () => {
    await cluster.apply([settings(2)]);
    await says("now 2 1 1 reader");
    assertNotEquals(await inside("readlink config/..data"), before);
    assertEquals(await inside("readlink config/a"), "..data/a");
    assertEquals(await inside("ls config"), "a\nb", "a key that is gone is no file any more");
  });
  await t.step("a Secret, twice, with its mode and group", async () => {
    await cluster.apply([secret(2)]);
    await says("now 2 2 2 reader");
    assertEquals(await inside("stat -L -c '%a %g' secret/key"), "440 2000");
  });
  await t.step("labels", async () => {
    await cluster.kubectl("label", "pod", "-n", namespace, "reader", "app=other", "--overwrite");
    await says("now 2 2 2 other");
  });
  await t.step("nothing was half written, and what is unchanged is left alone", async () => {
    assert(!(await cluster.logs(main("reader"))).includes("torn"));
    const unchanged = await inside("readlink config/..data");
    await cluster.kubectl("annotate", "configmap", "-n", namespace, "settings", "note=x");
    await cluster.apply([secret(3)]);
    await says("now 2 3 3 other");
    assertEquals(await inside("readlink config/..data"), unchanged);
  });
  await t.step("a token is renewed before it expires", async () => {
    const claims = async () =>
      JSON.parse(
        new TextDecoder().decode(Uint8Array.fromBase64((await inside("cat all/token")).split(".")[1]!, {
          alphabet: "base64url",
        })),
      );
    const old = await claims();
    assertEquals([old.aud, old.exp - old.iat], [["somebody"], 600]);
    assertEquals(old["kubernetes.io"].pod, { name: "reader", uid: pod.metadata.uid });
    const fresh = await cluster.until({ what: "another token" }, async () => {
      const now = await claims();
      return now.jti !== old.jti && now;
    });
    assert(fresh.exp > old.exp && fresh.iat >= old.iat + 3, `${fresh.iat} ${old.iat}`);
    assertEquals(await inside("stat -L -c '%a %g' all/token"), "640 2000");
  });
});

Deno.test("lab: containers are probed, restarted, confined and stopped", async (t) => {
  await using cluster = await labCluster();
  const status = async (name: string) =>
    (await cluster.get(`/api/v1/namespaces/${namespace}/pods/${name}`))?.status?.containerStatuses?.[0];
  /** How long after `start` a pod has gone, in milliseconds. */
  const gone = async (name: string, start: number) => {
    await cluster.until(
      { what: `${name} to go` },
      async () => !await cluster.get(`/api/v1/namespaces/${namespace}/pods/${name}`),
    );
    return performance.now() - start;
  };
  const lines = async (name: string) => (await cluster.logs(main(name))).trim().split("\n");

  await t.step(
    "a failed liveness probe restarts the container, a failed readiness probe does not",
    async () => {
      const probe = { exec: { command: ["test", "-e", "/tmp/well"] }, periodSeconds: 1, failureThreshold: 1 };
      const body =
        "trap 'echo told; exit 0' TERM; echo up; touch /tmp/well; sleep 2; rm /tmp/well; sleep 1000 & wait";
      await cluster.apply([
        shell("alive", body, { container: { livenessProbe: probe } }),
        shell("unready", body, { container: { readinessProbe: probe } }),
      ]);
      await cluster.until({ what: "a restart" }, async () => (await status("alive"))?.restartCount >= 1);
      await cluster.until({ what: "its first line" }, async () => (await lines("alive")).length >= 3);
      assertEquals((await lines("alive")).slice(0, 3), ["up", "told", "up"]);
      assertEquals((await status("alive")).lastState.terminated.exitCode, 0);
      await cluster.until({ what: "unreadiness" }, async () => (await status("unready"))?.ready === false);
      assertEquals((await status("unready")).restartCount, 0);
      assertEquals(await lines("unready"), ["up"]);
    },
  );
  await t.step("a container that is killed comes back", async () => {
    await cluster.apply([shell("killed", "echo up; sleep 1000")]);
    await cluster.ready(namespace, "killed");
    await cluster.signal(main("killed"), "KILL");
    const { lastState } = await cluster.until({ what: "a restart" }, async () => {
      const now = await status("killed");
      return now.restartCount === 1 && now.ready && now;
    });
    assertEquals(lastState.terminated.exitCode, 137);
  });
  await t.step("a security context holds", async () => {
    await cluster.apply([
      shell(
        "confined",
        `id -u; id -G; grep -E 'CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t'
         for f in /x /tmp/x /usr/x /etc/x; do echo > $f && echo "wrote $f"; done 2>/dev/null
         echo > /mine/x && echo "wrote /mine/x"; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; sleep 1000`,
        {
          pod: {
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 1000,
              runAsGroup: 3000,
              fsGroup: 2000,
              sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "80" }],
            },
            volumes: [{ name: "mine", emptyDir: {} }],
          },
          container: {
            securityContext: {
              readOnlyRootFilesystem: true,
              allowPrivilegeEscalation: false,
              capabilities: { drop: ["ALL"] },
            },
            volumeMounts: [{ name: "mine", mountPath: "/mine" }],
          },
        },
      ),
      shell("root", "echo > /x && echo wrote; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; sleep 1000"),
      shell("refused", "sleep 1000", { pod: { securityContext: { runAsNonRoot: true } } }),
    ]);
    await cluster.until({ what: "all lines" }, async () => (await lines("confined")).length >= 6);
    assertEquals(await lines("confined"), [
      "1000",
      "3000 2000",
      "CapBnd:0000000000000000",
      "NoNewPrivs:1",
      "wrote /mine/x",
      "80",
    ]);
    await cluster.until({ what: "all lines" }, async () => (await lines("root")).length >= 2);
    assertEquals(await lines("root"), ["wrote", "1024"]);
    await cluster.until(
      { what: "a refusal" },
      async () => (await status("refused"))?.state.waiting?.reason === "CreateContainerConfigError",
    );
  });
  await t.step("stopping: the hook, SIGTERM, then SIGKILL when the grace period is over", async () => {
    const serve = `Deno.serve({ port: 8080, hostname: "0.0.0.0", onListen() {} }, (request) => {
      console.log(new URL(request.url).pathname);
      return new Response();
    });`;
    const listening = { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } };
    await cluster.apply([
      script(
        "hook",
        `${serve} Deno.addSignalListener("SIGTERM", () => { console.log("term"); Deno.exit(0); });`,
        {
          container: { ...listening, lifecycle: { preStop: { httpGet: { port: 8080, path: "/stopping" } } } },
        },
      ),
      script(
        "slow",
        `${serve} Deno.addSignalListener("SIGTERM", () => { console.log("term"); Deno.exit(0); });`,
        {
          container: { ...listening, lifecycle: { preStop: { sleep: { seconds: 2 } } } },
        },
      ),
      script("stubborn", `${serve} Deno.addSignalListener("SIGTERM", () => console.log("term"));`, {
        container: listening,
        pod: { terminationGracePeriodSeconds: 3 },
      }),
    ]);
    for (const name of ["hook", "slow", "stubborn"]) await cluster.ready(namespace, name);
    const start = performance.now();
    await cluster.kubectl("delete", "pod", "-n", namespace, "hook", "slow", "stubborn", "--wait=false");
    const [hook, slow, stubborn] = await Promise.all(
      ["hook", "slow", "stubborn"].map((name) => gone(name, start)),
    );
    assertEquals(await lines("hook"), ["/stopping", "term"]);
    assertEquals(await lines("slow"), ["term"]);
    assertEquals(await lines("stubborn"), ["term"]);
    // Nobody waits for the grace period of 30 s but for the one whose own is 3 s; the hook takes 2 s.
    const took = `${hook} ${slow} ${stubborn} ms`;
    assert(hook! < 25_000 && slow! >= 2000 && slow! < 25_000, took);
    assert(stubborn! >= 3000 && stubborn! < 25_000, took);
  });
  await t.step("a pod that is deleted by force goes at once", async () => {
    await cluster.apply([shell("forced", "trap '' TERM; while :; do sleep 1; done")]);
    await cluster.ready(namespace, "forced");
    await cluster.kubectl("delete", "pod", "-n", namespace, "forced", "--force", "--grace-period=0");
    await cluster.until(
      { what: "its process to go" },
      () => cluster.signal(main("forced"), "TERM").then(() => false, () => true),
    );
  });
});

Deno.test("lab: the API server can be cut off, killed and paused while pods run", async (t) => {
  await using cluster = await labCluster();
  await cluster.apply([server("web"), shell("client", "sleep 1000")]);
  const web = await cluster.ready(namespace, "web"), client = await cluster.ready(namespace, "client");
  /** What curl says of the API server's health, from a pod, this machine, and the node: an HTTP status or an error. */
  const ask = async () => {
    const { port } = new URL(/server: "?(\S+?)"?[,}]/.exec(await Deno.readTextFile(cluster.kubeconfig))![1]!);
    const curl = ["curl", "-sk", "-m1", "-o", "/dev/null", "-w", "%{http_code}"];
    const fromPod = await cluster.exec([...curl, "https://10.96.0.1/livez"], { pod: client });
    const fromNode = await cluster.exec([...curl, "https://172.18.0.2:6443/livez"]);
    const { code, stdout } = await new Deno.Command(curl[0]!, {
      args: [...curl.slice(1), `https://127.0.0.1:${port}/livez`],
    }).output();
    const verdict = (exit: number, out: string) =>
      exit === 0 ? out : exit === 28 ? "timeout" : [7, 35, 56].includes(exit) ? "refused" : `exit ${exit}`;
    return {
      pod: verdict(fromPod.code, fromPod.out),
      host: verdict(code, new TextDecoder().decode(stdout)),
      node: verdict(fromNode.code, fromNode.out),
    };
  };
  const traffic = async () =>
    (await cluster.exec(["curl", "-sf", "-m1", `http://${web.status.podIP}:8080/`], { pod: client })).code;
  const well = { pod: "200", host: "200", node: "200" };
  assertEquals(await ask(), well);

  await t.step("cut: packets are lost, connections that exist hang, the node goes on", async () => {
    await cluster.apiServer.cut();
    assertEquals(await ask(), { pod: "timeout", host: "timeout", node: "200" });
    assertEquals(await traffic(), 0);
    await cluster.signal(main("client"), "KILL"); // the node restarts it, and says so
    await cluster.until({ what: "a restart" }, async () => {
      const { out } = await cluster.exec([
        cluster.programs.kubectl,
        "get",
        "pod",
        "-n",
        namespace,
        "client",
        "-o",
        "jsonpath={.status.containerStatuses[0].restartCount}",
      ]);
      return out === "1";
    });
    await cluster.apiServer.restore();
    assertEquals(await ask(), well);
  });
  await t.step("refuse: connections are refused", async () => {
    await cluster.apiServer.refuse();
    assertEquals(await ask(), { pod: "refused", host: "refused", node: "200" });
    await cluster.apiServer.restore();
    assertEquals(await ask(), well);
  });
  await t.step("kill -9: gone for everybody; pods go on, and a restart brings all of it back", async () => {
    const { metadata } = await cluster.get(`/api/v1/namespaces/${namespace}`);
    await cluster.apiServer.kill();
    assertEquals(await ask(), { pod: "refused", host: "refused", node: "refused" });
    await assertRejects(() => cluster.apiServer.kill(), Error, "it does not run");
    assertEquals(await traffic(), 0);
    await cluster.signal(main("web"), "KILL");
    await cluster.until(
      { what: "traffic to a pod that was restarted meanwhile" },
      async () => await traffic() === 0,
    );
    await cluster.apiServer.start();
    assertEquals(await ask(), well);
    assertEquals((await cluster.get(`/api/v1/namespaces/${namespace}`)).metadata.uid, metadata.uid);
    await cluster.until(
      { what: "the restart in the pod's status" },
      async () =>
        (await cluster.get(`/api/v1/namespaces/${namespace}/pods/web`)).status.containerStatuses[0]
          .restartCount === 1,
    );
    await cluster.apply([shell("later", "sleep 1000")]);
    await cluster.ready(namespace, "later"); // so scheduler, controllers and node have found it again
  });
  await t.step("pause: connections open, no answer comes", async () => {
    await cluster.apiServer.pause();
    assertEquals(await ask(), { pod: "timeout", host: "timeout", node: "timeout" });
    await cluster.apiServer.resume();
    assertEquals(await ask(), well);
  });
});

Deno.test("lab: every request is in the audit log, by who sent it", async () => {
  await using cluster = await labCluster();
  const { end } = await cluster.audit();
  const url = `/api/v1/namespaces/${namespace}/configmaps`;
  const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "audited", namespace } };
  const raw = async (type: string, ...args: string[]) => {
    await cluster.exec([
      "curl",
      "-sk",
      "-A",
      "somebody/1",
      "-H",
      `Content-Type: ${type}`,
      "--cert",
      `${cluster.folder}/pki/kubernetes-admin.crt`,
      "--key",
      `${cluster.folder}/pki/kubernetes-admin.key`,
      ...args,
    ]);
  };
  const base = `https://172.18.0.2:6443${url}`;
  await raw("application/json", "-d", JSON.stringify(config), base);
  await raw("application/json", "-d", JSON.stringify(config), base);
  await raw("application/merge-patch+json", "-X", "PATCH", "-d", "{}", `${base}/audited`);
  await raw("application/json", "-X", "DELETE", `${base}/audited`);
  // It is written before the answer goes out: no need to wait.
  const { events } = await cluster.audit(end);
  assertEquals(
    events.filter(({ userAgent }) => userAgent === "somebody/1")
      .map(({ verb, objectRef, responseStatus, user }) => [
        user.username,
        verb,
        `${objectRef?.namespace}/${objectRef?.name}`,
        responseStatus?.code,
      ]),
    [
      ["kubernetes-admin", "create", "lab/audited", 201],
      ["kubernetes-admin", "create", "lab/audited", 409],
      ["kubernetes-admin", "patch", "lab/audited", 200],
      ["kubernetes-admin", "delete", "lab/audited", 200],
    ],
  );
});
