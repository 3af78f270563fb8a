/**
 * Grants and Secrets on a cluster that come late, are revoked under traffic while the leader stops, go bad, and come back: what
 * clients get and what statuses say is what the specification wants, neighbours notice nothing, and an Envoy that slept through it
 * and wakes at another replica has it, too.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { tlsSecret } from "../support/tls_secret.ts";
import { type Cluster, type Json, startCluster } from "./support/cluster.ts";
import { available, installGatehouse, replicasOf, system } from "./support/installation.ts";
import { judge } from "./support/judge.ts";
import { sendTraffic } from "./support/traffic.ts";
import {
  backend,
  envoyOf,
  gatewayIn,
  gatewayPath,
  programmed,
  proxiesIn,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

const place = "shop", vault = "vault", gatewayApi = "gateway.networking.k8s.io", seconds = 60;
const farPath = `/apis/${gatewayApi}/v1/namespaces/${place}/httproutes/far`;

const day = 24 * 3_600_000;
const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };

/** Grants objects of the Gateway's namespace to refer to some of another one. */
function grant(namespace: string, from: string, to: string): Json {
  return {
    apiVersion: `${gatewayApi}/v1`,
    kind: "ReferenceGrant",
    metadata: { namespace, name: "shop" },
    spec: { from: [{ group: gatewayApi, kind: from, namespace: place }], to: [{ group: "", kind: to }] },
  };
}
const certificates = grant(vault, "Gateway", "Secret"), services = grant("default", "HTTPRoute", "Service");

/** A listener for each of two hosts, one of which shows a certificate of another namespace. */
const listeners = [["fine", place], ["far", vault]].map(([name, namespace]) => ({
  name,
  protocol: "HTTPS",
  port: 443,
  hostname: `${name}.example.com`,
  tls: { certificateRefs: [{ namespace, name }] },
  allowedRoutes: { namespaces: { from: "All" } },
}));

/** A route to a Service of another namespace. */
const far = {
  ...routeTo(place, "far", "far.example.com"),
  metadata: { namespace: place, name: "far" },
  spec: {
    parentRefs: [{ name: "web" }],
    hostnames: ["far.example.com"],
    rules: [{ backendRefs: [{ namespace: "default", name: "echo", port: 8080 }] }],
  },
};

/** The common name of the certificate that is shown for a host; `none` if the handshake comes to nothing. */
async function shown(cluster: Cluster, address: string, host: string): Promise<string> {
  const curl = ["curl", "--silent", "--verbose", "--insecure", "--max-time", "3", "--output", "/dev/null"];
  const { code, err } = await cluster.exec([
    ...curl,
    ...["--resolve", `${host}:443:${address}`],
    `https://${host}/`,
  ]);
  return code === 0
    ? err.match(/subject: CN\s*=\s*(.*)/)?.[1]?.trim() ?? "?"
    : code === 35
    ? "none"
    : `exit ${code}`;
}

/** What is told of references, as reasons: of the listener `far`, and of the route. */
async function told(cluster: Cluster): Promise<{ readonly listener: string; readonly route: string }> {
  const gateway = await cluster.get(gatewayPath(place)), route = await cluster.get(farPath);
  const reason = (told: Json) => {
    const one = told?.conditions?.find(({ type }: Json) => type === "ResolvedRefs");
    return one === undefined ? "" : `${one.status} ${one.reason}`;
  };
  return {
    listener: reason(gateway.status?.listeners?.find(({ name }: Json) => name === "far")),
    route: reason(route.status?.parents?.[0]),
  };
}

/** Waits until this is what is told, and what clients get by TLS and without. */
async function comes(
  cluster: Cluster,
  address: string,
  expected: {
    readonly listener: string;
    readonly shown: string;
    readonly route: string;
    readonly status: number;
  },
): Promise<void> {
  let now: unknown;
  const look = async () => ({
    ...await told(cluster),
    shown: await shown(cluster, address, "far.example.com"),
    status: await statusOf(cluster, address, "far.example.com"),
  });
  await cluster.until({ what: "it to be so", seconds }, async () => {
    now = await look();
    return Object.entries(expected).every(([what, value]) => (now as Json)[what] === value);
  }).catch((error) => {
    assertEquals(now, expected, String(error));
    throw error;
  });
}

const granted = { route: "True ResolvedRefs", status: 200 };
const refused = {
  listener: "False RefNotPermitted",
  shown: "none",
  route: "False RefNotPermitted",
  status: 500,
};

