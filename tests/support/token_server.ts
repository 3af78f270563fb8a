/**
 * The part of an API server that knows whose tokens are, with a switch.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import type { RequestOptions } from "@cloudydeno/kubernetes-apis/deps.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import type { Issuer } from "./jwt.ts";

export class TokenServer {
  issuer = "https://kubernetes.default.svc.cluster.local";
  /** Whose keys it publishes. */
  keys: unknown;
  /** `silent`: it takes a question and never answers. `denied`: it answers none of these. */
  state: "up" | "down" | "silent" | "denied" = "up";
  /** How many tokens it has been asked about. */
  reviews = 0;
  /** How often it has been asked for its keys and its name. */
  looks = 0;
  /** How many questions it had at a time. */
  most = 0;
  /** Changes its answers. */
  answer = (status: Record<string, unknown>): unknown => status;
  #open = 0;

  constructor({ set }: Issuer) {
    this.keys = set;
  }

  readonly kube: Pick<RestClient, "performRequest"> = {
    performRequest: ((options: RequestOptions) => this.#perform(options)) as RestClient["performRequest"],
  };

  async #perform({ path, accept, bodyJson, abortSignal }: RequestOptions): Promise<unknown> {
    const question = path.endsWith("/tokenreviews");
    if (question) this.reviews++;
    else this.looks++;
    this.most = Math.max(this.most, ++this.#open);
    try {
      await new Promise((resolve) => setTimeout(resolve));
      if (this.state === "silent") {
        await new Promise((_, reject) =>
          abortSignal?.addEventListener("abort", () => reject(abortSignal.reason))
        );
      }
      if (this.state === "down") throw new ConnectionError("connection refused");
      if (this.state === "denied" && question) throw new KubeError(`POST ${path}`, 403, {});
      if (path === "/openid/v1/jwks") {
        if (!accept?.includes("application/jwk-set+json")) throw new KubeError(`GET ${path}`, 406, {});
        return this.keys;
      }
      if (path === "/.well-known/openid-configuration") return { issuer: this.issuer };
      if (!question) throw new Error(`Nobody asks for ${path}`);
      return { status: this.answer(reviewOf(bodyJson)) };
    } finally {
      this.#open--;
    }
  }
}

/** Says of every token what it says of itself. */
export function reviewOf(body: unknown): Record<string, unknown> {
  const { spec } = body as { spec: { token: string; audiences: string[] } };
  const { sub, "kubernetes.io": { serviceaccount, pod } } = JSON.parse(
    new TextDecoder().decode(Uint8Array.fromBase64(spec.token.split(".")[1]!, { alphabet: "base64url" })),
  );
  return {
    authenticated: true,
    audiences: spec.audiences,
    user: {
      username: sub,
      uid: serviceaccount.uid,
      groups: ["system:serviceaccounts"],
      extra: {
        "authentication.kubernetes.io/pod-name": [pod?.name],
        "authentication.kubernetes.io/pod-uid": [pod?.uid],
      },
    },
  };
}
