/**
 * Requests about objects: the verbs on a resource's path.
 *
 * @module
 */
import type { Context } from "hono";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { apiVersion } from "../../crds/kind.ts";
import { authorize, review } from "./access.ts";
import { readBody } from "./body.ts";
import { create } from "./create.ts";
import type { AppOptions, Env } from "./env.ts";
import { checkFields } from "./fields.ts";
import { page, stream } from "./list.ts";
import { readPatch } from "./patch.ts";
import { removeAll, removeOne } from "./removal.ts";
import { type Encoder, encoderOf, negotiate } from "./represent.ts";
import { deleteOptions, type ListOptions, listOptions, type ResourcePath, writeOptions } from "./request.ts";
import {
  ApiError,
  conflict,
  methodNotAllowed,
  modified,
  noSuchPath,
  notFound,
  tooManyRequests,
} from "./status.ts";
import type { Row } from "./store.ts";
import { keyOfTarget, subjectOf, type Target, type Written } from "./target.ts";
import { patch, update } from "./update.ts";
import { checkWatch, CutError, watch } from "./watch.ts";

const verbOf: { readonly [method: string]: readonly [one: string, many: string] } = {
  GET: ["get", "list"],
  HEAD: ["get", "list"],
  POST: ["", "create"],
  PUT: ["update", ""],
  PATCH: ["patch", ""],
  DELETE: ["delete", "deletecollection"],
};

/** Answers a request whose path may name a resource. */
export async function serveResource(
  c: Context<Env>,
  path: ResourcePath,
  options: AppOptions,
): Promise<Response> {
  const { resources } = options;
  const identity = c.env.identity!;
  const found = resources.at(path.groupVersion, path.plural);
  if (!found) {
    const asks = c.req.method === "POST" && path.name === undefined;
    const answer = asks && review(path.groupVersion, path.plural, identity, await readBody(c.req.raw));
    if (!answer) throw noSuchPath();
    return c.json(answer, 201);
  }
  const target = targetOf(found, path);
  const { resource, namespace, name, subresource } = target;
  const query = new URL(c.req.url).searchParams;
  const list = listOptions(query);
  const verb = verbFor(c.req.method, path, list);
  authorize(identity, {
    verb: verb || c.req.method.toLowerCase(),
    group: resource.group,
    resource: path.plural,
    subresource,
    namespace,
    name,
  });
  const nowhere = verb === "create" && resource.kind.namespaced && namespace === undefined;
  if (!resource.verbs.includes(verb) || nowhere) throw methodNotAllowed();
  if (subresource !== undefined && !["get", "update", "patch"].includes(verb)) throw methodNotAllowed();
  checkFields(resource, list.selector.fields);
  await suffer(options, target, verb);
  const deprecation = deprecationOf(target);
  try {
    const response = await answerTo(verb, { c, options, target, query, list });
    addWarnings(response.headers, deprecation);
    return response;
  } catch (error) {
    if (error instanceof ApiError) error.warnings.unshift(...deprecation);
    throw error;
  }
}

function deprecationOf({ resource: { kind }, version }: Target): readonly string[] {
  if (!version.deprecated) return [];
  const current = kind.versions.find(({ deprecated }) => !deprecated)!;
  return [
    `${apiVersion(kind, version.name)} ${kind.kind} is deprecated; use ${
      apiVersion(kind, current.name)
    } ${kind.kind}`,
  ];
}

/** Warnings as HTTP has them, which kubectl prints. */
export function addWarnings(headers: Headers, warnings: readonly string[]): void {
  for (const warning of warnings) headers.append("warning", `299 - ${JSON.stringify(warning)}`);
}

/** @throws {ApiError} 404 if there is no such thing */
function targetOf({ resource, version }: Pick<Target, "resource" | "version">, path: ResourcePath): Target {
  const { kind } = resource;
  const { namespace, name, subresource } = path;
  const misplaced = kind.namespaced ? name !== undefined && namespace === undefined : namespace !== undefined;
  if (misplaced) throw noSuchPath();
  const target = { resource, version, namespace, name };
  if (subresource === undefined) return { ...target, subresource };
  if (subresource === "status" && kind.hasStatus) return { ...target, subresource };
  if (subresource === "finalize" && resource.id === "namespaces") return { ...target, subresource };
  throw noSuchPath();
}

function verbFor(method: string, path: ResourcePath, list: ListOptions): string {
  const reads = method === "GET" || method === "HEAD";
  if (reads && (path.watch || list.watch && path.name === undefined)) return "watch";
  return verbOf[method]?.[path.name === undefined ? 1 : 0] ?? "";
}

/** Faults that come before the answer. */
async function suffer({ faults, clock, signal }: AppOptions, target: Target, verb: string): Promise<void> {
  const { id } = target.resource;
  const wait = faults.latency(id);
  if (wait > 0) await clock.sleep(wait, { signal });
  const retry = faults.throttles(id);
  if (retry !== undefined) throw tooManyRequests(retry);
  if (["update", "patch", "delete"].includes(verb) && faults.conflicts(id)) {
    throw conflict(subjectOf(target.resource), target.name!, modified);
  }
}

