import { assert, assertEquals, assertRejects } from "@std/assert";
import type {
  JSONValue,
  KubernetesTunnel,
  RequestOptions,
  RestClient,
} from "@cloudydeno/kubernetes-apis/deps.ts";
import { ConnectionError, KubeError, SilentError } from "../../kube/errors.ts";
import { elect, type ElectionOptions, type Leadership } from "../../kube/lease.ts";
import { CountingSignal } from "../support/counting_signal.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { random as randomOf } from "../support/random.ts";

interface StoredLease {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

type Fault = (options: RequestOptions) => Promise<void> | void;

/** A store of one Lease with optimistic locking, and faults on demand. */
class Leases {
  lease: StoredLease | undefined;
  readonly log: string[] = [];
  /** Runs before, or with `after` once the request has been carried out. */
  before: Fault = () => {};
  after: Fault = () => {};
  #version = 0;

  /** The store as one client sees it. */
  client(name: string, faults: { before?: Fault; after?: Fault } = {}): RestClient {
    const performRequest = async (options: RequestOptions): Promise<never> => {
      this.log.push(`${name} ${options.method}`);
      await (faults.before ?? this.before)(options);
      options.abortSignal?.throwIfAborted();
      const answer = this.#handle(options);
      await (faults.after ?? this.after)(options);
      return structuredClone(answer) as never;
    };
    return { performRequest, [Symbol.dispose]: () => {} } as {
      performRequest(opts: RequestOptions & { expectTunnel: string[] }): Promise<KubernetesTunnel>;
    } & RestClient;
  }

  #handle({ method, path, bodyJson }: RequestOptions): JSONValue {
    const refuse = (status: number, reason: string) => new KubeError(`${method} ${path}`, status, { reason });
    const body = JSON.parse(JSON.stringify(bodyJson ?? null)) as StoredLease;
    if (method === "POST") {
      assert(path.endsWith("/namespaces/sys/leases"), path);
      if (this.lease) throw refuse(409, "AlreadyExists");
    } else {
      assert(path.endsWith("/namespaces/sys/leases/gatehouse"), path);
      if (!this.lease) throw refuse(404, "NotFound");
      if (method === "GET") return this.lease as unknown as JSONValue;
      if (body.metadata.resourceVersion !== this.lease.metadata.resourceVersion) {
        throw refuse(409, "Conflict");
      }
    }
    this.write(body.spec);
    return this.lease as unknown as JSONValue;
  }

  write(spec: StoredLease["spec"]): void {
    const resourceVersion = String(++this.#version);
    this.lease = { metadata: { name: "gatehouse", namespace: "sys", resourceVersion }, spec };
  }

  get holder(): string | undefined {
    return this.lease?.spec.holderIdentity;
  }
}

/** A candidate that leads until it is told not to. */
class Candidate implements AsyncDisposable {
  readonly terms: Leadership[] = [];
  readonly observed: string[] = [];
  readonly ended: Promise<void>;
  readonly #abort = new AbortController();

  constructor(
    client: RestClient,
    clock: FakeClock,
    identity: string,
    options: Partial<ElectionOptions> = {},
  ) {
    this.ended = elect(client, {
      namespace: "sys",
      name: "gatehouse",
      identity,
      clock,
      random: () => 0,
      observed: (holder) => this.observed.push(holder),
      lead: (leadership) => {
        this.terms.push(leadership);
        return new Promise((resolve) => leadership.signal.addEventListener("abort", () => resolve()));
      },
      signal: this.#abort.signal,
      ...options,
    });
    // Failures are for the test to await.
    this.ended.catch(() => {});
  }

