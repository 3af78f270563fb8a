/**
 * Secrets, authorities, Services and grants that come late, go bad, are revoked and come back, in random orders, while the API server
 * drops, merges and repeats what it tells: what is served and told is what the specification says and what a fresh start makes of
 * the same objects, neighbours notice nothing, and nothing is left to do.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ApiObject, kindFor } from "../../crds/mod.ts";
import { startGateway, type TestGateway, versions } from "../e2e/gateway.ts";
import { resync, sent } from "../e2e/resync.ts";
import { startTraffic, type Traffic } from "../e2e/traffic.ts";
import { type Random, random } from "../support/random.ts";
import { until } from "../support/until.ts";
import { backend } from "../xds/support/http.ts";
import { secureBackend } from "../xds/support/https.ts";
import { expected, observed, type Outcome } from "./support/expectations.ts";
import { compareWithFresh, envoyHas, rest } from "./support/fresh.ts";
import {
  changing,
  fine,
  type Name,
  type Parts,
  type People,
  people,
  permanent,
  type States,
} from "./support/referring.ts";
import { put, remove } from "./support/write.ts";

const seeds = [43, 44];
/** What happens in the midst of each round of changes: the operator starts anew, with its Envoy, or that one is killed. */
const interruptions = [undefined, undefined, "restart", undefined, "crash", undefined] as const;

/** Outcomes without which the test would show little. */
const mustBe = {
  answers: {
    ...Object.fromEntries(
      ["near", "far", "set"].map((name) => [name, ["refused", `200 ${name} one`, `200 ${name} two`]]),
    ),
    strict: ["refused", "200 healthy.example.com"],
    plain: ["200", "404", "500"],
    inner: ["200 shown", "200 ", "404", "500", "no connection"],
  },
  references: {
    near: ["True", "InvalidCertificateRef"],
    far: ["True", "InvalidCertificateRef", "RefNotPermitted"],
    set: ["True", "InvalidCertificateRef", "RefNotPermitted"],
    strict: ["True", "InvalidCACertificateRef", "RefNotPermitted"],
    shown: ["InvalidClientCertificateRef", "RefNotPermitted"],
    plain: ["True", "BackendNotFound", "RefNotPermitted"],
    inner: ["True", "RefNotPermitted", "UnsupportedProtocol"],
    policy: ["True", "InvalidCACertificateRef"],
  },
} as const;

/** Requests to what is always fine, with TLS and without. */
function neighbours({ address }: TestGateway, { first }: People) {
  const options = {
    address,
    targets: [{ host: "healthy.example.com", path: "/" }],
    judge: ({ status }: { readonly status: number }) => status === 200 ? undefined : `status ${status}`,
    patientAtFirst: true,
    pause: 50,
  } as const;
  const all = [startTraffic(options), startTraffic({ ...options, authorities: first.certificate })];
  const each = async (act: (traffic: Traffic) => Promise<void>) => void await Promise.all(all.map(act));
  const stop = () => each((traffic) => traffic.stop());
  return {
    more: () => each((traffic) => traffic.more(1)),
    async stop() {
      await each((traffic) => traffic.more(5));
      await stop();
      assertEquals(all.flatMap(({ failures }) => failures), [], "neighbours notice nothing");
    },
    [Symbol.asyncDispose]: stop,
  };
}

function addFaults({ api: { faults } }: TestGateway, rnd: Random): void {
  for (const kind of ["drop", "duplicate", "merge", "conflict", "latency"] as const) {
    faults.add({ kind, rate: 0.25, milliseconds: 1 + rnd.int(15) });
  }
  faults.add({ kind: "throttle", rate: 0.05, seconds: 0 });
  // A watch that breaks is begun anew after a while, which is longer each time, and may then be told of the past.
  if (rnd.oneIn(2)) faults.add({ kind: "cut", rate: 0.2, times: 1 });
  faults.add({ kind: "stale", rate: 0.7, revisions: 1 + rnd.int(20) });
}

/** Faults without which the test would show little, too. */
const mustStrike = ["drop", "duplicate", "merge", "conflict", "latency", "cut", "stale"] as const;

async function killEnvoy({ local: { dataPlane } }: TestGateway): Promise<void> {
  const pid = () => dataPlane.statuses().get("default/web")?.pid, killed = pid();
  Deno.kill(killed!, "SIGKILL");
  await until("the Envoy is gone", () => pid() !== killed);
}

interface Round {
  /** Parts that change, with their new states, one after the other. */
  readonly changes: readonly (readonly [Name, state: string])[];
  /** What happens after one of the changes. */
  readonly meanwhile?: { readonly after: number; readonly what: "restart" | "crash" };
  readonly states: States;
}

