/**
 * OpenAPI v2 in the only form in which kubectl asks for it: protobuf (`openapi.v2.Document` of gnostic).
 *
 * kubectl 1.32 needs it for kinds that no v3 document knows, to say so; older ones check fields by it.
 *
 * @module
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { stringify } from "yaml";

type Json = Readonly<Record<string, unknown>>;
type Part = (writer: BinaryWriter) => void;

export const openApiV2Type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Encodes the parts of a document that are used here: info and definitions. */
export function encodeOpenApiV2(document: Json): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  const info = document["info"] as { readonly title: string; readonly version: string };
  text(writer, 1, document["swagger"]);
  message(writer, 2, (inner) => {
    text(inner, 1, info.title);
    text(inner, 2, info.version);
  });
  message(writer, 8, () => {});
  message(writer, 9, (inner) => schemas(inner, document["definitions"] as Json));
  return writer.finish() as Uint8Array<ArrayBuffer>;
}

function text(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === "string" && value !== "") writer.tag(field, WireType.LengthDelimited).string(value);
}

function message(writer: BinaryWriter, field: number, write: Part): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

/** Named schemas: of definitions, and of properties. */
function schemas(writer: BinaryWriter, named: Json): void {
  for (const [name, value] of Object.entries(named)) {
    message(writer, 1, (inner) => {
      text(inner, 1, name);
      message(inner, 2, (schema) => writeSchema(schema, value as Json));
    });
  }
}

function writeSchema(writer: BinaryWriter, schema: Json): void {
  text(writer, 1, schema["$ref"]);
  text(writer, 2, schema["format"]);
  text(writer, 4, schema["description"]);
  for (const name of schema["required"] as readonly string[] ?? []) text(writer, 19, name);
  const additional = schema["additionalProperties"];
  if (additional !== undefined) {
    message(writer, 21, (inner) => message(inner, 1, (value) => writeSchema(value, additional as Json)));
  }
  const type = schema["type"];
  if (type !== undefined) message(writer, 22, (inner) => text(inner, 1, type));
  const items = schema["items"];
  if (items !== undefined) {
    message(writer, 23, (inner) => message(inner, 1, (value) => writeSchema(value, items as Json)));
  }
  for (const part of schema["allOf"] as readonly Json[] ?? []) {
    message(writer, 24, (inner) => writeSchema(inner, part));
  }
  const properties = schema["properties"];
  if (properties !== undefined) message(writer, 25, (inner) => schemas(inner, properties as Json));
  for (const [name, value] of Object.entries(schema)) {
    if (!name.startsWith("x-kubernetes-") || name === "x-kubernetes-validations") continue;
    message(writer, 31, (inner) => {
      text(inner, 1, name);
      message(inner, 2, (any) => text(any, 2, stringify(value)));
    });
  }
}
