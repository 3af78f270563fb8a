/**
 * What a command gives up before it does anything, should it have been granted: whatever is found wrong in it later cannot be used to
 * do that.
 *
 * Deno takes back whole kinds of permissions only. Which files may be read, and which hosts reached, is for the flags to say. The
 * environment stays: packages look at it when they are first used.
 *
 * @module
 */

type Kind = "ffi" | "net" | "run" | "write";

/** What each command never needs. */
const unneeded: { readonly [command: string]: readonly Kind[] } = {
  standalone: ["ffi"],
  local: ["ffi"],
  operator: ["ffi", "write"],
  apiserver: ["ffi", "run"],
  // A Unix socket is written to as well.
  status: ["ffi"],
  expose: ["ffi", "write"],
  "remove-finalizers": ["ffi", "write"],
  uninstall: ["ffi", "write"],
  translate: ["ffi", "net", "run", "write"],
  echo: ["ffi", "run", "write"],
  completion: ["ffi", "net", "run", "write"],
  version: ["ffi", "net", "run", "write"],
};

/** What a command can do without. Outside of a cluster a kubeconfig may say to run a plugin. */
export function unneededBy(
  command: string,
  options: { readonly kubeconfig?: string; readonly inCluster?: boolean },
): readonly Kind[] {
  const kinds = unneeded[command];
  if (!kinds) throw new Error(`Cannot tell what "${command}" needs: it is not in the table`);
  const inCluster = options.kubeconfig === undefined && (command === "operator" || options.inCluster);
  return inCluster ? [...kinds, "run"] : kinds;
}

/** Gives them up, for good. */
export async function dropPermissions(kinds: readonly Kind[]): Promise<void> {
  for (const name of kinds) await Deno.permissions.revoke({ name } as Deno.PermissionDescriptor);
}