  get leads(): boolean {
    return this.terms.at(-1)?.valid() ?? false;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function quiet(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await settle();
}

Deno.test("the first candidate makes the lease, leads, renews every two seconds", async () => {
  const leases = new Leases(), clock = new FakeClock("2026-01-01T00:00:00Z");
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  assert(a.leads);
  assertEquals(leases.lease?.spec, {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    leaseTransitions: 0,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
  });
  await clock.advance(4500);
  assertEquals(leases.log, ["a GET", "a POST", "a PUT", "a PUT"], "a renewal reads nothing");
  assertEquals(leases.lease?.spec.renewTime, "2026-01-01T00:00:04.000000Z");
  assertEquals(leases.lease?.spec.acquireTime, "2026-01-01T00:00:00.000000Z");
  assertEquals(a.terms.length, 1);
});

Deno.test("another waits, and leads at once after a release", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  await using b = new Candidate(leases.client("b"), clock, "b");
  await clock.advance(60_000);
  assert(a.leads && !b.leads);
  assertEquals(b.observed, ["a"]);
  await a.stop();
  assertEquals(leases.holder, "");
  assertEquals(leases.lease?.spec.leaseDurationSeconds, 1);
  assert(!a.leads);
  await clock.advance(2000);
  assert(b.leads);
  assertEquals(leases.lease?.spec.leaseTransitions, 1);
  assertEquals(b.observed, ["a", "", "b"]);
});

Deno.test("two who start at the same moment: one leads", async () => {
  const leases = new Leases(), clock = new FakeClock();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await using b = new Candidate(leases.client("b"), clock, "b");
  await clock.advance(10_000);
  assertEquals([a.leads, b.leads].filter(Boolean).length, 1);
  assertEquals(a.terms.length + b.terms.length, 1);
});

Deno.test("a leader without renewals demotes itself before anybody else may lead, and does not exit", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault } = {};
  await using a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  await using b = new Candidate(leases.client("b"), clock, "b");
  await clock.advance(3000);
  // The last renewal was at 2 s.
  faults.before = () => {
    throw new ConnectionError("Cannot PUT: connection refused");
  };
  await clock.advance(8999);
  assert(a.leads, "at 11.999 s");
  await clock.advance(1);
  assert(!a.leads, "at 12 s");
  assert(a.terms[0]?.signal.aborted);
  assertEquals((a.terms[0]?.signal.reason as Error).message, "Lost the lease: not renewed within 10 s");
  assert(!b.leads);
  await clock.advance(6000);
  assert(b.leads, "15 s after the last renewal, give or take a try");
  faults.before = () => {};
  await clock.advance(30_000);
  assert(!a.leads && a.terms.length === 1);
  await b.stop();
  await clock.advance(2000);
  assert(a.leads);
  assertEquals(a.terms.length, 2);
});

Deno.test("a renewal that hangs ends the term in time, too", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault } = {};
  await using a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  faults.before = ({ abortSignal }) =>
    new Promise((_, reject) => abortSignal?.addEventListener("abort", () => reject(abortSignal.reason)));
  await clock.advance(9999);
  assert(a.leads);
  await clock.advance(1);
  assert(!a.leads && a.terms[0]?.signal.aborted);
  faults.before = () => {};
});

Deno.test("a renewal that hangs costs its connection and not the lease: it is tried once more in time", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault } = {}, given: { readonly at: number; readonly reason: unknown }[] = [];
  await using a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  faults.before = ({ abortSignal }) =>
    new Promise((_, reject) =>
      abortSignal?.addEventListener("abort", () => {
        given.push({ at: clock.monotonic(), reason: abortSignal.reason });
        delete faults.before;
        reject(abortSignal.reason);
      })
    );
  await clock.advance(7000);
  assertEquals(given.map(({ at }) => at), [7000], "half of the deadline after it was sent at 2 s");
  assert(given[0]?.reason instanceof SilentError, "which retires the connection");
  assertEquals(leases.log.slice(-2), ["a PUT", "a PUT"], "tried again at once");
  await clock.advance(60_000);
  assert(a.leads);
  assertEquals([a.terms.length, leases.lease?.spec.leaseTransitions], [1, 0]);
});

Deno.test("validity counts from before the request was sent", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault; after?: Fault } = {};
  await using a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  let slow = true;
  // The renewal at 2 s is answered at 6 s, the next tries never.
  faults.after = async () => {
    if (slow) await clock.sleep(4000);
    slow = false;
    faults.before = () => {
      throw new ConnectionError("Cannot PUT: connection refused");
    };
  };
  await clock.advance(11_999);
  assert(a.leads);
  await clock.advance(1);
  assert(!a.leads, "10 s after 2 s, not after 6 s");
  delete faults.before;
});

Deno.test("an answer that is lost on the way does not cost the lease", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { after?: Fault } = {};
  await using a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  let lose = true;
  faults.after = () => {
    if (!lose) return;
    lose = false;
    throw new ConnectionError("Cannot PUT: connection reset");
  };
  await clock.advance(60_000);
  assert(a.leads);
  assertEquals(a.terms.length, 1);
  assertEquals(leases.lease?.spec.leaseTransitions, 0);
});

Deno.test("who has lost the lease to another knows at the next renewal", async () => {
  const leases = new Leases(), clock = new FakeClock();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  leases.write({ holderIdentity: "thief", leaseDurationSeconds: 15 });
  await clock.advance(1999);
  assert(a.leads);
  await clock.advance(1);
  assert(!a.leads);
  assertEquals((a.terms[0]?.signal.reason as Error).message, 'Lost the lease: "thief" has it');
  assertEquals(leases.holder, "thief");
});

