/**
 * What holds of translation whatever happens, on random histories of objects as a cluster could hold them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { applyPatch, type Operation } from "rfc6902";
import { type ApiObject, keyOf } from "../../crds/kind.ts";
import { type Batch, sourceOf, translate } from "../../controllers/translate/batch.ts";
import { type Addresses, stamp } from "../../controllers/translate/mod.ts";
import { Graph, type Table } from "../../controllers/runtime/graph.ts";
import { type Random, random } from "../support/random.ts";
import { oddities, placed, vocabulary } from "../support/vocabulary.ts";
import { beginning, controllerName, moments, object, type Raw } from "./random_objects.ts";

const seeds = Array.from({ length: 100 }, (_, i) => i + 1);

/** Everything that translation gives, sorted. */
function dump({ ir, statuses, due, gateways, graph }: Batch): { readonly [table: string]: unknown } {
  const tables: { readonly [name: string]: Table<unknown> } = { ...ir, statuses, due, gateways };
  const rows = Object.entries(tables).map(([name, table]) => [
    name,
    Object.fromEntries([...table.entries()].sort(([a], [b]) => a < b ? -1 : 1)),
  ]);
  const failures = graph.tables.flatMap(({ name, failures }) =>
    [...failures].map(([key, e]) => `${name} ${key} ${e}`)
  );
  return { ...Object.fromEntries(rows), failures };
}

/** What the data plane reports, at random, about what is there. */
function report(batch: Batch, rnd: Random): void {
  const { world, ir, gateways } = batch;
  const contributions = [...ir.contributions.entries()].sort(([a], [b]) => a < b ? -1 : 1);
  const [first, ...others] = contributions;
  for (let reports = first ? 12 : 0; first && reports > 0; reports--) {
    const [key, { gateway, generation, pieces }] = rnd.pick([first, ...others]);
    world.verdicts.set(key, {
      generation: generation - rnd.int(2),
      state: rnd.pick(["pending", "programmed", "rejected"]),
      message: rnd.pick(["", "words"]),
    });
    const piece = pieces[rnd.int(Math.max(1, pieces.length))];
    if (piece && rnd.oneIn(2)) {
      const message = rnd.oneIn(2) ? "words" : undefined;
      world.rejections.set(`${gateway}|${piece.id}`, {
        content: rnd.oneIn(4) ? "something else" : piece.content,
        ...message && { message },
      });
    }
  }
  world.time.set("now", rnd.pick(moments));
  const [gateway] = [...gateways.entries()].map(([key]) => key).sort();
  if (!gateway) return;
  if (rnd.oneIn(3)) world.shortages.set(gateway, "no room");
  if (rnd.oneIn(3)) world.refusals.set("write", { gateway, reason: "Invalid", message: "no such port" });
  else world.refusals.delete("write");
  if (rnd.oneIn(3)) world.addresses.delete(gateway);
  else {
    world.addresses.set(gateway, {
      assigned: [{ type: "IPAddress", value: "192.0.2.1" }],
      bind: rnd.oneIn(2) ? [] : ["192.0.2.1"],
      ports: rnd.pick<NonNullable<Addresses["ports"]>>([
        {},
        { "80": { state: "bound", port: 10080 } },
        { "80": { state: "bound", port: 8080 } },
        { "8080": { state: "failed", message: "in use" } },
      ]),
      unusable: rnd.list(1, () => ({ value: "192.0.2.1", message: "taken" })),
    });
  }
  world.proxies.set(gateway, rnd.list(1, () => ({ id: "p" })));
}

/** A new batch translation of what an incremental one has come to. */
function anew({ world }: Batch, order: <T>(list: readonly T[]) => readonly T[]): Batch {
  const objects = Object.values(world.objects).flatMap((source) =>
    [...(source as Table<ApiObject>).entries()].map(([, object]) => object)
  );
  return translate(order(objects), undefined, (_, fresh) => {
    for (
      const name of [
        "verdicts",
        "rejections",
        "refusals",
        "addresses",
        "shortages",
        "proxies",
        "time",
      ] as const
    ) {
      for (const [key, value] of world[name].entries()) fresh[name].set(key, value as never);
    }
  });
}

