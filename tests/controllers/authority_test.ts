/**
 * The Secret with the authority of the xDS servers, and the certificates of the replicas.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { X509Certificate } from "node:crypto";
import { authorityController, deriveAuthority, row } from "../../controllers/authority.ts";
import { worker } from "../../controllers/controller.ts";
import { type Credentials, OwnCertificate } from "../../controllers/own_certificate.ts";
import { type AuthorityTimes, signerOf } from "../../controllers/runtime/authorities.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import type { Secret } from "../../crds/mod.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Kube } from "../../kube/types.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { foreignAuthority } from "../support/foreign_authority.ts";

const hour = 3600_000, times: AuthorityTimes = { life: 30 * hour, overlap: 5 * hour, skew: 60_000 };
const place = { namespace: "gatehouse-system", name: "gatehouse-xds-authority" };

/** An API server with room for one Secret, and replicas that look at it. */
class World {
  readonly clock = new FakeClock();
  readonly writes: string[] = [];
  secret: Secret | undefined;
  #version = 0;

  readonly kube = {
    create: (_kind: unknown, object: Secret) => {
      if (this.secret) throw new KubeError("create", 409, { reason: "AlreadyExists" });
      return this.#store("create", object);
    },
    patch: (_kind: unknown, _name: unknown, operations: readonly { op: string; value: unknown }[]) => {
      if (!this.secret) throw new KubeError("patch", 404, {});
      const [test, add] = operations;
      if (test?.op !== "test" || test.value !== this.secret.metadata.resourceVersion) {
        throw new KubeError("patch", 409, { reason: "Conflict" });
      }
      return this.#store("patch", { ...this.secret, data: add!.value as NonNullable<Secret["data"]> });
    },
  } as unknown as Kube;

  /** What anybody does to it. */
  edit(data: { readonly [key: string]: string } | undefined): void {
    this.secret = undefined;
    if (data) this.#store("edit", { apiVersion: "v1", kind: "Secret", metadata: place, type: "x", data });
  }

  #store(verb: string, object: Secret): Promise<Secret> {
    this.writes.push(verb);
    const resourceVersion = String(++this.#version);
    this.secret = { ...object, metadata: { ...object.metadata, resourceVersion } };
    return Promise.resolve(this.secret);
  }

  replica(log = silentLog) {
    const graph = new Graph(), secrets = graph.source<Secret>("secrets"), time = graph.source<number>("time");
    const tables = deriveAuthority(graph, { secrets, time }, { ...place, times });
    const controller = authorityController({
      ...place,
      tables,
      times,
      kube: this.kube,
      labels: { "app.kubernetes.io/managed-by": "gatehouse" },
      clock: this.clock,
      log,
    });
    const look = () => {
      time.set("now", this.clock.now().getTime());
      secrets.replace([
        ["other/gatehouse-xds-authority", { ...other, metadata: { ...place, namespace: "other" } }],
        ["gatehouse-system/other", { ...other, metadata: { ...place, name: "other" } }],
        ...this.secret ? [["gatehouse-system/gatehouse-xds-authority", this.secret] as const] : [],
      ]);
      graph.settle();
    };
    look();
    return {
      tables,
      look,
      due: () => [...tables.due.entries()].map(([, { reason }]) => reason),
      bundle: () => tables.bundle.get(row),
      authorities: () => tables.authorities.get(row)?.authorities ?? [],
      /** Writes what is due by what the replica has seen. */
      work: async () => {
        for (const [key] of tables.due.entries()) {
          await worker(controller, silentLog)(key, new AbortController().signal);
        }
      },
    };
  }
}

const other = { apiVersion: "v1", kind: "Secret", type: "Opaque" } as const;

