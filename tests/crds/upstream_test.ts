import { assert, assertEquals } from "@std/assert";
import { gatewayKinds, type Kind, releases } from "../../crds/mod.ts";
import { openapi } from "../../crds/openapi.ts";
import type { Surface } from "../../crds/schema/surface.ts";
import { flatten, hasGo, moduleFolder, type UpstreamCrd, upstreamCrds } from "./upstream.ts";

const versions = { "1.6": "v1.6.3", "1.7": "v1.7.0" } as const;
const ignore = !hasGo();

function difference(kind: Kind, crd: UpstreamCrd, surface: Surface): string[] {
  const wrong: string[] = [];
  const expect = (what: string, ours: unknown, theirs: unknown): void => {
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
      wrong.push(`${what}: ours ${JSON.stringify(ours)}, upstream's ${JSON.stringify(theirs)}`);
    }
  };
  const { names, scope } = crd.spec;
  expect("names", [kind.listKind, kind.plural, kind.singular, kind.shortNames, kind.categories], [
    names.listKind,
    names.plural,
    names.singular,
    names.shortNames ?? [],
    names.categories ?? [],
  ]);
  expect("scope", kind.namespaced, scope === "Namespaced");
  for (const theirs of crd.spec.versions) {
    const ours = kind.versions.find((one) => one.name === theirs.name);
    const served = ours !== undefined && (ours.channel === "standard" || surface.channel === "experimental");
    expect(`${theirs.name} served`, served, theirs.served);
    if (!served) continue;
    expect(`${theirs.name} storage`, ours.storage, theirs.storage);
    expect(`${theirs.name} deprecated`, ours.deprecated ?? false, theirs.deprecated ?? false);
    expect(`${theirs.name} status`, kind.hasStatus, theirs.subresources?.status !== undefined);
    const column = ({ name, jsonPath }: { readonly name: string; readonly jsonPath: string }) =>
      `${name} ${jsonPath}`;
    expect(
      `${theirs.name} columns`,
      ours.columns.map(column),
      (theirs.additionalPrinterColumns ?? []).map(column),
    );
    const mine = flatten(openapi(kind, ours, surface, { allRules: true }));
    const upstream = flatten(theirs.schema.openAPIV3Schema);
    for (const line of mine) if (!upstream.has(line)) wrong.push(`${theirs.name} only ours: ${line}`);
    for (const line of upstream) if (!mine.has(line)) wrong.push(`${theirs.name} only upstream's: ${line}`);
  }
  return wrong;
}

for (const release of releases) {
  for (const channel of ["standard", "experimental"] as const) {
    Deno.test({
      name: `the model is what Gateway API ${versions[release]} has in its ${channel} channel`,
      ignore,
      async fn(t) {
        const crds = await upstreamCrds(await moduleFolder(versions[release]), channel);
        assertEquals(
          crds.map((crd) => crd.spec.names.kind).sort(),
          gatewayKinds.map((kind) => kind.kind).sort(),
        );
        for (const kind of gatewayKinds) {
          await t.step(kind.kind, () => {
            const crd = crds.find((one) => one.spec.names.kind === kind.kind)!;
            assertEquals(difference(kind, crd, { channel, release }), []);
          });
        }
      },
    });
  }
}

Deno.test({
  name: "a model of another surface is told from upstream's",
  ignore,
  async fn() {
    const crds = await upstreamCrds(await moduleFolder("v1.7.0"), "standard");
    const kind = gatewayKinds.find((one) => one.kind === "HTTPRoute")!;
    const crd = crds.find((one) => one.spec.names.kind === "HTTPRoute")!;
    const wrong = difference(kind, crd, { channel: "experimental", release: "1.7" });
    assert(
      wrong.includes('v1 only ours: .spec.rules[].sessionPersistence.type enum ["Cookie","Header"]'),
      `${wrong}`,
    );
  },
});
