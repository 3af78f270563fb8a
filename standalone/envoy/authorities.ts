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

/** The first of some files that is there. Rejects with `Deno.errors.PermissionDenied` where that may not be known. */
export async function systemAuthorities(files: readonly string[] = usual): Promise<string | undefined> {
  for (const file of files) {
    try {
      if ((await Deno.stat(file)).isFile) return file;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) throw error;
    }
  }
  return undefined;
}