Deno.test("the leader makes the authority, and everybody trusts it; then nothing is due", async () => {
  const world = new World(), leader = world.replica(), follower = world.replica();
  assertEquals([leader.due(), leader.bundle()], [["missing"], undefined]);
  await leader.work();
  for (const one of [leader, follower]) {
    one.look();
    assertEquals(one.due(), []);
    assertMatch(one.bundle() ?? "", /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n$/);
  }
  assertEquals(leader.bundle(), follower.bundle());
  assertEquals([world.secret?.type, world.secret?.metadata.labels], ["gatehouse.dev/authority", {
    "app.kubernetes.io/managed-by": "gatehouse",
  }]);
  assertEquals(world.writes, ["create"]);
});

Deno.test("of two who think that they lead, one makes it, and nobody overwrites what he has not seen", async () => {
  const world = new World(), one = world.replica(), two = world.replica();
  await one.work();
  const made = world.secret;
  await two.work();
  assertEquals(world.secret, made);
  one.look();
  two.look();
  assertEquals(two.bundle(), one.bundle());
  await world.clock.advance(21 * hour);
  one.look();
  two.look();
  assertEquals([one.due(), two.due()], [["aging"], ["aging"]]);
  await one.work();
  await two.work();
  assertEquals(world.writes, ["create", "patch"]);
});

Deno.test("a Secret that is lost, broken or somebody else's heals", async () => {
  const world = new World(), leader = world.replica();
  await leader.work();
  for (
    const [data, reason] of [
      [undefined, "missing"],
      [{}, "broken"],
      [{ "authorities.pem": btoa("rubbish") }, "broken"],
      [{ "authorities.pem": "%" }, "broken"],
      [{ "tls.crt": btoa("x"), "tls.key": btoa("y") }, "broken"],
    ] as const
  ) {
    world.edit(data);
    leader.look();
    assertEquals(leader.due(), [reason]);
    assertEquals(leader.bundle(), undefined);
    await leader.work();
    leader.look();
    assertEquals(leader.due(), []);
    assertEquals(leader.authorities().length, 1);
  }
});

Deno.test("an authority of somebody's that cannot sign here is replaced, and the log says so", async () => {
  const lines: unknown[] = [], log = { ...silentLog, warn: (...line: unknown[]) => lines.push(line) };
  const world = new World(), leader = world.replica(log);
  await leader.work();
  assertEquals(lines, []);
  const now = world.clock.now().getTime();
  const { certificate, key } = await foreignAuthority("RSA", {
    notBefore: new Date(now),
    notAfter: new Date(now + hour),
  });
  const own = atob(world.secret!.data!["authorities.pem"]!);
  world.edit({ "authorities.pem": btoa(own + certificate + key) });
  leader.look();
  assertEquals([leader.due(), leader.authorities().length], [["broken"], 1]);
  await leader.work();
  assertEquals(lines.map((line) => (line as unknown[])[1]), [
    { secret: "gatehouse-system/gatehouse-xds-authority", kept: 1 },
  ]);
  leader.look();
  assertEquals([leader.due(), atob(world.secret!.data!["authorities.pem"]!)], [[], own]);
});

Deno.test("a certificate that cannot be made is told of and tried again, with what there is meanwhile", async () => {
  const lines: string[] = [], log = { ...silentLog, error: (line: string) => lines.push(line) };
  const world = new World(), replica = world.replica();
  await replica.work();
  await using certificate = await certificateOf(world, replica, 3 * hour, log);
  const [first] = certificate.told, [authority] = replica.authorities();
  certificate.own.use([{ ...authority!, certificate: authority!.certificate + "\n", key: "none" }]);
  await idle(world.clock);
  await certificate.pass(60_000);
  assertEquals(lines, Array(2).fill("Cannot renew the certificate of this replica"));
  assertEquals([certificate.own.credentials, certificate.told.length], [first, 1]);
  await certificate.see();
  assertEquals(certificate.told.length, 1, "it is still good");
  await certificate.pass(2 * hour);
  assertEquals([certificate.told.length, lines.length], [2, 2]);
});

