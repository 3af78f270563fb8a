/**
 * The HTTP face of the API server, as a hono app: `app.request()` is all that a test needs.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { apiVersion } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { authorize, type Identity, review } from "./access.ts";
import { readBody } from "./body.ts";
import { discovery } from "./discovery.ts";
import type { Faults } from "./faults.ts";
import { checkFields } from "./fields.ts";
import { page, stream } from "./list.ts";
import { openApi } from "./openapi.ts";
import { encodeOpenApiV2, openApiV2Type } from "./openapi_v2.ts";
import { readPatch } from "./patch.ts";
import { encoderOf, negotiate } from "./represent.ts";
import {
  deleteOptions,
  type ListOptions,
  listOptions,
  parsePath,
  type ResourcePath,
  writeOptions,
} from "./request.ts";
import type { Resources } from "./resources.ts";
import {
  ApiError,
  conflict,
  internal,
  methodNotAllowed,
  modified,
  noSuchPath,
  notFound,
  type Status,
  tooManyRequests,
  unauthorized,
} from "./status.ts";
import type { Row, Store } from "./store.ts";
import { checkWatch, CutError, watch } from "./watch.ts";
import {
  create,
  keyOfTarget,
  patch,
  removeAll,
  removeOne,
  subjectOf,
  type Target,
  update,
  type Written,
} from "./write.ts";

export interface AppOptions {
  readonly store: Store;
  readonly resources: Resources;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
  /** Ends all watches. */
  readonly signal: AbortSignal;
}

/** What the transport knows of a request. */
export interface Bindings {
  /** Absent if the client showed no certificate of ours. */
  readonly identity?: Identity;
}

export type Env = { Bindings: Bindings };

/** The version of Kubernetes whose API is spoken. */
const version = {
  major: "1",
  minor: "32",
  gitVersion: "v1.32.0+gatehouse",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "deno",
  platform: "any",
};

const verbOf: { readonly [method: string]: readonly [one: string, many: string] } = {
  GET: ["get", "list"],
  HEAD: ["get", "list"],
  POST: ["", "create"],
  PUT: ["update", ""],
  PATCH: ["patch", ""],
  DELETE: ["delete", "deletecollection"],
};

export function createApp(options: AppOptions): Hono<Env> {
  const { resources, log } = options;
  const discover = discovery(resources);
  const documents = openApi(resources);
  const app = new Hono<Env>();

  app.onError((error, c) => {
    if (error instanceof ApiError) return statusResponse(error.status);
    log.error("request failed", { method: c.req.method, path: c.req.path, error });
    return statusResponse(internal(error.message).status);
  });
  app.notFound(() => statusResponse(noSuchPath().status));

  for (const path of ["/healthz", "/livez", "/readyz"]) app.get(path, (c) => c.text("ok"));
  app.get("/version", (c) => c.json(version));
  app.use(async (c, next) => {
    if (!c.env?.identity) throw unauthorized();
    await next();
  });
  app.get("/openapi/v3", (c) =>
    c.json({
      paths: Object.fromEntries(
        documents.paths.map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }]),
      ),
    }));
  app.get("/openapi/v3/*", (c) => {
    const document = documents.v3(c.req.path.slice("/openapi/v3/".length));
    if (!document) throw noSuchPath();
    return c.json(document);
  });
  app.get("/openapi/v2", (c) => {
    const accept = c.req.header("accept") ?? "";
    if (!accept.includes("proto-openapi.spec.v2")) return c.json(documents.v2());
    return c.body(encodeOpenApiV2(documents.v2()), 200, { "content-type": openApiV2Type });
  });

  const serve = async (c: Context<Env>): Promise<Response> => {
    const found = c.req.method === "GET" &&
      discover.at(c.req.path.replace(/\/$/, ""), c.req.header("accept") ?? "");
    if (found) {
      return c.body(JSON.stringify(found.body), 200, { "content-type": found.contentType, vary: "Accept" });
    }
    const path = parsePath(c.req.path);
    if (!path) throw noSuchPath();
    return await serveResource(c, path, options);
  };
  app.all("/api", serve);
  app.all("/api/*", serve);
  app.all("/apis", serve);
  app.all("/apis/*", serve);
  return app;
}

