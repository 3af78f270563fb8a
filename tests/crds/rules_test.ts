import { assertEquals } from "@std/assert";
import { gatewayKinds, type Kind, newest, releases, type Surface } from "../../crds/mod.ts";
import { openapi } from "../../crds/openapi.ts";
import { validate } from "../../crds/validate.ts";
import { objectOf, type RuleCase, ruleCases } from "./rules/mod.ts";
import { flatten } from "./upstream.ts";

/** Rules that no object can break: what they forbid is forbidden by the shape already. */
const unreachable = new Set(["HTTPRoute type must be one of ['Exact', 'PathPrefix', 'RegularExpression']"]);

const kindNamed = (name: string): Kind => gatewayKinds.find((kind) => kind.kind === name)!;

function reported(one: RuleCase, kind: Kind, parts: { readonly [field: string]: unknown }): string[] {
  const version = one.version ?? kind.versions[0].name;
  const options = { ...newest, ...one.surface, fieldValidation: "Strict" as const };
  const old = one.old ? { old: objectOf(kind, one.old, version) } : {};
  const { errors } = validate(kind, version, objectOf(kind, parts, version), { ...options, ...old });
  return errors.map((error) => `${error.field}: ${error.message}`);
}

for (const one of ruleCases) {
  const { channel, release } = { ...newest, ...one.surface };
  for (const name of one.kinds) {
    Deno.test(`${name} (${channel} ${release}) ${one.field}: ${one.message}`, () => {
      const kind = kindNamed(name);
      assertEquals(reported(one, kind, one.keeps), []);
      const told = reported(one, kind, one.breaks);
      const others = (one.also ?? []).filter((also) => told.some((text) => text.endsWith(also)));
      assertEquals(others, one.also ?? []);
      const rest = told.filter((text) => !others.some((also) => text.endsWith(also)));
      assertEquals(rest.length, 1, `${told}`);
      assertEquals(rest[0]!.startsWith(`${one.field}: Invalid value`), true, rest[0]!);
      assertEquals(rest[0]!.endsWith(`: ${one.message}`), true, rest[0]!);
    });
  }
}

Deno.test("every rule of every surface has a case", () => {
  const surfaces: Surface[] = releases.flatMap((release) => [
    { release, channel: "standard" },
    { release, channel: "experimental" },
  ]);
  const rules = new Set<string>();
  for (const kind of gatewayKinds) {
    for (const surface of surfaces) {
      for (const version of kind.versions) {
        for (const line of flatten(openapi(kind, version, surface, { allRules: true }))) {
          const [, message] = line.split(" rule ");
          if (message && / rule /.test(line)) {
            rules.add(`${kind.kind} ${line.slice(line.indexOf(" rule ") + 6)}`);
          }
        }
      }
    }
  }
  const covered = new Set(ruleCases.flatMap((one) => one.kinds.map((kind) => `${kind} ${one.message}`)));
  assertEquals([...rules].filter((rule) => !covered.has(rule)).sort(), [...unreachable]);
  assertEquals([...covered].filter((rule) => !rules.has(rule)), []);
});
