/**
 * Reading the body of a request, as JSON or YAML, up to the size that kube-apiserver takes.
 *
 * @module
 */
import { parse } from "yaml";
import { badRequest, tooLarge, unsupportedMediaType } from "./status.ts";

const limit = 3 * 1024 * 1024;

/**
 * @param options `text`: as it is, not parsed. `optional`: an empty body is `undefined`
 * @throws {ApiError} 400, 413 or 415
 */
export async function readBody(
  request: Request,
  options: { readonly text?: boolean; readonly optional?: boolean } = {},
): Promise<unknown> {
  const text = await readText(request);
  if (options.text) return text;
  if (text === "" && options.optional) return undefined;
  const type = (request.headers.get("content-type") ?? "").split(";")[0]!.trim();
  switch (type) {
    case "":
    case "application/json":
    case "application/x-www-form-urlencoded":
      try {
        return JSON.parse(text);
      } catch (error) {
        throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
      }
    case "application/yaml":
      try {
        return parse(text);
      } catch (error) {
        throw badRequest(`error converting YAML to JSON: yaml: ${(error as Error).message}`);
      }
    default:
      throw unsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: application/json, " +
          "application/yaml",
      );
  }
}

async function readText(request: Request): Promise<string> {
  if (!request.body) return "";
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
  return new TextDecoder().decode(bytes);
}