async function serveResource(c: Context<Env>, path: ResourcePath, options: AppOptions): Promise<Response> {
  const { resources, faults, clock } = options;
  const identity = c.env.identity!;
  const found = resources.at(path.groupVersion, path.plural);
  if (!found) {
    if (c.req.method === "POST" && path.name === undefined) {
      const answer = review(path.groupVersion, path.plural, identity, await readBody(c.req.raw));
      if (answer) return c.json(answer, 201);
    }
    throw noSuchPath();
  }
  const { resource, version } = found;
  const { kind } = resource;
  const { namespace, name, subresource } = path;
  if (kind.namespaced ? name !== undefined && namespace === undefined : namespace !== undefined) {
    throw noSuchPath();
  }
  if (subresource !== undefined) {
    const served = subresource === "status"
      ? kind.hasStatus
      : subresource === "finalize" && resource.id === "namespaces";
    if (!served) throw noSuchPath();
  }
  const target: Target = {
    resource,
    version,
    namespace,
    name,
    subresource: subresource as Target["subresource"],
  };
  const query = new URL(c.req.url).searchParams;
  const list = listOptions(query);
  checkFields(resource, list.selector.fields);
  const watching = path.watch || (list.watch && ["GET", "HEAD"].includes(c.req.method));
  const verb = watching ? "watch" : verbOf[c.req.method]?.[name === undefined ? 1 : 0] ?? "";
  authorize(identity, {
    verb: verb || c.req.method.toLowerCase(),
    group: resource.group,
    resource: path.plural,
    subresource,
    namespace,
    name,
  });
  if (!resource.verbs.includes(verb) || (verb === "create" && kind.namespaced && namespace === undefined)) {
    throw methodNotAllowed();
  }
  if (subresource !== undefined && !["get", "update", "patch"].includes(verb)) throw methodNotAllowed();

  const wait = faults.latency(resource.id);
  if (wait > 0) await clock.sleep(wait, { signal: options.signal });
  const retry = faults.throttles(resource.id);
  if (retry !== undefined) throw tooManyRequests(retry);
  if (["update", "patch", "delete"].includes(verb) && faults.conflicts(resource.id)) {
    throw conflict(subjectOf(resource), name!, modified);
  }

  const form = negotiate(c.req.header("accept") ?? "", query);
  const encoder = encoderOf(resource, version, form, () => clock.now());
  const answer = (written: Written): Response => {
    const headers = new Headers({ "content-type": "application/json" });
    for (const warning of written.warnings) headers.append("warning", `299 - ${JSON.stringify(warning)}`);
    return new Response(encoder.one(written.object), { status: written.code, headers });
  };
  switch (verb) {
    case "get": {
      const row = readable(options, resource.id, keyOfTarget(target));
      if (!row) throw notFound(subjectOf(resource), name!);
      return json(encoder.one(row.object));
    }
    case "watch": {
      const wanted = name === undefined ? list : { ...list, selector: { ...named(list, name), name } };
      return serveWatch(
        c,
        options,
        target,
        encoder,
        wanted,
        form.as === "object" ? apiVersion(kind, version.name) : "",
      );
    }
    case "list": {
      const found = page(options.store, resource.id, namespace, backdate(options, resource.id, list));
      return new Response(stream(found, encoder), { headers: { "content-type": "application/json" } });
    }
    case "create":
      return answer(await create(options, target, await readBody(c.req.raw), writeOptions(query)));
    case "update":
      return answer(await update(options, target, await readBody(c.req.raw), writeOptions(query)));
    case "patch": {
      const type = (c.req.header("content-type") ?? "").split(";")[0]!.trim();
      const next = readPatch(type, await readBody(c.req.raw, { text: true }) as string, resource.custom);
      return answer(await patch(options, target, next, writeOptions(query)));
    }
    case "delete": {
      const removed = await removeOne(
        options,
        target,
        deleteOptions(query, await readBody(c.req.raw, { optional: true })),
      );
      return "status" in removed && removed.kind === "Status"
        ? json(JSON.stringify(removed))
        : json(encoder.one(removed as Row["object"]));
    }
    case "deletecollection": {
      const wishes = deleteOptions(query, await readBody(c.req.raw, { optional: true }));
      const { rows, metadata } = page(options.store, resource.id, namespace, list);
      const removed = await removeAll(options, resource, rows, wishes);
      const { head, tail } = encoder.list(metadata);
      return json(head + removed.map((object) => encoder.one(object)).join(",") + tail);
    }
    default:
      throw methodNotAllowed();
  }
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

function statusResponse(status: Status): Response {
  const headers = new Headers({ "content-type": "application/json" });
  const retry = status.details?.retryAfterSeconds;
  if (retry !== undefined) headers.set("retry-after", String(retry));
  return new Response(JSON.stringify(status), { status: status.code, headers });
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

/** The old form of watching one object: by its path. */
function named(list: ListOptions, name: string): ListOptions["selector"] {
  const { selector } = list;
  return {
    ...selector,
    everything: false,
    matches: (object) => object.metadata.name === name && selector.matches(object),
  };
}

function serveWatch(
  c: Context<Env>,
  { store, clock, faults, signal }: AppOptions,
  target: Target,
  encoder: ReturnType<typeof encoderOf>,
  list: ListOptions,
  version: string,
): Response {
  checkWatch(store, list);
  const closed = new AbortController();
  const ended = AbortSignal.any([signal, c.req.raw.signal, closed.signal]);
  const events = watch(
    { store, clock, faults },
    { resource: target.resource.id, namespace: target.namespace, encoder, version, options: list },
    ended,
  );
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await events.next();
        if (done) return controller.close();
        for (const bytes of value) controller.enqueue(bytes);
      } catch (error) {
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