interface Asked {
  readonly c: Context<Env>;
  readonly options: AppOptions;
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly list: ListOptions;
}

async function answerTo(verb: string, asked: Asked): Promise<Response> {
  const { c, options, target, query, list } = asked;
  const { resource, version, namespace, name } = target;
  const form = negotiate(c.req.header("accept") ?? "", query);
  const encoder = encoderOf(resource, version, form, () => options.clock.now());
  const body = (how?: Parameters<typeof readBody>[1]) => readBody(c.req.raw, how);
  switch (verb) {
    case "get": {
      const row = readable(options, resource.id, keyOfTarget(target));
      if (!row) throw notFound(subjectOf(resource), name!);
      return json(encoder.one(row.object));
    }
    case "watch":
      return serveWatch(asked, encoder, form.as === "object" ? apiVersion(resource.kind, version.name) : "");
    case "list": {
      const found = page(options.store, resource.id, namespace, backdate(options, resource.id, list));
      return new Response(stream(found, encoder), { headers: { "content-type": "application/json" } });
    }
    case "create":
      return writtenResponse(
        encoder,
        await create(options, target, await body(), writeOptions(query, "CreateOptions")),
      );
    case "update":
      return writtenResponse(
        encoder,
        await update(options, target, await body(), writeOptions(query, "UpdateOptions")),
      );
    case "patch": {
      const type = (c.req.header("content-type") ?? "").split(";")[0]!.trim();
      const next = readPatch(type, await body({ text: true }) as string, resource.custom);
      return writtenResponse(
        encoder,
        await patch(options, target, next, writeOptions(query, "PatchOptions")),
      );
    }
    case "delete": {
      const wishes = deleteOptions(query, await body({ optional: true }));
      const removed = await removeOne(options, target, wishes);
      return json("status" in removed ? JSON.stringify(removed) : encoder.one(removed.object));
    }
    case "deletecollection": {
      const wishes = deleteOptions(query, await body({ optional: true }));
      const { rows, metadata } = page(options.store, resource.id, namespace, list);
      const removed = await removeAll(options, resource, rows, wishes);
      return new Response(stream({ rows: removed, metadata }, encoder), {
        headers: { "content-type": "application/json" },
      });
    }
    default:
      throw methodNotAllowed();
  }
}

function writtenResponse(encoder: Encoder, { code, object, row, warnings }: Written): Response {
  const headers = new Headers({ "content-type": "application/json" });
  addWarnings(headers, warnings);
  return whole(row && encoder.shared ? encoder.item(row) : encoder.one(object), { status: code, headers });
}

function json(text: string): Response {
  return whole(text, { headers: new Headers({ "content-type": "application/json" }) });
}

/** An answer whose length is known: it is sent with its head at once, and read in one go. */
function whole(
  text: string,
  { status = 200, headers }: { readonly status?: number; readonly headers: Headers },
) {
  const body = new TextEncoder().encode(text);
  headers.set("content-length", `${body.length}`);
  return new Response(body, { status, headers });
}

function readable({ store, faults }: AppOptions, resource: string, key: string): Row | undefined {
  const back = faults.staleness(resource);
  if (back === 0) return store.get(resource, key);
  const revision = Math.max(store.compacted, store.revision - back);
  return store.rowsAt(revision, resource).find((row) => row.key === key);
}

/** Options that make a list answer with an old state, if a fault wants it. */
function backdate({ store, faults }: AppOptions, resource: string, list: ListOptions): ListOptions {
  const back = list.continue === "" ? faults.staleness(resource) : 0;
  const revision = Math.max(store.compacted, store.revision - back);
  return back === 0 || revision === 0 ? list : { ...list, resourceVersion: String(revision), match: "Exact" };
}

/** With one name alone, if the path has one: the old form of watching an object. */
function selectorOf({ target: { name }, list: { selector } }: Asked): ListOptions["selector"] {
  if (name === undefined) return selector;
  return {
    ...selector,
    everything: false,
    matches: (object) => object.metadata.name === name && selector.matches(object),
  };
}

function serveWatch(asked: Asked, encoder: Encoder, version: string): Response {
  const { c, options: { store, clock, faults, signal }, target } = asked;
  const options = { ...asked.list, selector: selectorOf(asked) };
  checkWatch(store, options);
  const closed = new AbortController();
  const until = linkSignals(signal, c.req.raw.signal, closed.signal);
  const events = watch(
    { store, clock, faults },
    { resource: target.resource.id, namespace: target.namespace, encoder, version, options },
    until.signal,
  );
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await events.next();
        if (done) {
          until[Symbol.dispose]();
          return controller.close();
        }
        for (const bytes of value) controller.enqueue(bytes);
      } catch (error) {
        until[Symbol.dispose]();
        if (error instanceof CutError) controller.enqueue(new TextEncoder().encode('{"type":"MODI'));
        controller.error(error);
      }
    },
    async cancel(reason) {
      closed.abort(reason);
      await events.return();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}
