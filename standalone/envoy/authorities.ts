/**
 * Where this machine keeps the authorities that it trusts: what `wellKnownCACertificates: System` means for its proxies.
 *
 * @module
 */

/** Where they are by distribution, the most common first. Envoy does not look for them by itself. */
const usual = [
  "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Alpine, Arch Linux
  "/etc/pki/tls/certs/ca-bundle.crt", // Fedora, RHEL
  "/etc/ssl/ca-bundle.pem", // openSUSE
  "/etc/ssl/cert.pem", // macOS
];

/** The first of some files that is there; one that may not be looked at is of no use, and no reason not to start. */
export async function systemAuthorities(files: readonly string[] = usual): Promise<string | undefined> {
  for (const file of files) {
    const found = await Deno.stat(file).catch(() => undefined);
    if (found?.isFile) return file;
  }
  return undefined;
}