/** Goes through a random history, and calls `each` after every settle. */
function history(seed: number, each: (batch: Batch, rnd: Random) => void): void {
  const rnd = random(seed);
  // Rows that are changed in place would be found out here.
  const batch = translate(beginning(rnd), undefined, undefined, new Graph({ freeze: true }));
  each(batch, rnd);
  for (let step = 0; step < 12; step++) {
    for (let changes = 1 + rnd.int(4); changes > 0; changes--) {
      if (rnd.oneIn(3)) report(batch, rnd);
      const changed = object(rnd);
      const source = sourceOf(batch.world, changed.kind)!;
      if (rnd.oneIn(4)) source.delete(keyOf(changed));
      else source.set(keyOf(changed), changed);
    }
    batch.graph.settle();
    each(batch, rnd);
  }
}

/** Every status has the conditions that it must have, and none that nobody knows. */
function assertVocabulary({ statuses }: Batch): void {
  for (const [key, status] of statuses.entries()) {
    for (const { place, conditions } of placed(status.kind, status)) {
      assertEquals(oddities(place, conditions), [], key);
    }
  }
}

/** Pieces are told apart by their ids, of which no two in a Gateway are the same. */
function assertPieces({ ir }: Batch): void {
  const ids = [...ir.contributions.entries()].flatMap(([, { gateway, pieces }]) =>
    pieces.map(({ id }) => `${gateway}|${id}`)
  );
  assertEquals(ids.filter((id, i) => ids.indexOf(id) !== i), []);
}

/** Counts what was seen, so that a test can say that it saw something. */
function census(counts: Map<string, number>, { ir, statuses, world, due }: Batch): void {
  const see = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [, status] of statuses.entries()) {
    const all = "parents" in status
      ? status.parents.flatMap(({ conditions }) => conditions)
      : "ancestors" in status
      ? status.ancestors.flatMap(({ conditions }) => conditions)
      : [
        ...status.conditions,
        ...status.kind === "GatewayClass" || status.kind === "EnvoyFleet"
          ? []
          : status.listeners.flatMap((l) => l.conditions),
      ];
    if ("attachedListenerSets" in status && status.attachedListenerSets > 0) see("attached listener sets");
    for (const { type, status: value, reason } of all) see(`${status.kind} ${type} ${value} ${reason}`);
  }
  for (const [, { entries }] of ir.virtualHosts.entries()) {
    if (entries.length > 3) see("virtual hosts with more than three entries");
    for (const { action } of entries) see(`action ${action.kind}`);
  }
  for (const [, { localities }] of ir.endpoints.entries()) if (localities.length > 0) see("endpoints");
  for (const [, { tls }] of ir.clusters.entries()) if (tls) see("clusters with TLS");
  for (const [, { clientCertificate }] of ir.clusterUses.entries()) {
    if (clientCertificate) see("client certificates for backends");
  }
  for (const _ of ir.chains.entries()) see("chains");
  for (const _ of ir.secrets.entries()) see("secrets");
  for (const _ of world.rejections.entries()) see("rejections");
  for (const _ of due.entries()) see("writes that are due");
}

