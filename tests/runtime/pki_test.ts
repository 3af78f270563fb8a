import { assert, assertEquals, assertThrows } from "@std/assert";
import { X509Certificate } from "node:crypto";
import { createAuthority, issue, renewalTime, validityOf } from "../../controllers/runtime/pki.ts";

const validity = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2026-04-01T00:00:00Z") };

/** Times around now, for what checks certificates by the machine's clock. */
function current() {
  const day = 24 * 3600 * 1000;
  return { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
}

Deno.test("pki: an authority may sign, and nothing below it may", async () => {
  const authority = await createAuthority({ commonName: "gatehouse", ...validity });
  const certificate = new X509Certificate(authority.certificate);
  assertEquals([certificate.ca, certificate.subject, certificate.issuer], [
    true,
    "CN=gatehouse",
    "CN=gatehouse",
  ]);
  assert(certificate.verify(certificate.publicKey));
  assertEquals(new Date(certificate.validTo), validity.notAfter);
});

Deno.test("pki: a leaf says what it was asked to say, signed by its authority", async () => {
  const authority = await createAuthority({ commonName: "gatehouse", ...validity });
  const leaf = await issue(authority, {
    commonName: "admin",
    organizations: ["system:masters", "others"],
    dnsNames: ["localhost", "*.example.com"],
    ipAddresses: ["127.0.0.1", "::1"],
    uris: ["spiffe://gatehouse/xds"],
    usages: ["client"],
    ...validity,
  });
  const certificate = new X509Certificate(leaf.certificate);
  assertEquals(certificate.ca, false);
  assertEquals(certificate.subject, "O=system:masters\nO=others\nCN=admin");
  assert(certificate.checkIssued(new X509Certificate(authority.certificate)));
  assert(certificate.verify(new X509Certificate(authority.certificate).publicKey));
  assertEquals(certificate.subjectAltName?.split(", ").sort(), [
    "DNS:*.example.com",
    "DNS:localhost",
    "IP Address:127.0.0.1",
    "IP Address:::1",
    "URI:spiffe://gatehouse/xds",
  ]);
  const other = await createAuthority({ commonName: "gatehouse", ...validity });
  assert(!certificate.verify(new X509Certificate(other.certificate).publicKey));
});

Deno.test("pki: TLS accepts what was issued, on both sides", async () => {
  const authority = await createAuthority({ commonName: "gatehouse", ...current() });
  const server = await issue(authority, {
    commonName: "server",
    dnsNames: ["localhost"],
    usages: ["server"],
    ...current(),
  });
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert: server.certificate,
    key: server.key,
  });
  const accepted = (async () => {
    using connection = await listener.accept();
    await connection.write(new TextEncoder().encode("hello"));
  })();
  {
    using connection = await Deno.connectTls({
      hostname: "localhost",
      port: listener.addr.port,
      caCerts: [authority.certificate],
    });
    const bytes = new Uint8Array(5);
    await connection.read(bytes);
    assertEquals(new TextDecoder().decode(bytes), "hello");
  }
  await accepted;
  listener.close();
});

Deno.test("pki: a certificate is due after two thirds of its life", async () => {
  const { certificate } = await createAuthority({ commonName: "gatehouse", ...validity });
  assertEquals(validityOf(certificate), validity);
  assertEquals(renewalTime(validityOf(certificate)).toISOString(), "2026-03-02T00:00:00.000Z");
  for (const text of ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]) {
    assertThrows(() => validityOf(text), Error, "Cannot read the certificate");
  }
});
