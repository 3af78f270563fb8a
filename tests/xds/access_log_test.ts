/**
 * Envoy takes every format of access logs that an EnvoyFleet may have, and refuses those that it may not.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { isAccessLogFormat } from "../../crds/gatehouse/access_log_format.ts";
import { accessLogFields } from "../../xds/build/access_log.ts";
import { buildListener } from "../../xds/build/listener.ts";
import { refusal } from "../golden/validate.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";

const product = (...parts: readonly (readonly string[])[]): readonly string[] =>
  parts.reduce((all, part) => all.flatMap((start) => part.map((end) => start + end)), [""]);

/** Every operator that the rule knows. */
const operators = [
  ...product(["REQUEST_", "RESPONSE_"], ["DURATION", "TX_DURATION", "HEADERS_BYTES"]),
  ...product(["RESPONSE_"], ["CODE", "CODE_DETAILS", "FLAGS", "FLAGS_LONG", "TRAILERS_BYTES"]),
  ...product(["UPSTREAM_", "DOWNSTREAM_"], ["WIRE_", "HEADER_"], ["BYTES_"], ["RECEIVED", "SENT"]),
  ...product(["UPSTREAM_", "DOWNSTREAM_"], ["LOCAL_", "REMOTE_"], [
    "ADDRESS",
    "ADDRESS_WITHOUT_PORT",
    "PORT",
  ]),
  ...product(["UPSTREAM_", "DOWNSTREAM_"], ["TLS_"], ["CIPHER", "VERSION", "SESSION_ID"]),
  ...product(["UPSTREAM_", "DOWNSTREAM_"], ["TRANSPORT_FAILURE_REASON"]),
  ...product(["UPSTREAM_", "DOWNSTREAM_"], ["PEER_"], ["SUBJECT", "ISSUER", "DNS_SAN", "URI_SAN", "IP_SAN"]),
  ...product(["DOWNSTREAM_DIRECT_REMOTE_"], ["ADDRESS", "ADDRESS_WITHOUT_PORT", "PORT"]),
  "DOWNSTREAM_PEER_SERIAL",
  ...product(["UPSTREAM_"], ["CLUSTER", "HOST", "PROTOCOL", "REQUEST_ATTEMPT_COUNT", "CONNECTION_ID"]),
  "UPSTREAM_CONNECTION_POOL_READY_DURATION",
  ...["START_TIME", "DURATION", "PROTOCOL", "BYTES_RECEIVED", "BYTES_SENT", "ROUTE_NAME", "HOSTNAME"],
  ...["TRACE_ID", "STREAM_ID", "UNIQUE_ID", "CONNECTION_ID", "CONNECTION_TERMINATION_DETAILS"],
  ...["REQUESTED_SERVER_NAME", "GRPC_STATUS", "GRPC_STATUS_NUMBER", "LOCAL_REPLY_BODY", "ACCESS_LOG_TYPE"],
  ...product(["REQ", "RESP", "TRAILER"], ["(", "(X-A?"], [":PATH)", "user_agent)"], ["", ":20"]),
  ...product(["GRPC_STATUS("], ["CAMEL_STRING", "SNAKE_STRING", "NUMBER"], [")"]),
  ...["ENVIRONMENT(POD_NAME)", "ENVIRONMENT(_a1):5"],
  ...product(
    ["START_TIME("],
    ["%Y-%m-%dT%H:%M:%S.%3fZ", "%s", "%f", "at %H.%M", "%9f"],
    [")"],
  ),
];

const good = [
  ...operators.map((operator) => `%${operator}%`),
  ...["text", "100%%", "%%%PROTOCOL%%%", "%PROTOCOL%%PROTOCOL%", "a %DURATION% b\tc"],
];

const bad = [
  ...["%", "100%", "%%%", "%PROTOCOL", "PROTOCOL%", "%protocol%", "%NO_SUCH_THING%", "%REQUEST_ID%"],
  ...["%REQ%", "%REQ(%", "%REQ(A%", "%REQ(A?B?C)%", "%REQ(A):x%", "%DURATION(1)%", "%PROTOCOL:3%"],
  ...["%GRPC_STATUS(OTHER)%", "%START_TIME(%n)%", "%START_TIME(%En)%"],
];

/** A configuration whose only listener has these fields in its access log. */
function configuration(formats: readonly string[]): object {
  const listener = buildListener({
    gateway: "default/gw",
    name: "default/gw/80",
    addresses: ["127.0.0.1"],
    port: 10_000,
    protocol: "http",
    routes: "default/gw/80",
    accessLog: { fields: Object.fromEntries(formats.map((format, i) => [`f${i}`, format])) },
  }, {});
  const json = structuredClone(listener) as unknown as {
    filter_chains: { filters: { typed_config: { rds?: unknown; route_config?: unknown } }[] }[];
  };
  const manager = json.filter_chains[0]!.filters[0]!.typed_config;
  delete manager.rds;
  manager.route_config = {};
  return { static_resources: { listeners: [json] } };
}

Deno.test("Envoy takes every format that an EnvoyFleet may have", async () => {
  assertEquals(good.filter((format) => !isAccessLogFormat(format)), []);
  assertEquals(Object.values(accessLogFields).filter((format) => !isAccessLogFormat(format)), []);
  assert(operators.length > 90, `${operators.length} operators`);
  assertEquals(await refusal(await envoyForTests(), configuration(good)), undefined);
});

Deno.test("formats that Envoy refuses, an EnvoyFleet may not have", async () => {
  assertEquals(bad.filter(isAccessLogFormat), []);
  const taken = await Promise.all(bad.map(async (format) => {
    return await refusal(await envoyForTests(), configuration([format])) === undefined ? [format] : [];
  }));
  assertEquals(taken.flat(), []);
});
