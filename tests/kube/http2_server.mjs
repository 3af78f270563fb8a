/**
 * An HTTP/2 server that allows 100 streams on a connection and asks for certificates. For Node.js: the HTTP/2 server of Deno 2.9 has
 * crashed the process when many streams come at once, and what is tested is the client.
 *
 * It reads its options as JSON from the first line of standard input, prints its port, and answers every further line with what it
 * knows of its connections.
 *
 * @module
 */
import http2 from "node:http2";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { cert, key, ca, answers } = JSON.parse((await lines.next()).value);

/** Open connections, each with its open watches. */
const sessions = new Map();
/** Open watches of the connections by which `/livez` was asked for, each time. */
const versions = [];
/** Who the clients say they are. */
const subjects = new Set();

const server = http2.createSecureServer({
  cert,
  key,
  ca,
  requestCert: true,
  rejectUnauthorized: true,
  settings: { maxConcurrentStreams: 100 },
});
server.on("session", (session) => {
  sessions.set(session, new Set());
  session.on("close", () => sessions.delete(session));
  session.on("error", () => {});
});
server.on("stream", (stream, headers) => {
  const { session } = stream, path = String(headers[":path"]);
  stream.on("error", () => {});
  subjects.add(session.socket.getPeerCertificate().subject?.CN);
  stream.respond({ ":status": 200, "content-type": "application/json" });
  if (path.includes("watch=true")) {
    sessions.get(session)?.add(stream);
    stream.on("close", () => sessions.get(session)?.delete(stream));
    stream.write(answers.watch + "\n");
  } else {
    if (path === "/livez") versions.push(sessions.get(session)?.size);
    stream.end(path.includes("/widgets/") ? answers.object : answers.list);
  }
});
server.on("sessionError", () => {});
server.on("tlsClientError", () => {});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));

for await (const _ of lines) {
  const watches = [...sessions.values()].map((streams) => streams.size).sort((a, b) => a - b);
  process.stdout.write(`${JSON.stringify({ watches, versions, subjects: [...subjects] })}\n`);
}
process.exit(0);