/** The certificate of a replica, with all that it was told. */
async function certificateOf(
  world: World,
  replica: ReturnType<World["replica"]>,
  life = 3 * hour,
  log = silentLog,
) {
  const told: Credentials[] = [], abort = new AbortController();
  const own = new OwnCertificate({
    leaf: { commonName: "gatehouse-1", dnsNames: ["gatehouse.svc"], usages: ["server", "client"] },
    life,
    times,
    clock: world.clock,
    log,
    changed: (credentials) => told.push(credentials),
  });
  const running = own.run(abort.signal).catch(() => {});
  const see = async () => {
    replica.look();
    own.use(replica.authorities());
    await idle(world.clock);
  };
  await see();
  return {
    own,
    told,
    see,
    pass: async (ms: number) => {
      await world.clock.advance(ms);
      await idle(world.clock);
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await running;
    },
  };
}

/** Resolves once keys have been made, which takes a thread, and the next look is being waited for. */
async function idle(clock: FakeClock): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    quiet = clock.pending > 0 ? quiet + 1 : 0;
  }
}

function issuerOf({ certificate }: Credentials, replica: ReturnType<World["replica"]>): number {
  const leaf = new X509Certificate(certificate);
  return replica.authorities().findIndex((one) =>
    leaf.verify(new X509Certificate(one.certificate).publicKey)
  );
}

Deno.test("a replica waits for the authority, has a certificate of it, and another after two thirds of its life", async () => {
  const world = new World(), replica = world.replica();
  await using certificate = await certificateOf(world, replica);
  await certificate.pass(hour);
  assertEquals(certificate.own.credentials, undefined);
  await replica.work();
  await certificate.see();
  const [first] = certificate.told;
  assert(first);
  assertEquals(certificate.own.credentials, first);
  assertEquals([first.authorities, issuerOf(first, replica)], [replica.bundle(), 0]);
  const read = new X509Certificate(first.certificate), now = world.clock.now().getTime();
  assertEquals([read.subject, read.subjectAltName], ["CN=gatehouse-1", "DNS:gatehouse.svc"]);
  assertEquals([Date.parse(read.validFrom), Date.parse(read.validTo)], [now - 60_000, now + 3 * hour]);
  await certificate.pass(2 * hour - 1_000);
  assertEquals(certificate.told.length, 1);
  await certificate.pass(1_000);
  assertEquals(certificate.told.length, 2);
  assert(certificate.told[1]!.certificate !== first.certificate);
});

Deno.test("replicas trust a new authority at once, and have a certificate of it once everybody does", async () => {
  const world = new World(), replica = world.replica();
  await replica.work();
  await using certificate = await certificateOf(world, replica, 24 * hour);
  const last = () => certificate.told.at(-1)!;
  for (let passed = 0; passed < 21; passed++) await certificate.pass(hour);
  await certificate.see();
  await replica.work();
  const before = last();
  await certificate.see();
  assertEquals([last().authorities, issuerOf(last(), replica)], [replica.bundle(), 0]);
  assertEquals(last().certificate, before.certificate);
  assertEquals(replica.authorities().length, 2);
  for (let passed = 0; passed < 4; passed++) await certificate.pass(hour);
  assertEquals(issuerOf(last(), replica), 0);
  await certificate.pass(hour);
  await certificate.pass(60_000);
  assertEquals(issuerOf(last(), replica), 1);
  assertEquals(
    signerOf(replica.authorities(), world.clock.now().getTime(), times)?.certificate,
    replica.authorities()[1]!.certificate,
  );
});

Deno.test("a certificate does not outlive its authority, and goes on when the authority is lost", async () => {
  const world = new World(), replica = world.replica();
  await replica.work();
  await using certificate = await certificateOf(world, replica, 100 * hour);
  const { validTo } = new X509Certificate(certificate.told[0]!.certificate);
  assertEquals(Date.parse(validTo), world.clock.now().getTime() + 30 * hour);
  world.edit(undefined);
  await certificate.see();
  assertEquals(certificate.told.length, 1);
});
