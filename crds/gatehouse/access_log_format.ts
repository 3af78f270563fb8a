/**
 * Which formats of access logs Envoy takes.
 *
 * A proxy refuses every listener that has a format with an operator that it does not know, so a format is judged where it
 * is written. Operators that tell nothing in a gateway are left out.
 *
 * @module
 */
import type { Rule } from "../schema/facts.ts";

/** Operators that stand alone. */
const plain = [
  "(RESPONSE|REQUEST)_(DURATION|TX_DURATION|HEADERS_BYTES)",
  "RESPONSE_(CODE|CODE_DETAILS|FLAGS|FLAGS_LONG|TRAILERS_BYTES)",
  "(UP|DOWN)STREAM_(WIRE|HEADER)_BYTES_(RECEIVED|SENT)",
  "(UP|DOWN)STREAM_(LOCAL|REMOTE)_(ADDRESS|ADDRESS_WITHOUT_PORT|PORT)",
  "(UP|DOWN)STREAM_TLS_(CIPHER|VERSION|SESSION_ID)",
  "(UP|DOWN)STREAM_TRANSPORT_FAILURE_REASON",
  "(UP|DOWN)STREAM_PEER_(SUBJECT|ISSUER|DNS_SAN|URI_SAN|IP_SAN)",
  "DOWNSTREAM_DIRECT_REMOTE_(ADDRESS|ADDRESS_WITHOUT_PORT|PORT)",
  "DOWNSTREAM_PEER_SERIAL",
  "UPSTREAM_(CLUSTER|HOST|PROTOCOL|REQUEST_ATTEMPT_COUNT|CONNECTION_ID|CONNECTION_POOL_READY_DURATION)",
  "(START_TIME|DURATION|PROTOCOL|BYTES_RECEIVED|BYTES_SENT|ROUTE_NAME|HOSTNAME|TRACE_ID|STREAM_ID|UNIQUE_ID)",
  "(CONNECTION_ID|CONNECTION_TERMINATION_DETAILS|REQUESTED_SERVER_NAME|GRPC_STATUS|GRPC_STATUS_NUMBER)",
  "(LOCAL_REPLY_BODY|ACCESS_LOG_TYPE)",
];

const header = "[-A-Za-z0-9:_.]+";

/** Operators with something in parentheses, and perhaps a length. */
const withArguments = [
  String.raw`(REQ|RESP|TRAILER)\(${header}(\?${header})?\)(:[0-9]{1,4})?`,
  String.raw`GRPC_STATUS\((CAMEL_STRING|SNAKE_STRING|NUMBER)\)`,
  String.raw`ENVIRONMENT\([A-Za-z_][A-Za-z0-9_]*\)(:[0-9]{1,4})?`,
  // What would put a line break into the time is no good in a log.
  String.raw`START_TIME\((%[0-9]?[a-mo-zA-DF-NP-Z]|[-0-9A-Za-z ./:,+_])+\)`,
];

const pattern = `^([^%]|%%|%(${[...plain, ...withArguments].join("|")})%)*$`;

/** Each alternative begins with what no other begins with, up to its name: there is nothing to backtrack into for long. */
const format = new RegExp(pattern);

/** Whether Envoy would take the format. */
export const isAccessLogFormat = (text: string): boolean => format.test(text);

export const formatRule: Rule<string> = {
  rule: `self.matches('${pattern.replaceAll("\\", "\\\\")}')`,
  message:
    "must be text with operators of Envoy's access log, such as %REQ(USER-AGENT)% or %RESPONSE_CODE%, in which " +
    "%% stands for one %",
  holds: isAccessLogFormat,
};
