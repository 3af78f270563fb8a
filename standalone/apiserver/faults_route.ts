/**
 * Switching faults over HTTP, for tests of a server in a process of its own. It is off unless asked for.
 *
 *     GET    /debug/faults   how often each kind has struck
 *     POST   /debug/faults   [{ "kind": "drop", "resource": "services", "rate": 0.1 }]: adds these
 *     DELETE /debug/faults   switches all off
 *
 * @module
 */
import { Hono } from "hono";
import { z } from "zod";
import { mayDo } from "./access.ts";
import type { Env } from "./env.ts";
import { readBody } from "./body.ts";
import type { Fault, Faults } from "./faults.ts";
import { ApiError, badRequest } from "./status.ts";

const kinds = [
  "expire",
  "drop",
  "duplicate",
  "merge",
  "cut",
  "stale",
  "conflict",
  "throttle",
  "latency",
] as const satisfies readonly Fault["kind"][];

const fault = z.strictObject({
  kind: z.enum(kinds),
  resource: z.string().exactOptional(),
  rate: z.number().min(0).max(1).exactOptional(),
  times: z.int().min(1).exactOptional(),
  milliseconds: z.number().min(0).exactOptional(),
  seconds: z.int().min(0).exactOptional(),
  revisions: z.int().min(1).exactOptional(),
});

export function faultsRoute(faults: Faults): Hono<Env> {
  const route = new Hono<Env>();
  route.use(async (c, next) => {
    if (!c.env.identity || !mayDo(c.env.identity)) {
      throw new ApiError(403, "Forbidden", "faults are for administrators");
    }
    await next();
  });
  route.get("/", (c) => c.json(Object.fromEntries(faults.struck)));
  route.post("/", async (c) => {
    const { data, error } = z.array(fault).safeParse(await readBody(c.req.raw));
    if (!data) throw badRequest(z.prettifyError(error));
    for (const one of data) faults.add(one);
    return c.body(null, 204);
  });
  route.delete("/", (c) => {
    faults.clear();
    return c.body(null, 204);
  });
  return route;
}
