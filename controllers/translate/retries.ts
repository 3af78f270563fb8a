/**
 * When and how often requests are sent again (GEP-1731).
 *
 * @module
 */
import type { HTTPRouteRetry } from "../../crds/mod.ts";
import type { Retry } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import { milliseconds } from "./durations.ts";

/** What fits into the field that it is for. */
const mostAttempts = 2 ** 32 - 1;

/** Reads the field; `where` names it. */
export function readRetry(retry: HTTPRouteRetry, where: string): Retry | Fault {
  const { codes = [], attempts = 1, backoff } = retry;
  const fault = (name: string, problem: string): Fault => ({
    reason: "UnsupportedValue",
    message: `${where}.${name}: ${problem}`,
  });
  if (!Number.isInteger(attempts) || attempts < 0 || attempts > mostAttempts) {
    return fault("attempts", `${attempts} is not supported, use a number from 0, which is for none`);
  }
  const wrong = codes.findIndex((code: number) => !Number.isInteger(code) || code < 400 || code > 599);
  if (wrong >= 0) return fault(`codes[${wrong}]`, `${codes[wrong]} is not supported, use 400 to 599`);
  const wait = backoff === undefined ? undefined : milliseconds(backoff);
  if (Number.isNaN(wait)) {
    return fault("backoff", `"${backoff}" is not a duration, write it like 1m30s or 500ms`);
  }
  return { attempts, codes: [...new Set<number>(codes)], ...wait !== undefined && { backoff: wait } };
}
