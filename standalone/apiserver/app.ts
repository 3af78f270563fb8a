/**
 * The HTTP face of the API server, as a hono app: `app.request()` is all that a test needs.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { discovery } from "./discovery.ts";
import type { AppOptions, Env } from "./env.ts";
import { faultsRoute } from "./faults_route.ts";
import { openApi } from "./openapi.ts";
import { encodeOpenApiV2, openApiV2Type } from "./openapi_v2.ts";
import { parsePath } from "./request.ts";
import { addWarnings, serveResource } from "./resource_route.ts";
import { ApiError, internal, noSuchPath, unauthorized } from "./status.ts";

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

export function createApp(options: AppOptions): Hono<Env> {
  const { resources, log } = options;
  const discover = discovery(resources);
  const documents = openApi(resources);
  const app = new Hono<Env>();

  app.onError((error, c) => {
    if (error instanceof ApiError) return statusResponse(error);
    // A client that goes away in the middle of its request is no fault of ours.
    const level = c.req.raw.signal.aborted ? "debug" : "error";
    log[level]("request failed", { method: c.req.method, path: c.req.path, error });
    return statusResponse(internal(error.message));
  });
  app.notFound(() => statusResponse(noSuchPath()));

  for (const path of ["/healthz", "/livez", "/readyz"]) app.get(path, (c) => c.text("ok"));
  app.get("/version", (c) => c.json(version));
  app.use(async (c, next) => {
    if (!c.env?.identity) throw unauthorized();
    await next();
  });
  if (options.debug) app.route("/debug/faults", faultsRoute(options.faults));
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

function statusResponse({ status, code, warnings }: ApiError): Response {
  const headers = new Headers({ "content-type": "application/json" });
  addWarnings(headers, warnings);
  const retry = status.details?.retryAfterSeconds;
  if (retry !== undefined) headers.set("retry-after", String(retry));
  return new Response(JSON.stringify(status), { status: code, headers });
}