Deno.test("grants and Secrets that come late, are revoked under traffic, and come back", async (t) => {
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas: 2 });
  const authority = await createAuthority({ commonName: "authority", ...validity });
  const [fine, one, two] = await Promise.all([["fine", "fine"], ["far", "one"], ["far", "two"]].map(
    ([host, commonName]) =>
      issue(authority, {
        commonName: commonName!,
        dnsNames: [`${host}.example.com`],
        usages: ["server"],
        ...validity,
      }),
  )) as [KeyPair, KeyPair, KeyPair];
  const [namespace, fleet, gateway] = gatewayIn(place, { proxies: 2, drain: 1 });
  await cluster.apply([
    ...backend,
    namespace,
    fleet,
    { ...gateway, spec: { ...gateway.spec, listeners: [...gateway.spec.listeners, ...listeners] } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: vault } },
    tlsSecret(place, "fine", fine),
    routeTo(place, "web", "web.example.com"),
    routeTo(place, "fine", "fine.example.com"),
    far,
  ]);
  const address = await programmed(cluster, place);
  await cluster.until(
    { what: "an answer", seconds },
    async () =>
      await statusOf(cluster, address) === 200 &&
      await shown(cluster, address, "fine.example.com") === "fine",
  );
  await using traffic = sendTraffic(cluster, address, "web.example.com", 20);
  await using secure = sendTraffic(cluster, address, "fine.example.com", 20, authority.certificate);
  const more = () => Promise.all([traffic.more(), secure.more()]);
  const remove = ({ kind, metadata: { namespace, name } }: Json) =>
    cluster.kubectl("delete", `--namespace=${namespace}`, kind, name);

  await t.step("both are refused, then granted, and then the Secret comes", async () => {
    await comes(cluster, address, refused);
    await cluster.apply([certificates, services]);
    await comes(cluster, address, { ...granted, listener: "False InvalidCertificateRef", shown: "none" });
    await cluster.apply([tlsSecret(vault, "far", one)]);
    await comes(cluster, address, { ...granted, listener: "True ResolvedRefs", shown: "one" });
    await more();
  });

  await t.step("both grants are revoked while the leader stops, and come back", async () => {
    const { spec } = await cluster.get(`/apis/coordination.k8s.io/v1/namespaces/${system}/leases/gatehouse`);
    const [leader] = spec.holderIdentity.split("_");
    await remove(certificates);
    await cluster.kubectl(`--namespace=${system}`, "delete", "pod", leader, "--wait=false");
    await remove(services);
    await comes(cluster, address, refused);
    await available(cluster);
    await cluster.apply([certificates, services]);
    await comes(cluster, address, { ...granted, listener: "True ResolvedRefs", shown: "one" });
    await more();
  });

  await t.step(
    "the Secret goes, comes back with another certificate, becomes garbage, and is restored",
    async () => {
      const without = { ...granted, listener: "False InvalidCertificateRef", shown: "none" };
      const having = (name: string) => ({ ...granted, listener: "True ResolvedRefs", shown: name });
      await remove(tlsSecret(vault, "far", one));
      await comes(cluster, address, without);
      await cluster.apply([tlsSecret(vault, "far", two)]);
      await comes(cluster, address, having("two"));
      await cluster.apply([tlsSecret(vault, "far", { certificate: "garbage", key: two.key })]);
      await comes(cluster, address, without);
      await cluster.apply([tlsSecret(vault, "far", one)]);
      await comes(cluster, address, having("one"));
    },
  );

  await t.step("no request of the neighbours was lost", async () => {
    await more();
    for (const { answers, failures } of [await traffic.stop(), await secure.stop()]) {
      assertEquals(failures, []);
      assert(answers.http1 > 200 && answers.http2 > 200, "there was traffic");
    }
  });

  await t.step("an Envoy that sleeps through it, and wakes at another replica, has it as well", async () => {
    const [sleeper] = await proxiesIn(cluster, place);
    const { spec } = await cluster.get(`/api/v1/namespaces/${place}/services/web-gatehouse`);
    const { targetPort } = spec.ports.find(({ port }: Json) => port === 80);
    const itself = () => statusOf(cluster, `${sleeper.status.podIP}:${targetPort}`, "far.example.com");
    assertEquals(await itself(), 200);
    await cluster.signal(envoyOf(sleeper), "STOP");
    // Its stream ends with the replica, so that what is revoked after that waits for it nowhere.
    const replicas = (await replicasOf(cluster)).map(({ metadata }) => metadata.name);
    await cluster.kubectl(`--namespace=${system}`, "delete", "pod", ...replicas);
    await available(cluster);
    await remove(services);
    await cluster.until(
      { what: "the route to be refused", seconds },
      async () => (await told(cluster)).route === refused.route,
    );
    await cluster.signal(envoyOf(sleeper), "CONT");
    await cluster.until({ what: "it to refuse", seconds }, async () => await itself() === 500);
    await cluster.apply([services]);
    await comes(cluster, address, { ...granted, listener: "True ResolvedRefs", shown: "one" });
  });

  await t.step("it is as after a fresh start, and nothing is left to write", async () => {
    await judge(cluster, [place], [farPath, ...["web", "fine"].map(routePath)]);
  });
});
