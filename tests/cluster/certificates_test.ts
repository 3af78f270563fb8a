/**
 * The certificates of the xDS servers on a cluster, while they change: those of replicas every few seconds, and the authority that
 * signs them. No request is lost, nothing restarts, and proxies old and new trust whom they meet.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { X509Certificate } from "node:crypto";
import { writeAuthorities } from "../../controllers/runtime/authorities.ts";
import { createAuthority } from "../../controllers/runtime/pki.ts";
import { type Cluster, isTrue, type Json, startCluster } from "./support/cluster.ts";
import { shakeHands } from "./support/handshake.ts";
import { available, installGatehouse, replicasOf, system } from "./support/installation.ts";
import { sendTraffic } from "./support/traffic.ts";
import {
  askAdmin,
  backend,
  gatewayIn,
  programmed,
  proxiesIn,
  routePath,
  routeTo,
  statusOf,
} from "./support/web.ts";

const place = "shop", day = 24 * 3600_000;
/** How long a replica's certificate is good; there is another after two thirds of it, 30 seconds. */
const lifetime = "45s", seconds = 90;
/** How long the first authority is still good, in milliseconds: time for the installation and for some certificates of it. */
const rest = 120_000;

/** Whom the proxies of the Gateway are to trust. */
async function authoritiesOf(cluster: Cluster): Promise<readonly X509Certificate[]> {
  const { data } = await cluster.get(`/api/v1/namespaces/${place}/configmaps/web-gatehouse`);
  const blocks: readonly string[] = data["ca.crt"].match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g);
  return blocks.map((block) => new X509Certificate(block));
}

/** The certificates that replicas show to whoever trusts what proxies do, by the name of the pod; undefined if he does not trust it. */
async function shown(cluster: Cluster): Promise<ReadonlyMap<string, X509Certificate | undefined>> {
  const replicas = await replicasOf(cluster), authorities = await authoritiesOf(cluster);
  const handshakes = await shakeHands(cluster, {
    hosts: replicas.map(({ status }: Json) => status.podIP),
    port: 18000,
    serverName: `gatehouse.${system}.svc`,
    authorities: authorities.join("\n"),
  });
  return new Map(
    replicas.map(({ metadata }: Json, i) => {
      const handshake = handshakes[i]!;
      return [
        metadata.name,
        "certificate" in handshake ? new X509Certificate(handshake.certificate) : undefined,
      ];
    }),
  );
}

/**
 * Waits until every replica shows a certificate that `holds`, which is told of the replica too. Meanwhile there may be one that has
 * expired: a replica looks once a second whether its authority has ended.
 */
function allShow(
  cluster: Cluster,
  what: string,
  holds: (certificate: X509Certificate, replica: string) => boolean,
): Promise<ReadonlyMap<string, X509Certificate | undefined>> {
  return cluster.until({ what, seconds }, async () => {
    const now = await shown(cluster);
    return [...now].every(([replica, certificate]) => certificate && holds(certificate, replica)) && now;
  });
}

/** Makes that many proxies serve the Gateway. */
async function scale(cluster: Cluster, proxies: number): Promise<void> {
  await cluster.apply(gatewayIn(place, { proxies }));
  await cluster.until({ what: `${proxies} proxies to be ready`, seconds }, async () => {
    const { status } = await cluster.get(`/apis/apps/v1/namespaces/${place}/deployments/web-gatehouse`);
    return status.readyReplicas === proxies && status.updatedReplicas === proxies;
  });
  await programmed(cluster, place);
}

/** The names of pods with the restarts of their containers. */
const restartsOf = (pods: readonly Json[]): readonly string[] =>
  pods.map(({ metadata, status }) => `${metadata.name} ${status.containerStatuses[0].restartCount}`)
    .toSorted();

