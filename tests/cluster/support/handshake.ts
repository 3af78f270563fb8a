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

/** What became of it: the certificate of the server (PEM), or why it is not trusted. */
export type Handshake = { readonly certificate: string } | { readonly error: string };

/** Shakes hands with each of `hosts`, in their order. */
export async function shakeHands(cluster: Cluster, question: Question): Promise<readonly Handshake[]> {
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
  const found: Handshake[] = [];
  for (const host of hosts) {
    const socket = connect({ host, port, servername: serverName, ca: authorities, ALPNProtocols: ["h2"] });
    try {
      await once(socket, "secureConnect");
      const der = Buffer.from(socket.getPeerCertificate().raw).toString("base64");
      found.push({ certificate: `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----\n` });
    } catch (error) {
      found.push({ error: String(error) });
    }
    socket.destroy();
  }
  console.log(JSON.stringify(found));
}
