/**
 * Every condition and every reason that Gateway API names is one that some golden comes to, or there is a reason why not.
 * Goldens come to no others.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { hasGo, moduleFolder } from "../crds/upstream.ts";
import { namesAt, oddities, type Place, placed, short, words } from "../support/vocabulary.ts";
import { controllerName } from "../translate/random_objects.ts";

/** The prefixes of the constants' types, with the places that they are for. */
const families: { readonly [family: string]: Place } = {
  GatewayClass: "GatewayClass",
  Gateway: "Gateway",
  Listener: "Gateway listener",
  ListenerSet: "ListenerSet",
  ListenerEntry: "ListenerSet listener",
  Route: "Route",
  Policy: "BackendTLSPolicy",
};

const reserved = "it is reserved for future use";
const deprecated = "it is deprecated, its successor is used";

/** The constants that are not used. */
const unused: { readonly [place in Place]?: { readonly [word: string]: string } } = {
  GatewayClass: { Unsupported: "users can make classes of ours", Waiting: deprecated },
  Gateway: {
    Scheduled: deprecated,
    NotReconciled: deprecated,
    Ready: reserved,
    ListenersNotReady: reserved,
  },
  "Gateway listener": { Detached: deprecated, Attached: deprecated, Ready: reserved },
  "ListenerSet listener": { Ready: reserved },
};

/** What we say besides the constants of a place. */
const added: { readonly [place in Place]?: readonly string[] } = {
  // Named where the conditions are explained, but with no constants.
  ListenerSet: ["ParentNotProgrammed"],
  // The listeners of both kinds of owners are told of alike.
  "ListenerSet listener": [
    "NoConflicts",
    "NoValidCACertificate",
    "UnsupportedValue",
    "InvalidCACertificateKind",
    "InvalidCACertificateRef",
    "OverlappingTLSConfig",
    "OverlappingCertificates",
    "OverlappingHostnames",
  ],
  // Not every kind has Programmed yet; who waits for a route or a policy to take effect needs it.
  Route: ["Programmed", "Invalid"],
  BackendTLSPolicy: ["Programmed", "Pending"],
};

/** What no golden comes to, with the test that does. */
const elsewhere: { readonly [word: string]: string } = {
  "GatewayClass SupportedVersion Unknown Pending": "tests/translate/features_test.ts",
};

/** The conditions of ours in all goldens. */
function* reached() {
  const folder = new URL(".", import.meta.url);
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (!isDirectory) continue;
    const statuses = parse(Deno.readTextFileSync(new URL(`${name}/status.yaml`, folder))) ?? {};
    for (const [key, status] of Object.entries<Parameters<typeof placed>[1]>(statuses)) {
      for (const { place, conditions, controllerName: controller } of placed(key.split("/", 1)[0]!, status)) {
        if (controller !== undefined && controller !== controllerName) continue;
        // Others may put conditions of theirs beside ours.
        yield { name, place, conditions: conditions.filter(({ type }) => !type.includes("/")) };
      }
    }
  }
}

Deno.test("golden: statuses have the conditions that they must have, and no unknown ones", () => {
  const odd: string[] = [];
  for (const { name, place, conditions } of reached()) {
    odd.push(...oddities(place, conditions).map((oddity) => `${name}: ${oddity}`));
  }
  assertEquals(odd, []);
});

Deno.test("golden: each condition is reached with each reason", async () => {
  const found = new Set<string>();
  for (const { place, conditions } of reached()) for (const c of conditions) found.add(short(place, c));
  assertEquals([...words].filter((word) => !found.has(word) && !Object.hasOwn(elsewhere, word)), []);
  for (const [word, file] of Object.entries(elsewhere)) {
    assert(words.has(word) && !found.has(word), word);
    const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    assert(text.includes(word.split(" ").slice(1).join(" ")), `${file} has nothing of ${word}`);
  }
});

for (const version of ["v1.6.3", "v1.7.0"]) {
  Deno.test({
    name: `golden: conditions and reasons are those of the Go module, ${version}`,
    ignore: !hasGo(),
    async fn() {
      const named = await constants(`${await moduleFolder(version)}/apis/v1`);
      for (const [family, place] of Object.entries(families)) {
        const ours = namesAt(place);
        const theirs = named.get(family)!, without = unused[place] ?? {}, besides = added[place] ?? [];
        const left = (words: Iterable<string>, known: { has(word: string): boolean }) =>
          [...words].filter((word) => !known.has(word));
        assertEquals(left(theirs, ours).filter((word) => !Object.hasOwn(without, word)), [], `${place} lacks`);
        assertEquals(Object.keys(without).filter((word) => ours.has(word)), [], `${place} uses after all`);
        if (version !== "v1.7.0") continue;
        assertEquals(left(ours, theirs).filter((word) => !besides.includes(word)), [], `${place} adds`);
        assertEquals(left(Object.keys(without), theirs), [], `${place} has no such constant`);
        assertEquals(besides.filter((word) => theirs.has(word)), [], `${place} has constants for`);
      }
    },
  });
}

/** The condition types and reasons that the sources name, by the prefix of the constants' types. */
async function constants(folder: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const named = new Map<string, Set<string>>();
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith("_types.go")) continue;
    const text = await Deno.readTextFile(`${folder}/${name}`);
    for (const [, family, word] of text.matchAll(/^\s*\w+\s+(\w+)Condition(?:Type|Reason)\s*=\s*"(\w+)"/gm)) {
      named.set(family!, (named.get(family!) ?? new Set()).add(word!));
    }
  }
  assertEquals([...named.keys()].filter((family) => !Object.hasOwn(families, family)), []);
  return named;
}
