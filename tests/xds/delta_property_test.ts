/**
 * Whatever changes in whatever order, however slow the proxy is and however often it reconnects: it loses nothing on the way
 * and has exactly what it should in the end.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ResourceId } from "../../controllers/ir/mod.ts";
import { defaultPatience, type DeltaResponse, DeltaStream, type Patience } from "../../xds/delta/stream.ts";
import type { XdsResource } from "../../xds/types.ts";
import { random as seeded } from "../support/random.ts";
import { FakeEnvoy, resource } from "./support/fake_envoy.ts";

interface Outcome {
  readonly harm: readonly string[];
  readonly responses: number;
  readonly reconnects: number;
}

const types = ["cluster", "endpoints", "listener", "routes"] as const;

/** Runs one random history and checks how it ends. */
function history(seed: number, patience: Patience): Outcome {
  const random = seeded(seed);
  const target = new Map<ResourceId, XdsResource>();
  const envoy = new FakeEnvoy();
  let stream = new DeltaStream(target, patience);
  let wire: DeltaResponse[] = [], now = 0, versions = 0, responses = 0, reconnects = 0;
  envoy.connect();

  /** One settle: clusters come and go or change, and routes name only clusters that there are. */
  const edit = () => {
    const changes = new Map<ResourceId, XdsResource | undefined>();
    const note = (id: ResourceId) => void (changes.has(id) || changes.set(id, target.get(id)));
    const put = (one: XdsResource) => {
      note(one.id);
      target.set(one.id, one);
    };
    const drop = (id: ResourceId) => {
      if (!target.has(id)) return;
      note(id);
      target.delete(id);
    };
    for (let i = random.int(3); i >= 0; i--) {
      const name = `c${random.int(6)}`;
      const has = target.has(`cluster:${name}`);
      const choice = random.int(4);
      const { version = "" } = target.get(`cluster:${name}`) ?? {};
      if (choice === 0 && has) {
        drop(`cluster:${name}`);
        drop(`endpoints:${name}`);
      } else if (choice === 1 && has) {
        put(resource(`endpoints:${name}`, `${version} v${versions++}`));
      } else {
        // A cluster that comes back may be what it was. Endpoints have another version with each of their cluster.
        const cluster = random.int(2) ? "same" : `v${versions++}`;
        put(resource(`cluster:${name}`, cluster));
        put(resource(`endpoints:${name}`, `${cluster} ${random.int(2) ? "same" : `v${versions++}`}`));
      }
    }
    const clusters = [...target.keys()].filter((id) => id.startsWith("cluster:"));
    for (const name of ["l0", "l1"]) {
      const present = target.has(`listener:${name}`);
      if (present && random.int(8) === 0) {
        drop(`listener:${name}`);
        drop(`routes:${name}`);
      } else if (present || random.int(2)) {
        const named = clusters.filter(() => random.int(2));
        const before = target.get(`routes:${name}`);
        const stale = before?.needs.some((ids) => ids.values().some((id) => !target.has(id)));
        if (!before || stale || random.int(2)) {
          put(resource(`routes:${name}`, `${named.join()} ${versions++}`, named));
        }
        if (!present || random.int(6) === 0) {
          put(resource(`listener:${name}`, `v${versions++}`, [`routes:${name}`]));
        }
      }
    }
    stream.changed(changes);
  };
  const poll = () => {
    const response = stream.next(now);
    if (response) {
      wire.push(response);
      responses++;
    }
    return response !== undefined;
  };
  const deliver = () => {
    const response = wire.shift();
    if (response) envoy.receive(response);
    return response !== undefined;
  };
  const answer = () => {
    const request = envoy.outbox.shift();
    if (request) stream.receive(request);
    return request !== undefined;
  };
  const reconnect = () => {
    stream = new DeltaStream(target, patience);
    wire = [];
    envoy.connect();
    reconnects++;
  };

  for (let step = 0; step < 300; step++) {
    const choice = random.int(20);
    if (choice < 3) edit();
    else if (choice < 8) poll();
    else if (choice < 13) deliver();
    else if (choice < 19) answer();
    else if (random.int(4) === 0) reconnect();
    now += random.int(5);
  }
  for (let quiet = false; !quiet;) {
    quiet = ![poll(), deliver(), answer()].includes(true);
    const { deadline } = stream;
    if (quiet && deadline !== undefined) {
      now = deadline;
      quiet = false;
    }
  }
  for (const type of types) {
    const wanted = new Map(
      [...target.values()].filter((one) => one.type === type).map(({ name, version }) => [name, version]),
    );
    assertEquals(envoy.versions(type), wanted, `seed ${seed}: ${type}`);
    if (type === "cluster") assertEquals(envoy.active, wanted, `seed ${seed}: clusters that have endpoints`);
  }
  return { harm: envoy.harm, responses, reconnects };
}

Deno.test("a proxy never loses a cluster that it uses, never gets routes before clusters, and ends up in sync", () => {
  let responses = 0, reconnects = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const outcome = history(seed, {
      ...defaultPatience,
      dependency: 1e9,
      removal: 1e9,
      acknowledgement: 1e9,
    });
    assertEquals(outcome.harm, [], `seed ${seed}`);
    responses += outcome.responses;
    reconnects += outcome.reconnects;
  }
  assert(responses > 50_000 && reconnects > 5_000, `${responses} responses, ${reconnects} reconnects`);
});

Deno.test("without patience the same histories do harm: the property is not vacuous", () => {
  const harmed = (patience: Partial<Patience>) => {
    let count = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const forever = { dependency: 1e9, removal: 1e9, acknowledgement: 1e9 };
      if (history(seed, { ...forever, ...patience }).harm.length > 0) count++;
    }
    return count;
  };
  assert(harmed({ dependency: 0 }) > 20);
  assert(harmed({ removal: 0 }) > 20);
});
