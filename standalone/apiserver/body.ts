/**
 * Reading the body of a request, as JSON or YAML, up to the size that kube-apiserver takes.
 *
 * @module
 */
import { parse } from "yaml";
import { checkDepth } from "./depth.ts";
import { decodeProtobuf, protobufType } from "./protobuf.ts";
import type { ServedRequest } from "./served_request.ts";
import { badRequest, tooLarge, unsupportedMediaType } from "./status.ts";

const limit = 3 * 1024 * 1024;

/**
 * @param options `text`: as it is, not parsed. `optional`: an empty body is `undefined`
 * @throws {ApiError} 400, 413 or 415
 */
export async function readBody(
  request: ServedRequest,
  options: { readonly text?: boolean; readonly optional?: boolean } = {},
): Promise<unknown> {
  const bytes = await readBytes(request);
  const type = (request.headers.get("content-type") ?? "").split(";")[0]!.trim();
  if (bytes.length === 0 && options.optional) return undefined;
  if (type === protobufType && !options.text) {
    try {
      return decodeProtobuf(bytes);
    } catch (error) {
      throw unsupportedMediaType((error as Error).message);
    }
  }
  const text = new TextDecoder().decode(bytes);
  if (options.text) return text;
  switch (type) {
    case "":
    case "application/json":
    case "application/x-www-form-urlencoded":
      return checkDepth(parsed(JSON.parse, text, "couldn't get version/kind; json parse error: "));
    case "application/yaml":
      return checkDepth(parsed(parse, text, "error converting YAML to JSON: yaml: "));
    default:
      throw unsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: application/json, " +
          "application/yaml",
      );
  }
}

function parsed(parse: (text: string) => unknown, text: string, failure: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw badRequest(failure + (error as Error).message);
  }
}

async function readBytes(request: ServedRequest): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > limit) throw tooLarge(`limit is ${limit}`);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
