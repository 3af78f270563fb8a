/**
 * Every rule of Gateway API, kept and broken, random variations of those objects, and the core kinds' valid and invalid
 * objects.
 *
 * @module
 */
import { apiVersion, gatewayKinds, type Kind } from "../../../crds/mod.ts";
import { pathOf } from "../../../kube/paths.ts";
import { coreCases, coreObject } from "../../crds/rules/core.ts";
import { objectOf, type RuleCase, ruleCases } from "../../crds/rules/mod.ts";
import { variation } from "../../crds/variations.ts";
import { random } from "../../support/random.ts";
import type { Scenario } from "./scenario.ts";
import type { Json } from "./side.ts";

/** Cases of the newest release's experimental channel, which is what both servers have. */
const cases = ruleCases.filter(({ surface = {} }) =>
  surface.channel !== "standard" && surface.release !== "1.6"
);

interface Judged {
  readonly kind: Kind;
  readonly version: string;
  readonly object: Json;
  readonly old?: Json;
}

function judged(one: RuleCase, name: string): Judged[] {
  const kind = gatewayKinds.find((kind) => kind.kind === name)!;
  const version = one.version ?? kind.versions[0].name;
  const old = one.old ? { old: objectOf(kind, one.old, version) } : {};
  return [one.keeps, one.breaks].map((parts) => ({
    kind,
    version,
    object: objectOf(kind, parts, version),
    ...old,
  }));
}

async function judge({ kind, version, object, old }: Judged, api: Parameters<Scenario["run"]>[0]) {
  const path = pathOf(kind, { version, ...kind.namespaced && { namespace: "NS" } });
  if (old === undefined && object.status === undefined) {
    await api.call("POST", `${path}?dryRun=All`, { body: object });
    return;
  }
  const { status: _, ...first } = old ?? object;
  const { status, body } = await api.quietly("POST", path, { body: first });
  if (status === 201) {
    const at = `${path}/x${object.status === undefined ? "" : "/status"}`;
    await api.call("PUT", at, { body: { ...object, metadata: body.metadata } });
    await api.quietly("DELETE", `${path}/x`);
  } else api.entries.push({ request: `POST ${path} ${JSON.stringify(first)}`, answer: { status, body } });
}

const perKind: readonly Scenario[] = gatewayKinds.map((kind) => ({
  name: `${kind.kind}: each rule, kept and broken`,
  async run(api) {
    for (const one of cases) {
      if (!one.kinds.includes(kind.kind)) continue;
      for (const each of judged(one, kind.kind)) await judge(each, api);
    }
  },
}));

const varied: Scenario = {
  name: "random variations of objects",
  async run(api) {
    const choices = random(20261130), next = () => choices.int(1 << 30) / (1 << 30);
    const all = cases.flatMap((one) => one.kinds.flatMap((name) => judged(one, name)))
      .filter(({ old, object }) => old === undefined && object.status === undefined);
    for (let i = 0; i < 300; i++) {
      const one = all[choices.int(all.length)]!;
      await judge({ ...one, object: variation(one.object, next) }, api);
    }
  },
};

/** Of the core kinds, each object of the typed model's table once. */
const core: readonly Scenario[] = [...new Set(coreCases.map(({ kind }) => kind))].map((kind) => ({
  name: `${kind.kind} of ${apiVersion(kind)}: each object, valid and invalid`,
  async run(api) {
    const objects = coreCases.filter((one) => one.kind === kind)
      .flatMap(({ keeps, breaks }) => [keeps, breaks].map((body) => coreObject(kind, body)));
    // Events have to be in the namespace of what they are about.
    const namespace = kind.kind === "Event" ? "default" : "NS";
    const path = pathOf(kind, { version: "v1", ...kind.namespaced && { namespace } });
    for (const body of new Map(objects.map((object) => [JSON.stringify(object), object])).values()) {
      await api.call("POST", `${path}?dryRun=All`, { body });
    }
  },
}));

export const rules: readonly Scenario[] = [...perKind, varied, ...core];