/** What happens in a life: follows from the seed alone. */
function plan(seed: number, parts: Parts): readonly Round[] {
  const rnd = random(seed), names = Object.keys(parts) as Name[];
  // What is either there or not would else be missing half of the time, and hide the rest.
  const often = names.flatMap((name) =>
    Object.keys(parts[name].states).length > 2 ? [name, name, name] : [name]
  );
  let states = Object.fromEntries(
    names.map((name) => [name, name === "gateway" ? "few" : "absent"]),
  ) as States;
  return interruptions.map((what, round) => {
    // At first everything comes, in any order.
    const changing = round === 0
      ? rnd.shuffle(names)
      : Array.from({ length: 4 + rnd.int(8) }, () => often[rnd.int(often.length)]!);
    const changes = changing.map((name) => {
      const others = Object.keys(parts[name].states).filter((state) => state !== states[name]);
      const good = others.filter((state) => fine.has(state));
      const from = good.length > 0 && !rnd.oneIn(3) ? good : others, state = from[rnd.int(from.length)]!;
      states = { ...states, [name]: state };
      return [name, state] as const;
    });
    return { changes, states, ...what && { meanwhile: { after: rnd.int(changes.length), what } } };
  });
}

/** What there was to judge in a life. */
interface Life {
  readonly outcomes: readonly Outcome[];
  /** The kinds of faults that have struck. */
  readonly struck: ReadonlySet<string>;
}

/** Lives through what a seed has planned. */
async function live(seed: number): Promise<Life> {
  await using stack = new AsyncDisposableStack();
  const rnd = random(seed), who = await people(), parts = await changing(who);
  const echo = stack.use(backend("echo"));
  const inner = stack.use(await secureBackend("inner", who.inner, who.first.certificate));
  const web = stack.use(await startGateway({ address: `127.0.91.${seed}` })), { kube } = web;
  for (const draft of permanent(who, { echo: echo.port, inner: inner.port })) {
    await put(kube, kindFor(draft as ApiObject)!, draft);
  }
  await rest(web);
  let traffic = stack.use(neighbours(web, who));
  const history: string[] = [], outcomes: Outcome[] = [], struck = new Set<string>();
  try {
    for (const { changes, meanwhile, states } of plan(seed, parts)) {
      addFaults(web, rnd);
      for (const [i, [name, state]] of changes.entries()) {
        const { kind, states: drafts } = parts[name], draft = drafts[state];
        history.push(`${name} ${state}`);
        if (draft) await put(kube, kind, draft);
        else await remove(kube, kind, Object.values(drafts).find((other) => other !== undefined)!);
        if (rnd.oneIn(3)) await traffic.more();
        if (i !== meanwhile?.after) continue;
        history.push(meanwhile.what);
        await traffic.stop();
        if (meanwhile.what === "restart") await web.restart();
        else await killEnvoy(web);
        traffic = stack.use(neighbours(web, who));
      }
      for (const kind of web.api.faults.struck.keys()) struck.add(kind);
      history.push("rest");
      await rest(web);
      const outcome = await observed(web, who);
      assertEquals(outcome, expected(states));
      outcomes.push(outcome);
      assert(await compareWithFresh(web) > 20, "there is something to compare");
    }
    await traffic.stop();
    history.push("nothing");
    const written = await versions(web), told = await sent(web), has = await envoyHas(web, "default/web");
    assert(await resync(web) > 20);
    assertEquals(await sent(web), told, "the same again is sent to nobody");
    await web.restart();
    await rest(web);
    assertEquals(await versions(web), written, "a fresh start writes nothing");
    assertEquals(await observed(web, who), outcomes.at(-1));
    for (const [id, { content }] of await envoyHas(web, "default/web")) {
      assertEquals(content, has.get(id)?.content, `${id} of a fresh start`);
    }
    return { outcomes, struck };
  } catch (error) {
    throw new Error(`Seed ${seed}: ${history.join(", ")}`, { cause: error });
  }
}

Deno.test("references that come late, go bad, are revoked and come back leave no trace", async () => {
  const lives = await Promise.allSettled(seeds.map(live));
  const errors = lives.flatMap((life) => life.status === "rejected" ? [life.reason] : []);
  if (errors.length > 0) throw new AggregateError(errors);
  const lived = lives.flatMap((life) => life.status === "fulfilled" ? [life.value] : []);
  for (const by of ["answers", "references"] as const) {
    const found = lived.flatMap(({ outcomes }) => outcomes.map((outcome) => outcome[by]));
    for (const [what, values] of Object.entries(mustBe[by])) {
      for (const value of values) {
        assert(found.some((one) => one[what] === value), `${what} was never "${value}"`);
      }
    }
  }
  for (const kind of mustStrike) {
    assert(lived.some(({ struck }) => struck.has(kind)), `no ${kind} has struck`);
  }
});