Deno.test("the next term begins only after the last has ended", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const release = Promise.withResolvers<void>();
  let terms = 0;
  await using _a = new Candidate(leases.client("a"), clock, "a", {
    lead: async ({ signal }) => {
      terms++;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      await release.promise;
    },
  });
  await quiet();
  leases.write({ holderIdentity: "thief", leaseDurationSeconds: 1 });
  await clock.advance(60_000);
  assertEquals(terms, 1);
  release.resolve();
  await clock.advance(4000);
  assertEquals(terms, 2);
});

Deno.test("expiry is counted from when we saw it, whatever times the lease says", async () => {
  for (const renewTime of ["1999-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"]) {
    const leases = new Leases(), clock = new FakeClock();
    leases.write({ holderIdentity: "gone", leaseDurationSeconds: 15, renewTime, leaseTransitions: 6 });
    await using a = new Candidate(leases.client("a"), clock, "a");
    await clock.advance(14_999);
    assert(!a.leads);
    await clock.advance(2000);
    assert(a.leads);
    assertEquals(leases.lease?.spec.leaseTransitions, 7);
  }
});

Deno.test("a lease that is renewed is not taken, however long we watch", async () => {
  const leases = new Leases(), clock = new FakeClock();
  leases.write({ holderIdentity: "other", leaseDurationSeconds: 15 });
  await using a = new Candidate(leases.client("a"), clock, "a");
  for (let i = 0; i < 20; i++) {
    await clock.advance(14_000);
    assert(!a.leads);
    leases.write({ holderIdentity: "other", leaseDurationSeconds: 15 });
  }
});

/** A clock whose wall can be moved. */
class JumpingClock extends FakeClock {
  jump = 0;
  override now(): Date {
    return new Date(super.now().getTime() + this.jump);
  }
}

Deno.test("a wall clock that jumps costs no lease; a machine that slept is not trusted until it has renewed", async () => {
  const leases = new Leases(), clock = new JumpingClock();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  clock.jump = -86_400_000;
  await clock.advance(10_000);
  assert(a.leads, "back");
  clock.jump = 86_400_000;
  assert(!a.leads, "ahead, which is what a suspended machine looks like");
  assert(!a.terms[0]?.signal.aborted);
  await clock.advance(2000);
  assert(a.leads, "renewed");
  assertEquals(a.terms.length, 1);
});

Deno.test("a thread that was blocked knows before any timer has run", async () => {
  const leases = new Leases();
  class Stopped extends FakeClock {
    blocked = 0;
    override monotonic(): number {
      return super.monotonic() + this.blocked;
    }
  }
  const clock = new Stopped();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  clock.blocked = 10_000;
  assert(!a.leads);
});

Deno.test("a leader that fails gives the lease back and says why", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const a = new Candidate(leases.client("a"), clock, "a", {
    lead: () => Promise.reject(new Error("a bug")),
  });
  await assertRejects(() => a.ended, Error, "a bug");
  assertEquals(leases.holder, "");
  assertEquals(clock.pending, 0);
});

Deno.test("a leader that ends by itself ends the election", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const a = new Candidate(leases.client("a"), clock, "a", { lead: () => Promise.resolve() });
  await a.ended;
  assertEquals(leases.holder, "");
});

/** For {@linkcode Leases.after}: the answer does not come, however long one waits for it. */
const unanswered: Fault = ({ method, abortSignal }) =>
  method === "GET"
    ? undefined
    : new Promise((_, reject) => abortSignal?.addEventListener("abort", () => reject(abortSignal.reason)));

Deno.test("a renewal that is under way when a leader stops does not keep the lease", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { after?: Fault } = {};
  const a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  faults.after = unanswered;
  await clock.advance(2000);
  const stopped = a.stop();
  delete faults.after;
  await stopped;
  assertEquals(leases.holder, "");
  assertEquals(leases.log, ["a GET", "a POST", "a PUT", "a GET", "a PUT"]);
});

Deno.test("a renewal that arrives while a leader gives the lease back does not keep it", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault } = {};
  const a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  faults.before = ({ method }) => {
    if (method !== "PUT") return;
    delete faults.before;
    leases.write(leases.lease!.spec);
  };
  await a.stop();
  assertEquals(leases.holder, "");
});

Deno.test("who stops before it hears that it has won gives the lease back", async () => {
  for (const spec of [undefined, { holderIdentity: "", leaseDurationSeconds: 1 }]) {
    const leases = new Leases(), clock = new FakeClock();
    if (spec) leases.write(spec);
    const faults: { after?: Fault } = { after: unanswered };
    const a = new Candidate(leases.client("a", faults), clock, "a");
    await quiet();
    assertEquals(leases.holder, "a");
    const stopped = a.stop();
    delete faults.after;
    await stopped;
    assertEquals(leases.holder, "");
    assertEquals(a.terms.length, 0);
  }
});