Deno.test("certificates and authorities of the xDS servers change, and nobody notices", async (t) => {
  await using cluster = await startCluster();
  const now = Date.now();
  // It is long due to be replaced, and its name is that of the next.
  const old = await createAuthority({
    commonName: "gatehouse xDS",
    notBefore: new Date(now - 300 * day),
    notAfter: new Date(now + rest),
  });
  const first = new X509Certificate(old.certificate);
  const text = writeAuthorities([{ ...old, notBefore: now - 300 * day, notAfter: now + rest }]);
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: system } },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: system, name: "gatehouse-xds-authority" },
      type: "gatehouse.dev/authority",
      data: { "authorities.pem": btoa(text) },
    },
  ]);
  await installGatehouse(cluster, { args: [`--certificate-lifetime=${lifetime}`] });
  await cluster.apply([...backend, ...gatewayIn(place, { proxies: 2 }), routeTo(place, "web")]);
  const address = await programmed(cluster, place);
  await cluster.until({ what: "an answer", seconds }, async () => await statusOf(cluster, address) === 200);
  await using traffic = sendTraffic(cluster, address, "web.example.com", 20);
  await traffic.more();
  const operators = restartsOf(await replicasOf(cluster)), oldest = await proxiesIn(cluster, place);
  let proxies = oldest.length;
  const by = (authority: X509Certificate) => (certificate: X509Certificate) =>
    certificate.verify(authority.publicKey);

  await t.step(
    "replicas show others every 30 seconds, signed by the authority that is trusted longest",
    async () => {
      assertEquals((await authoritiesOf(cluster)).length, 2, "the next one is trusted already");
      const seen = new Map<string, Set<string>>();
      let last = await shown(cluster);
      for (let turn = 0; turn < 2; turn++) {
        for (const [replica, certificate] of last) {
          assert(certificate && by(first)(certificate), replica);
          const { validTo } = certificate;
          assert(Date.parse(validTo) - Date.now() <= 45_000, `valid until ${validTo}`);
          seen.set(replica, (seen.get(replica) ?? new Set()).add(certificate.serialNumber));
        }
        last = await allShow(
          cluster,
          "other certificates",
          ({ serialNumber }, replica) => !seen.get(replica)!.has(serialNumber),
        );
        await scale(cluster, ++proxies);
      }
    },
  );

  await t.step(
    "the next authority takes over when the first one ends, and is then the only one",
    async () => {
      const [, next] = await authoritiesOf(cluster);
      await allShow(cluster, "certificates of the next authority", by(next!));
      await scale(cluster, ++proxies);
      await cluster.until(
        { what: "the first authority to be trusted no longer", seconds },
        async () => (await authoritiesOf(cluster)).length === 1,
      );
      assertEquals((await authoritiesOf(cluster))[0]!.fingerprint256, next!.fingerprint256);
      await allShow(cluster, "certificates of the authority that is left", by(next!));
      await scale(cluster, ++proxies);
    },
  );

  await t.step(
    "nothing has started again, and no proxy met a certificate that it did not trust",
    async () => {
      assertEquals(restartsOf(await replicasOf(cluster)), operators);
      const pods = await proxiesIn(cluster, place);
      assertEquals(pods.length, proxies);
      assert(restartsOf(oldest).every((one) => restartsOf(pods).includes(one)), "the first ones are there");
      for (const pod of pods) {
        assertEquals(pod.status.containerStatuses[0].restartCount, 0);
        const stats = await askAdmin(cluster, pod, "/stats?filter=gatehouse/xds.*connect_fail");
        assertMatch(stats ?? "", /upstream_cx_connect_fail: 0/, pod.metadata.name);
      }
    },
  );

  await t.step(
    "all proxies, those of the first authority too, come to replicas that have only met the next",
    async () => {
      await cluster.kubectl(`--namespace=${system}`, "rollout", "restart", "deployment/gatehouse");
      await available(cluster);
      await cluster.until({ what: "all replicas to be others", seconds }, async () => {
        const now = await replicasOf(cluster);
        return now.length === operators.length && restartsOf(now).every((one) => !operators.includes(one));
      });
      await cluster.apply([routeTo(place, "other", "other.example.com")]);
      await cluster.until({ what: "all proxies to have another route", seconds }, async () => {
        const route = await cluster.get(routePath("other"));
        return isTrue({ status: route.status?.parents?.[0] }, "Programmed");
      });
      await traffic.more();
      const { answers, failures } = await traffic.stop();
      assertEquals(failures, []);
      assert(answers.http1 > 1000 && answers.http2 > 1000, "there was traffic");
    },
  );
});
