/**
 * Access logs: a line for each request, on the standard output.
 *
 * @module
 */
import type { AccessLog, GatewayKey } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/listener.ts";

const stdout = "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog";

/** What a line of JSON has in it. A text that is one operator alone keeps its type: numbers stay numbers. */
export const accessLogFields: { readonly [name: string]: string } = {
  time: "%START_TIME%",
  method: "%REQ(:METHOD)%",
  host: "%REQ(:AUTHORITY)%",
  path: "%REQ(:PATH)%",
  protocol: "%PROTOCOL%",
  status: "%RESPONSE_CODE%",
  grpc_status: "%GRPC_STATUS%",
  details: "%RESPONSE_CODE_DETAILS%",
  flags: "%RESPONSE_FLAGS%",
  received: "%BYTES_RECEIVED%",
  sent: "%BYTES_SENT%",
  milliseconds: "%DURATION%",
  milliseconds_to_response: "%RESPONSE_DURATION%",
  attempts: "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
  client: "%DOWNSTREAM_REMOTE_ADDRESS%",
  forwarded_for: "%REQ(X-FORWARDED-FOR)%",
  user_agent: "%REQ(USER-AGENT)%",
  sni: "%REQUESTED_SERVER_NAME%",
  request_id: "%REQ(X-REQUEST-ID)%",
  trace_id: "%TRACE_ID%",
  route: "%ROUTE_NAME%",
  cluster: "%UPSTREAM_CLUSTER%",
  upstream: "%UPSTREAM_HOST%",
  upstream_failure: "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
};

export function buildAccessLog(log: AccessLog, gateway: GatewayKey): envoy.AccessLog {
  return {
    name: "envoy.access_loggers.stdout",
    typed_config: {
      "@type": stdout,
      log_format: "text" in log
        ? { text_format_source: { inline_string: `${log.text}\n` } }
        : { json_format: fieldsOf(log.fields, gateway) },
    },
  };
}

/** The default fields with the changes; an empty text leaves a field out. */
function fieldsOf(
  changes: { readonly [name: string]: string },
  gateway: GatewayKey,
): { readonly [name: string]: string } {
  const all = Object.entries({ ...accessLogFields, gateway, ...changes });
  return Object.fromEntries(all.filter(([, format]) => format !== ""));
}
