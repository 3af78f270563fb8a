/**
 * Clients that offer just one cipher suite, made by hand: what a server does for clients that can do little. RFC 5246.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";

/** Suites of TLS 1.2 by their numbers at IANA. */
export const suites = {
  "ECDHE-ECDSA-AES128-GCM-SHA256": 0xc02b,
  "ECDHE-ECDSA-AES256-GCM-SHA384": 0xc02c,
  "ECDHE-ECDSA-CHACHA20-POLY1305": 0xcca9,
  "ECDHE-RSA-AES128-GCM-SHA256": 0xc02f,
  "ECDHE-RSA-AES256-GCM-SHA384": 0xc030,
  "ECDHE-RSA-CHACHA20-POLY1305": 0xcca8,
  "ECDHE-ECDSA-AES128-SHA": 0xc009,
  "ECDHE-ECDSA-AES256-SHA": 0xc00a,
  "ECDHE-ECDSA-AES128-SHA256": 0xc023,
  "ECDHE-RSA-AES128-SHA": 0xc013,
  "AES128-GCM-SHA256": 0x009c,
  "AES128-SHA": 0x002f,
  "DES-CBC3-SHA": 0x000a,
} as const;

/** A client of TLS 1.2 or older. */
export interface Client {
  readonly port: number;
  readonly suite: keyof typeof suites;
  /** 0x0303 for TLS 1.2, which it is if absent. */
  readonly version?: number;
  /** The name asked for (SNI); none if absent. */
  readonly servername?: string;
}

const uint16 = (value: number) => [value >> 8, value & 255];
const prefixed = (bytes: readonly number[]) => [...uint16(bytes.length), ...bytes];

function clientHello({ suite, version = 0x0303, servername }: Client): Uint8Array<ArrayBuffer> {
  const extension = (type: number, body: readonly number[]) => [...uint16(type), ...prefixed(body)];
  const name = [...new TextEncoder().encode(servername)];
  const extensions = [
    ...servername === undefined ? [] : extension(0, prefixed([0, ...prefixed(name)])),
    ...extension(10, prefixed([0, 23])), // supported_groups: secp256r1
    // signature_algorithms: ecdsa_secp256r1_sha256, rsa_pss_rsae_sha256, rsa_pkcs1_sha256
    ...extension(13, prefixed([4, 3, 8, 4, 4, 1])),
  ];
  const hello = [
    ...uint16(version),
    ...Array.from({ length: 32 }, (_, i) => i), // random
    0, // no session
    ...prefixed(uint16(suites[suite])),
    ...[1, 0], // no compression
    ...prefixed(extensions),
  ];
  return new Uint8Array([0x16, 3, 1, ...prefixed([1, 0, ...prefixed(hello)])]);
}

/** What a server answers: the type of its first record, of an alert the description too. */
export async function helloAnswer(client: Client): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: client.port });
  await connection.write(clientHello(client));
  const answer = new Uint8Array(7);
  await connection.read(answer);
  return answer[0] === 0x15 ? `alert ${answer[6]}` : `record ${answer[0]}`;
}

/** The common name of the certificate that a server shows. */
export async function shownTo(client: Client): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: client.port });
  await connection.write(clientHello(client));
  const received: number[] = [], chunk = new Uint8Array(16_384);
  for (;;) {
    const length = await connection.read(chunk);
    if (length === null) throw new Error("The connection was closed before a certificate was shown");
    received.push(...chunk.subarray(0, length));
    const certificate = firstCertificate(received);
    if (certificate) return new X509Certificate(Buffer.from(certificate)).subject.replace(/^CN=/, "");
  }
}

/** The first certificate of what a server has sent, once all of it is there. */
function firstCertificate(received: readonly number[]): readonly number[] | undefined {
  const number = (bytes: readonly number[], at: number, size: number) =>
    bytes.slice(at, at + size).reduce((sum, byte) => sum * 256 + byte, 0);
  const handshake: number[] = [];
  for (let at = 0; at + 5 <= received.length; at += 5 + number(received, at + 3, 2)) {
    if (received[at] !== 0x16) throw new Error(`A record of type ${received[at]} came first`);
    handshake.push(...received.slice(at + 5, at + 5 + number(received, at + 3, 2)));
  }
  for (let at = 0; at + 4 <= handshake.length; at += 4 + number(handshake, at + 1, 3)) {
    if (handshake[at] !== 11) continue; // certificate
    const start = at + 10, size = number(handshake, at + 7, 3);
    return handshake.length < start + size ? undefined : handshake.slice(start, start + size);
  }
  return undefined;
}
