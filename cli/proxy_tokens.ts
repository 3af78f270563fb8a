/**
 * Who a proxy in a pod is, by the token of its ServiceAccount.
 *
 * @module
 */
import type { ProxyAccount } from "../controllers/infrastructure/accounts.ts";
import type { Table } from "../controllers/runtime/graph.ts";
import type { Tokens } from "../kube/tokens.ts";
import type { Authenticate } from "../xds/grpc/server.ts";

/**
 * Tells a proxy's Gateway by its ServiceAccount, and its node id by its pod. Nothing that the proxy says about itself counts: it
 * is held against this.
 */
export function byToken(
  { tokens, accounts }: {
    readonly tokens: Pick<Tokens, "verify">;
    readonly accounts: Pick<Table<ProxyAccount>, "get">;
  },
): Authenticate {
  return async ({ authorization = "" }) => {
    const [, token] = /^Bearer ([^\s]+)$/i.exec(authorization) ?? [];
    if (token === undefined) return { refused: "UNAUTHENTICATED", message: "There is no token" };
    const bearer = await tokens.verify(token);
    if ("doubt" in bearer) {
      return {
        refused: bearer.doubt === "unknown" ? "UNAVAILABLE" : "UNAUTHENTICATED",
        message: `Cannot verify the token: ${bearer.reason}`,
      };
    }
    const { namespace, serviceAccount, pod, expires } = bearer;
    const account = accounts.get(`${namespace}/${serviceAccount.name}`);
    if (account?.uid !== serviceAccount.uid) {
      return {
        refused: "PERMISSION_DENIED",
        message:
          `Pod "${namespace}/${pod.name}" is no proxy: no Gateway has its ServiceAccount "${serviceAccount.name}"`,
      };
    }
    return { gateway: account.gateway, proxy: `${namespace}/${pod.name}`, expires };
  };
}
