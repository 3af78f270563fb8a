/**
 * A stand-in for `@std/http`, for machines that cannot reach JSR: a part of its names, with the same parameters and results.
 *
 * @module
 */
export * from "./etag.ts";
export * from "./negotiation.ts";
export * from "./server_sent_event_stream.ts";
export * from "./status.ts";