Deno.test("translate: going step by step comes to the same as starting anew, in any order", () => {
  const counts = new Map<string, number>();
  for (const seed of seeds) {
    history(seed, (batch, rnd) => {
      assertEquals(dump(batch), dump(anew(batch, (list) => rnd.shuffle(list))), `seed ${seed}`);
      assertEquals(dump(batch).failures, []);
      assertVocabulary(batch);
      assertPieces(batch);
      census(counts, batch);
    });
  }
  const expected = [
    "GatewayClass Accepted True Accepted",
    "GatewayClass Accepted False InvalidParameters",
    "Gateway Accepted True Accepted",
    "Gateway Accepted True ListenersNotValid",
    "Gateway Accepted False ListenersNotValid",
    "Gateway Accepted False InvalidParameters",
    "Gateway Accepted False UnsupportedAddress",
    "Gateway Accepted False PortUnavailable",
    "Gateway Conflicted True HostnameConflict",
    "Gateway ResolvedRefs False InvalidRouteKinds",
    "Gateway ResolvedRefs False InvalidCertificateRef",
    "Gateway ResolvedRefs False RefNotPermitted",
    "Gateway OverlappingTLSConfig True OverlappingHostnames",
    "Gateway Programmed True Programmed",
    "Gateway Programmed False Pending",
    "Gateway Programmed False Invalid",
    "Gateway Programmed False AddressNotAssigned",
    "Gateway Programmed False AddressNotUsable",
    "Gateway Programmed False NoResources",
    "Gateway ResolvedRefs False ListenersNotResolved",
    "HTTPRoute Accepted True Accepted",
    "HTTPRoute Accepted False NoMatchingParent",
    "HTTPRoute Accepted False NotAllowedByListeners",
    "HTTPRoute Accepted False NoMatchingListenerHostname",
    "HTTPRoute Accepted False UnsupportedValue",
    "HTTPRoute ResolvedRefs False BackendNotFound",
    "HTTPRoute ResolvedRefs False RefNotPermitted",
    "HTTPRoute ResolvedRefs False InvalidKind",
    "HTTPRoute PartiallyInvalid True UnsupportedValue",
    "HTTPRoute Programmed True Programmed",
    "HTTPRoute Programmed False Pending",
    "HTTPRoute Programmed False Invalid",
    "ListenerSet Accepted True Accepted",
    "ListenerSet Accepted True ListenersNotValid",
    "ListenerSet Accepted False ListenersNotValid",
    "ListenerSet Accepted False NotAllowed",
    "ListenerSet Accepted False ParentNotAccepted",
    "ListenerSet Conflicted True HostnameConflict",
    "ListenerSet Conflicted True ProtocolConflict",
    "ListenerSet ResolvedRefs False RefNotPermitted",
    "ListenerSet Programmed True Programmed",
    "ListenerSet Programmed False Pending",
    "ListenerSet Programmed False ParentNotProgrammed",
    "attached listener sets",
    "virtual hosts with more than three entries",
    "action forward",
    "action redirect",
    "action respond",
    "Gateway Accepted False NoValidCACertificate",
    "Gateway ResolvedRefs False InvalidCACertificateKind",
    "Gateway ResolvedRefs False InvalidClientCertificateRef",
    "Gateway InsecureFrontendValidationMode True ConfigurationChanged",
    "BackendTLSPolicy Accepted True Accepted",
    "BackendTLSPolicy Accepted False Conflicted",
    "BackendTLSPolicy Accepted False TargetNotFound",
    "BackendTLSPolicy Accepted False NoValidCACertificate",
    "BackendTLSPolicy Accepted False Invalid",
    "clusters with TLS",
    "endpoints",
    "chains",
    "secrets",
    "rejections",
    "writes that are due",
  ];
  assertEquals(expected.filter((name) => (counts.get(name) ?? 0) < 10), [], "the histories are too dull");
  const rare = [
    "Gateway OverlappingTLSConfig True OverlappingCertificates",
    "Gateway ResolvedRefs False InvalidCACertificateRef",
    "client certificates for backends",
  ];
  assertEquals(rare.filter((name) => !counts.has(name)), [], "the histories are too dull");
});

