/**
 * Which Secrets can be served, and what is said of those that cannot. Whether that is so is for Envoy to judge.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import {
  readAuthorities,
  readCertificate,
  takeCertificate,
  validityProblem,
} from "../../controllers/translate/certificates.ts";
import { buildSecret } from "../../xds/build/secret.ts";
import { refusal } from "../golden/validate.ts";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";
import { stored } from "./cluster.ts";
import { rawSecret } from "./secured.ts";

const validity = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2027-01-01T00:00:00Z") };

interface Case {
  readonly name: string;
  readonly data: { readonly [key: string]: string };
  /** What is said; nothing of what can be served. */
  readonly problem?: string;
  readonly type?: string;
}

function pem(type: "ec" | "rsa", options: object, format: "pkcs8" | "sec1" | "pkcs1"): string {
  const { privateKey } = generateKeyPairSync(type as "ec", options as never);
  return (privateKey as unknown as { export(o: object): string }).export({ type: format, format: "pem" });
}

async function cases(): Promise<readonly Case[]> {
  const authority = await createAuthority({ commonName: "authority", ...validity });
  const leaf = (name: string) =>
    issue(authority, { commonName: name, dnsNames: [name, `*.${name}`], usages: ["server"], ...validity });
  const [one, two] = await Promise.all([leaf("one.example.com"), leaf("two.example.com")]);
  const of = (certificate: string, key: string) => ({ "tls.crt": btoa(certificate), "tls.key": btoa(key) });
  const whole = ({ certificate, key }: KeyPair) => of(certificate, key);
  const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const mismatch = "the key in tls.key is not that of the certificate in tls.crt";
  return [
    { name: "one certificate", data: whole(one) },
    { name: "a chain", data: of(one.certificate + authority.certificate, one.key) },
    { name: "words around it", data: of(`hello\n${one.certificate}\nbye`, `hello\n${one.key}`) },
    {
      name: "line ends of Windows",
      data: of(one.certificate.replaceAll("\n", "\r\n"), one.key.replaceAll("\n", "\r\n")),
    },
    { name: "parameters in front of the key", data: of(one.certificate, parameters + one.key) },
    { name: "another key", data: of(one.certificate, two.key), problem: mismatch },
    {
      name: "a chain the wrong way round",
      data: of(authority.certificate + one.certificate, one.key),
      problem:
        "tls.crt is in the wrong order: the certificate of the key in tls.key is number 2, it has to come first",
    },
    {
      name: "the certificate of the key after more than anybody looks through",
      data: of(two.certificate.repeat(16) + one.certificate, one.key),
      problem: mismatch,
    },
    { name: "empty", data: { "tls.crt": "", "tls.key": "" }, problem: "tls.crt is empty" },
    { name: "blank", data: of(" \n", one.key), problem: "tls.crt is empty" },
    { name: "no key", data: of(one.certificate, ""), problem: "tls.key is empty" },
    { name: "nothing", data: {}, problem: "tls.crt is missing" },
    {
      name: "no PEM",
      data: of("Hello world\n", "Hello world\n"),
      problem: "tls.crt holds no certificate in PEM",
    },
    {
      name: "no PEM for a key",
      data: of(one.certificate, "Hello"),
      problem: "tls.key holds no private key in PEM",
    },
    { name: "no base64", data: { "tls.crt": "%%%", "tls.key": "%%%" }, problem: "tls.crt is not base64" },
    {
      name: "a key for a certificate",
      data: of(one.key, one.key),
      problem: "tls.crt holds no certificate in PEM",
    },
    {
      name: "no certificate inside",
      data: of(broken, one.key),
      problem: "certificate number 1 in tls.crt cannot be read",
    },
    {
      name: "rubbish at the end of the chain",
      data: of(one.certificate + broken, one.key),
      problem: "certificate number 2 in tls.crt cannot be read",
    },
    {
      name: "a key that is none",
      data: of(one.certificate, broken.replaceAll("CERTIFICATE", "PRIVATE KEY")),
      problem: "the private key in tls.key cannot be read",
    },
    {
      name: "an encrypted key",
      data: of(
        one.certificate,
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
      ),
      problem: "the key in tls.key is encrypted, decrypt it",
    },
    {
      name: "a curve that is not spoken",
      data: of(one.certificate, secp256k1),
      problem: "its key is on the curve secp256k1, use P-256, P-384 or P-521",
    },
    {
      name: "a short key",
      data: of(one.certificate, pem("rsa", { modulusLength: 1024 }, "pkcs8")),
      problem: "its RSA key has 1024 bits, at least 2048 are needed",
    },
    {
      name: "a long key, of another certificate",
      data: of(one.certificate, pem("rsa", { modulusLength: 2048 }, "pkcs1")),
      problem: mismatch,
    },
  ];
}

