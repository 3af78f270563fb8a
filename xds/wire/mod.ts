/**
 * Protobuf for plain objects: what the tables in `envoy/` are written with.
 *
 * @module
 */
export * from "./type.ts";
export * from "./scalar.ts";
export * from "./message.ts";
export * from "./well_known.ts";