Deno.test("translate: one round of writes leaves nothing to do, and nothing of others is touched", () => {
  let written = 0, foreign = 0, removed = 0, newer = 0;
  for (const seed of seeds) {
    history(seed, (batch) => {
      const copy = anew(batch, (list) => list);
      const now = new Date("2026-06-06T06:06:06Z");
      for (const [key, write] of copy.due.entries()) {
        const [kind] = key.split("/", 1);
        const before = sourceOf(copy.world, kind!)!.get(write.key)!;
        const after = structuredClone(before) as Raw;
        const errors = applyPatch(after, stamp(write.patch, now) as Operation[]).filter((error) => error);
        assertEquals(errors, [], key);
        const theirs = (object: Raw) => ({
          ...object,
          status: undefined,
          parents: [...object.status?.parents ?? [], ...object.status?.ancestors ?? []]
            .filter((p: Raw) => p.controllerName !== controllerName),
          conditions: conditionsOfOthers(object),
        });
        assertEquals(theirs(after), theirs(before), "what belongs to others stays, in its order");
        foreign += theirs(before).parents.length;
        removed += removedOwn(before, after);
        written++;
        assertStamped(after.status);
        newer += assertObserved(before, after);
        after.metadata.resourceVersion += "0";
        sourceOf(copy.world, kind!)!.set(write.key, after);
      }
      copy.graph.settle();
      assertEquals([...copy.due.entries()], [], `seed ${seed}`);
    });
  }
  assert(
    written > 1000 && foreign > 500 && removed > 100 && newer > 100,
    `${written} writes, ${foreign}, ${removed}, ${newer}: too dull`,
  );
});

/**
 * Every condition of ours is of the generation that was written for, but for those that were observed at a newer one: they
 * stay as they were. Returns how many these are.
 */
function assertObserved(before: Raw, after: Raw): number {
  const { generation } = after.metadata, kept = new Set(conditionsIn(before).map((c) => JSON.stringify(c)));
  let newer = 0;
  for (const condition of conditionsIn(after)) {
    if (condition.observedGeneration === generation) continue;
    assert(condition.observedGeneration > generation, JSON.stringify(condition));
    assert(kept.has(JSON.stringify(condition)), `${JSON.stringify(condition)} is as it was`);
    newer++;
  }
  return newer;
}

/** The conditions of ours in the status of an object. */
function conditionsIn({ kind, status }: Raw): readonly Raw[] {
  return [...placed(kind, status ?? {})].flatMap(({ place, conditions, controllerName: controller }) =>
    controller === undefined || controller === controllerName
      ? conditions.filter(({ type }) => Object.hasOwn(vocabulary[place], type))
      : []
  );
}

function conditionsOfOthers({ status }: Raw): unknown {
  const others = (conditions: Raw[] = []) => conditions.filter(({ type }) => type === "example.com/Theirs");
  return others(status?.conditions);
}

function removedOwn(before: Raw, after: Raw): number {
  const own = ({ status }: Raw) =>
    (status?.parents ?? []).filter((p: Raw) => p.controllerName === controllerName).length;
  return Math.max(0, own(before) - own(after));
}

function assertStamped(value: unknown): void {
  for (const condition of JSON.stringify(value).match(/\{[^{}]*"reason"[^{}]*\}/g) ?? []) {
    assert(condition.includes('"lastTransitionTime":"2026-'), condition);
  }
}

Deno.test("translate: a status written elsewhere comes back and changes nothing but what is due", () => {
  let echoes = 0;
  for (const seed of seeds.slice(0, 10)) {
    history(seed, (batch, rnd) => {
      const { world, graph, ir, statuses } = batch;
      for (const kind of ["Gateway", "HTTPRoute"] as const) {
        const source = sourceOf(world, kind)!;
        for (const [key, object] of [...source.entries()].slice(0, 3)) {
          const resourceVersion = String(rnd.int(1_000_000_000));
          source.set(
            key,
            { ...object, metadata: { ...object.metadata, resourceVersion }, status: {} } as ApiObject,
          );
          echoes++;
        }
      }
      graph.settle();
      for (const table of [...Object.values(ir), statuses]) assertEquals([...table.changed], [], table.name);
    });
  }
  assert(echoes > 300);
});
