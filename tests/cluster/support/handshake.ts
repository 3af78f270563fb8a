/**
 * Shakes hands with TLS servers, as proxies do whose authorities are in a file; prints their certificates. To be run inside of a
 * cluster: what it is asked is on standard input.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a program of its own
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect } from "node:tls";
import { root } from "../../support/command.ts";
import type { Cluster } from "./cluster.ts";

interface Question {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly serverName: string;
  /** PEM. */
  readonly authorities: string;
}

/** The certificates (PEM) that servers show, in the order of `hosts`. Throws if one of them is not to be trusted. */
export async function certificatesOf(cluster: Cluster, question: Question): Promise<readonly string[]> {
  const program = `${root}tests/cluster/support/handshake.ts`;
  const command = [Deno.execPath(), "run", "--quiet", "--no-prompt", "--allow-all", program];
  const { code, out, err } = await cluster.exec(command, { input: JSON.stringify(question) });
  if (code !== 0) throw new Error(`Cannot shake hands: ${err}`);
  return JSON.parse(out);
}

if (import.meta.main) {
  const { hosts, port, serverName, authorities }: Question = JSON.parse(
    await new Response(Deno.stdin.readable).text(),
  );
  const found: string[] = [];
  for (const host of hosts) {
    const socket = connect({ host, port, servername: serverName, ca: authorities, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    const der = Buffer.from(socket.getPeerCertificate().raw).toString("base64");
    found.push(`-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----\n`);
    socket.destroy();
  }
  console.log(JSON.stringify(found));
}
