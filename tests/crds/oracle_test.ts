/**
 * Compares our verdicts with those of kube-apiserver's own code, on every rule's cases and on random variations of
 * them. Building the oracle takes some minutes, so this runs only where it is given:
 *
 *     (cd tests/crds/oracle && go build -o /tmp/oracle .) && ORACLE=/tmp/oracle deno test -A tests/crds/oracle_test.ts
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type ApiObject, gatewayKinds, type Kind, newest, releases, type Surface } from "../../crds/mod.ts";
import { openapi } from "../../crds/openapi.ts";
import { validate } from "../../crds/validate.ts";
import { objectOf, ruleCases } from "./rules/mod.ts";
import { hasGo, moduleFolder } from "./upstream.ts";
import { variation } from "./variations.ts";

const oracle = Deno.env.get("ORACLE");
const ignore = !oracle || !hasGo();
const versions = { "1.6": "v1.6.3", "1.7": "v1.7.0" } as const;

interface Judged {
  readonly kind: Kind;
  readonly version: string;
  readonly surface: Surface;
  readonly object: ApiObject;
  readonly old?: ApiObject;
}

interface Answer {
  readonly errors: readonly string[];
  readonly unknown: readonly string[] | null;
  readonly object: unknown;
}

async function ask(requests: readonly unknown[]): Promise<Answer[]> {
  const child = new Deno.Command(oracle!, { stdin: "piped", stdout: "piped" }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  for (const request of requests) {
    await writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
  }
  await writer.close();
  const { stdout } = await output;
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line) as Answer);
}

async function judge(objects: readonly Judged[]): Promise<Answer[]> {
  const folders = { "1.6": await moduleFolder(versions["1.6"]), "1.7": await moduleFolder(versions["1.7"]) };
  return await ask(objects.map(({ kind, version, surface, object, old }) => ({
    File: `${folders[surface.release]}/config/crd/${surface.channel}/${kind.group}_${kind.plural}.yaml`,
    Version: version,
    Object: object,
    Old: old ?? null,
  })));
}

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(
    value,
    (_, inner) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
        : inner,
  );

function ours({ kind, version, surface, object, old }: Judged) {
  const judged = validate(kind, version, object, { ...surface, ...(old ? { old } : {}) });
  // Metadata are judged by other parts of kube-apiserver than the oracle has.
  return { ...judged, errors: judged.errors.filter((error) => !error.field.startsWith("metadata")) };
}

const cases: Judged[] = ruleCases.flatMap((one) =>
  one.kinds.flatMap((name) => {
    const kind = gatewayKinds.find((kind) => kind.kind === name)!;
    const version = one.version ?? kind.versions[0].name;
    const old = one.old ? { old: objectOf(kind, one.old, version) } : {};
    return [one.keeps, one.breaks].map((parts) => ({
      kind,
      version,
      surface: { ...newest, ...one.surface },
      object: objectOf(kind, parts, version),
      ...old,
    }));
  })
);

Deno.test({
  name: "kube-apiserver words the errors of all cases alike",
  ignore,
  async fn() {
    const answers = await judge(cases);
    for (const [i, one] of cases.entries()) {
      const told = ours(one).errors.map(({ field, message }) => `${field}: ${message}`);
      // A rule about two absent lists cannot be evaluated; there we say what the rule is about.
      const theirs = answers[i]!.errors.map((text) =>
        text.replace(/"object": no such key: \w+ evaluating rule: /, "")
      );
      assertEquals(told.sort(), theirs.sort());
    }
  },
});

Deno.test({
  name: "kube-apiserver accepts the same objects, with the same defaults and without the same fields",
  ignore,
  async fn() {
    const random = generator(20260101);
    const objects: Judged[] = Array.from({ length: 5000 }, () => {
      const one = cases[Math.floor(random() * cases.length)]!;
      const surface: Surface = random() < 0.5 ? one.surface : {
        release: releases[Math.floor(random() * releases.length)]!,
        channel: random() < 0.5 ? "standard" : "experimental",
      };
      const served = one.kind.versions.find(({ name }) => name === one.version)!.channel === "standard";
      return { ...one, surface: served ? surface : one.surface, object: variation(one.object, random) };
    });
    const answers = await judge(objects);
    const accepted = { both: 0 };
    for (const [i, one] of objects.entries()) {
      const [mine, theirs] = [ours(one), answers[i]!];
      const what = `${canonical(one.object)} ${canonical(one.surface)}\n${theirs.errors.join("\n")}`;
      assertEquals(mine.errors.map(({ message }) => message).length === 0, theirs.errors.length === 0, what);
      if (theirs.errors.length) continue;
      accepted.both++;
      assertEquals(canonical(mine.object), canonical(theirs.object), what);
      assertEquals([...mine.unknownFields].sort(), [...theirs.unknown ?? []].sort(), what);
    }
    assertEquals(accepted.both > 500 && accepted.both < 4500, true, `${accepted.both} of 5000 accepted`);
  },
});

Deno.test({
  name: "kube-apiserver takes definitions with our schemas",
  ignore,
  async fn() {
    const definitions = gatewayKinds.map((kind) => ({
      Definition: {
        metadata: { name: `${kind.plural}.gatehouse.example`, annotations: {} },
        spec: {
          group: "gatehouse.example",
          names: { plural: kind.plural, singular: kind.singular, kind: kind.kind, listKind: kind.listKind },
          scope: kind.namespaced ? "Namespaced" : "Cluster",
          versions: kind.versions.map((version) => ({
            name: version.name,
            served: true,
            storage: version.storage,
            schema: { openAPIV3Schema: openapi(kind, version, newest, { forCrd: true }) },
          })),
        },
        status: { storedVersions: [kind.versions[0].name] },
      },
    }));
    for (const [i, { errors }] of (await ask(definitions)).entries()) {
      assertEquals(errors, [], gatewayKinds[i]!.kind);
    }
  },
});

/** Mulberry32: numbers from 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