Deno.test("stopping takes a bounded time even if the server does not answer", async () => {
  const leases = new Leases(), clock = new FakeClock();
  const faults: { before?: Fault } = {};
  const a = new Candidate(leases.client("a", faults), clock, "a");
  await quiet();
  faults.before = ({ abortSignal }) =>
    new Promise((_, reject) => abortSignal?.addEventListener("abort", () => reject(abortSignal.reason)));
  const stopped = a.stop();
  await clock.advance(5000);
  await stopped;
  assertEquals(leases.holder, "a");
  assertEquals(clock.pending, 0);
});

Deno.test("a candidate that stops leaves the lease of the leader alone", async () => {
  const leases = new Leases(), clock = new FakeClock();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  const b = new Candidate(leases.client("b"), clock, "b");
  await clock.advance(5000);
  await b.stop();
  assertEquals(leases.holder, "a");
  assert(a.leads);
});

Deno.test("a lease that is deleted is made again by its leader", async () => {
  const leases = new Leases(), clock = new FakeClock();
  await using a = new Candidate(leases.client("a"), clock, "a");
  await quiet();
  leases.lease = undefined;
  await clock.advance(2000);
  assert(a.leads);
  assertEquals(leases.holder, "a");
  assertEquals(a.terms.length, 1);
});

Deno.test("timings that would let two lead are refused", async () => {
  const leases = new Leases(), clock = new FakeClock();
  for (const timings of [{ renewDeadline: 15_000 }, { retryPeriod: 9_000 }, { leaseDuration: NaN }]) {
    const a = new Candidate(leases.client("a"), clock, "a", timings);
    await assertRejects(() => a.ended, RangeError);
  }
});

Deno.test("among five, with faults at random, never two lead at once, and mostly one does", async () => {
  let leaderless = 0, samples = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const choice = randomOf(seed);
    const random = () => choice.int(1_000_000) / 1_000_000;
    const leases = new Leases(), clock = new FakeClock();
    const names = ["a", "b", "c", "d", "e"];
    const cut = new Set<string>();
    const candidates = names.map((name) => {
      const fault: Fault = async () => {
        if (random() < 0.3) await clock.sleep(random() * 4000);
        if (cut.has(name) || random() < 0.1) throw new ConnectionError("Cannot reach it");
      };
      return new Candidate(leases.client(name, { before: fault, after: fault }), clock, name, { random });
    });
    for (let step = 0; step < 100; step++) {
      await clock.advance(random() * 3000);
      if (random() < 0.1) cut.add(names[Math.floor(random() * 5)]!);
      if (random() < 0.2) cut.clear();
      const leading = candidates.filter(({ leads }) => leads).length;
      assert(leading <= 1, `${leading} lead (seed ${seed}, step ${step})`);
      samples++;
      if (leading === 0) leaderless++;
    }
    const stopping = candidates.map((candidate) => candidate.stop());
    await clock.advance(20_000);
    await Promise.all(stopping);
  }
  assert(leaderless < samples / 2, `without a leader ${leaderless} of ${samples} times`);
});

Deno.test("renewals and tries leave nothing on the signals that they end with", async () => {
  const leases = new Leases(), clock = new FakeClock(), stops = [new CountingSignal(), new CountingSignal()];
  const [a, b] = stops.map(({ signal }, i) =>
    new Candidate(leases.client(`${i}`), clock, `${i}`, { signal })
  );
  await clock.advance(5_000);
  const before = stops.map(({ listeners }) => listeners);
  await clock.advance(200_000);
  assert(leases.log.filter((line) => line === "0 PUT").length > 90);
  assert(leases.log.filter((line) => line === "1 GET").length > 90);
  assertEquals(stops.map(({ listeners }) => listeners), before);
  for (const stop of stops) stop.abort();
  await Promise.all([a!.ended, b!.ended]);
});

Deno.test("a candidate tries again when the lease it has seen expires, and at once when told to", async () => {
  const clock = new FakeClock(), leases = new Leases();
  leases.write({ holderIdentity: "gone", leaseDurationSeconds: 15 });
  const told = { wake: Promise.withResolvers<void>() };
  await using candidate = new Candidate(leases.client("b"), clock, "b", {
    random: () => 1,
    sooner: (signal) =>
      Promise.race([
        told.wake.promise,
        new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ]),
  });
  await clock.advance(14_999);
  assertEquals([candidate.leads, leases.log.length], [false, 4], "tries every 4.4 seconds");
  await clock.advance(1);
  assert(candidate.leads, "not only at the next try, at 17.6 s");

  leases.write({ holderIdentity: "other", leaseDurationSeconds: 15 });
  await clock.advance(10_000);
  assert(!candidate.leads);
  leases.write({ holderIdentity: "", leaseDurationSeconds: 1 });
  told.wake.resolve();
  await clock.advance(0);
  assert(candidate.leads, "told that it was released");
});