/** Made by OpenSSL for this test, and of no other use. */
const secp256k1 = `-----BEGIN PRIVATE KEY-----
MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgGnwUHVMIjqLq1zbNRX+C
NyTxcIN2y9yDqjhcPVD+FeOhRANCAASGXfF1H8vy7MgCTh48S5u8sTn9H6Bay1d3
cwtKTEoQISOb3BiMuoPjs4ArLbARWyRSGIDuIhm502YOtHhPT2nC
-----END PRIVATE KEY-----
`;

Deno.test("certificates: what can be served, and what is said of the rest, which never quotes a key", async () => {
  for (const { name, data, problem } of await cases()) {
    const read = readCertificate(rawSecret("s", data));
    assertEquals([name, "problem" in read ? read.problem : undefined], [name, problem]);
    if ("problem" in read) continue;
    assertEquals(read.dnsNames, ["one.example.com", "*.one.example.com"]);
    assertEquals(new Date(read.notAfter), validity.notAfter);
    assert(!read.chain.includes("hello") && !read.key.includes("PARAMETERS") && !read.key.includes("\r"));
  }
  const opaque = { ...rawSecret("s", (await cases())[0]!.data), type: "Opaque" };
  assertEquals(readCertificate(opaque), {
    problem: 'its type is "Opaque", it has to be "kubernetes.io/tls"',
  });
});

Deno.test("certificates: Envoy takes what can be served, and refuses the rest", async () => {
  const envoy = await envoyForTests();
  const staticListener = (secret: object) => ({
    static_resources: {
      listeners: [{
        name: "l",
        address: { socket_address: { address: "127.0.0.1", port_value: 10_000 } },
        filter_chains: [{
          filters: [{
            name: "envoy.filters.network.tcp_proxy",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
              stat_prefix: "x",
              cluster: "c",
            },
          }],
          transport_socket: {
            name: "envoy.transport_sockets.tls",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
              common_tls_context: { tls_certificates: [secret] },
            },
          },
        }],
      }],
      clusters: [{ name: "c", type: "STATIC" }],
    },
  });
  const built = (certificate: { readonly chain: string; readonly key: string }) =>
    buildSecret({ name: "s", kind: "certificate", chain: certificate.chain, key: certificate.key })
      .tls_certificate!;
  let refused = 0;
  for (const { name, data, problem } of await cases()) {
    const secret = rawSecret("s", data), read = readCertificate(secret);
    const words = await refusal(
      envoy,
      staticListener(built("problem" in read ? takeCertificate(secret) : read)),
    );
    assertEquals([name, words === undefined], [name, problem === undefined], words);
    if (words !== undefined) refused++;
  }
  assert(refused > 10);
});

Deno.test("certificates: validity is a matter of the time that is given", async () => {
  const [{ data }] = await cases() as readonly [Case];
  const read = readCertificate(rawSecret("s", data));
  assert(!("problem" in read));
  const at = (time: string) => validityProblem(read, Date.parse(time));
  assertEquals(at("2025-12-31T23:58:59Z"), "it is not valid before 2026-01-01T00:00:00Z");
  // It may have become so since the time was told, a minute ago at most.
  assertEquals(at("2025-12-31T23:59:00Z"), undefined);
  assertEquals(at("2026-01-01T00:00:00Z"), undefined);
  assertEquals(at("2027-01-01T00:00:00Z"), undefined);
  assertEquals(at("2027-01-01T00:00:01Z"), "it expired on 2027-01-01T00:00:00Z, renew it");
});

Deno.test("certificates: authorities", async () => {
  const { certificate } = await createAuthority({ commonName: "authority", ...validity });
  const config = (data: { readonly [key: string]: string }) =>
    readAuthorities(stored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data }));
  const good = config({ "ca.crt": `# A comment\n${certificate}${certificate}` });
  assert(!("problem" in good));
  assertStringIncludes(good.certificates, certificate);
  assertEquals(config({ "ca.crt": "" }), { problem: "ca.crt is empty" });
  assertEquals(config({ "ca.crt": "rubbish" }), { problem: "ca.crt holds no certificate in PEM" });
  assertEquals(config({ other: certificate }), { problem: "ca.crt is missing" });
});
