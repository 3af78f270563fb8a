/**
 * The tables say what Envoy's own descriptors say.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { readdirSync } from "node:fs";
import type { AnyMessage, Field } from "../../../xds/wire/mod.ts";
import { descriptorsIn, envoyRegistry } from "./descriptors.ts";
import { enumerations, messages } from "./tables.ts";

const registry = await envoyRegistry();

/** A field as a table has to have it. */
function expected(field: DescField): string {
  const scalar = (type: ScalarType) => ScalarType[type]!.toLowerCase();
  switch (field.fieldKind) {
    case "message":
      return `field ${field.message.typeName} = ${field.number}`;
    case "enum":
      return `field ${field.enum.typeName} = ${field.number}`;
    case "scalar":
      return `field ${scalar(field.scalar)} = ${field.number}`;
    case "list":
      return `repeated ${
        field.listKind === "message"
          ? field.message.typeName
          : field.listKind === "enum"
          ? field.enum.typeName
          : scalar(field.scalar)
      } = ${field.number}`;
    case "map": {
      assertEquals(field.mapKey, ScalarType.STRING, `keys of ${field.name}`);
      const value = field.mapKind === "message"
        ? field.message.typeName
        : field.mapKind === "enum"
        ? field.enum.typeName
        : scalar(field.scalar);
      return `map ${value} = ${field.number}`;
    }
  }
}

/** What a table says differently from the descriptor. */
function differences(table: AnyMessage): readonly string[] {
  const descriptor = registry.getMessage(table.name);
  if (!descriptor) return [`${table.name}: there is no such message`];
  const oneofs = new Map<string, string[]>();
  const wrong = Object.keys(table.fields).flatMap((name) => {
    const field: Field<unknown> = table.fields[name];
    const found = descriptor.fields.find((one) => one.name === name);
    if (!found) return [`${table.name}.${name}: there is no such field`];
    if (found.oneof) oneofs.set(found.oneof.name, [...oneofs.get(found.oneof.name) ?? [], name]);
    const said = `${field.kind} ${field.type.name} = ${field.number}`, meant = expected(found);
    return said === meant ? [] : [`${table.name}.${name}: "${said}" is "${meant}"`];
  });
  const groups = (all: Iterable<readonly string[]>) =>
    [...all].map((one) => one.toSorted().join()).sort().join("; ");
  const meant = groups([...oneofs.values()].filter((names) => names.length > 1));
  const said = groups(table.oneofs as readonly (readonly string[])[]);
  return said === meant ? wrong : [...wrong, `${table.name}: oneofs "${said}" are "${meant}"`];
}

Deno.test("every message of the tables is as in Envoy's descriptors", () => {
  assertEquals(messages.flatMap(differences), []);
  const fields = messages.reduce((sum, { fields }) => sum + Object.keys(fields).length, 0);
  assert(messages.length > 80 && fields > 300, `${messages.length} messages, ${fields} fields`);
});

Deno.test("every enum value is as in Envoy's descriptors", () => {
  for (const { name, numbers } of enumerations) {
    const values = registry.getEnum(name)?.values ?? [];
    const known = Object.fromEntries(values.map(({ name, number }) => [name, number]));
    for (const [value, number] of Object.entries(numbers)) {
      assertEquals(number, known[value], `${name}.${value}`);
    }
  }
});

Deno.test("a wrong table is noticed", () => {
  const [cluster] = messages.filter(({ name }) => name === "envoy.config.cluster.v3.Cluster");
  const broken = (fields: object, oneofs = cluster!.oneofs): AnyMessage => ({ ...cluster!, fields, oneofs });
  const { name, ...others } = cluster!.fields;
  assertEquals(differences(broken({ ...others, name: { ...name, number: 2 } })).length, 1);
  assertEquals(differences(broken({ ...others, nome: name })).length, 1);
  assertEquals(differences(broken({ ...others, name: others.type })).length, 1);
  assertEquals(differences(broken(cluster!.fields, [["name", "type"]])).length, 1);
});

Deno.test("all tables are looked at, and executables without descriptors have none", () => {
  const folder = new URL("../../../xds/wire/envoy/", import.meta.url);
  assertEquals(readdirSync(folder).length, 10);
  assertEquals(descriptorsIn(new TextEncoder().encode("a/b.proto and x.proto")).size, 0);
});
