/**
 * Whose token of a ServiceAccount this is.
 *
 * The API server is asked, as only it knows that a pod or a ServiceAccount is gone. What it has no answer to for the time being
 * is decided by its keys, which are fetched ahead for that: a proxy must find a replica while there is no API server.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import { z } from "zod";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { Nap } from "../controllers/runtime/nap.ts";
import { isStatus } from "./errors.ts";
import { type Claims, isSigned, type Jwt, type Keys, readJwt, readKeys } from "./jwt.ts";

/** What a token proves. */
export interface Bearer {
  readonly namespace: string;
  readonly serviceAccount: Reference;
  /** The pod that it was made for, and that nobody else has it from. */
  readonly pod: Reference;
  /** Until when, in milliseconds since 1970. */
  readonly expires: number;
}

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** Why a token proves nothing: it is not good, or nobody can tell now. */
export interface Doubt {
  readonly doubt: "invalid" | "unknown";
  /** What it is about the token, as in `it has expired`. */
  readonly reason: string;
}

export interface TokensOptions {
  readonly kube: Pick<RestClient, "performRequest">;
  /** For whom tokens have to be. */
  readonly audience: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Times, in milliseconds. */
const times = {
  /** For how long an answer of the API server is good. It saves nothing to keep it longer: proxies come every quarter of an hour. */
  answer: 60_000,
  /** How long the API server may take to answer. */
  review: 3_000,
  /** By how much the clock of whoever made a token may be ahead. */
  skew: 60_000,
  /** From one look at the keys to the next, if there has been an answer and if not. */
  keys: 300_000,
  retry: 5_000,
  /** Before it is asked again, where it does not let us ask. */
  denied: 600_000,
  /** How soon to look again because of a token that no key is known of. */
  unknown: 10_000,
} as const;

/** How many questions are asked at a time: they share connections with the writes of the operator. */
const mostReviews = 16;

/** How many answers are kept. */
const mostAnswers = 10_000;

export class Tokens {
  readonly #options: TokensOptions;
  /** By hashes of tokens, the oldest first. */
  readonly #answers = new Map<string, { readonly bearer: Bearer; readonly until: number }>();
  readonly #asking = new Map<string, Promise<Bearer | Doubt>>();
  readonly #waiting: (() => void)[] = [];
  readonly #nap = new Nap();
  #reviews = 0;
  #known: { readonly keys: Keys; readonly issuer: string } | undefined;
  #looked = -Infinity;
  /** Whether the last question had no answer. */
  #alone = false;
  /** When we were last told that we may not ask. */
  #denied = -Infinity;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Whose a token is. Rejects only for bugs. */
  async verify(token: string): Promise<Bearer | Doubt> {
    const { audience, clock } = this.#options;
    const jwt = readJwt(token);
    if (!jwt) return invalid("it is none of a ServiceAccount");
    const bearer = bearerOf(jwt.claims, { audience, now: clock.now().getTime() });
    if ("doubt" in bearer) return bearer;
    const hash = await hashOf(token), answer = this.#answers.get(hash);
    if (answer && clock.monotonic() < answer.until) return answer.bearer;
    let asking = this.#asking.get(hash);
    if (!asking) {
      asking = this.#ask(token, jwt, bearer, hash).finally(() => this.#asking.delete(hash));
      this.#asking.set(hash, asking);
    }
    return await asking;
  }

  /** Keeps the keys of the API server at hand, until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (true) {
      const found = await this.#look(signal);
      await this.#nap.sleep(this.#options.clock, found ? times.keys : times.retry, signal);
    }
  }

  async #ask(token: string, jwt: Jwt, bearer: Bearer, hash: string): Promise<Bearer | Doubt> {
    const { clock } = this.#options;
    // Whoever makes up tokens must not keep the API server busy.
    const signed = this.#known && await isSigned(jwt, this.#known.keys);
    if (signed === false) return invalid("its signature is false");
    if (signed === undefined && clock.monotonic() - this.#looked >= times.unknown) this.#nap.wake();
    const review = await this.#review(token);
    if (review) {
      const wrong = objection(review, jwt.claims, this.#options.audience);
      if (wrong !== undefined) return invalid(wrong);
      if (this.#answers.size >= mostAnswers) this.#answers.delete(this.#answers.keys().next().value!);
      this.#answers.delete(hash);
      this.#answers.set(hash, { bearer, until: clock.monotonic() + times.answer });
      return bearer;
    }
    if (!signed) {
      return {
        doubt: "unknown",
        reason: "the API server does not tell, and the key that signed it is not known",
      };
    }
    if (jwt.claims.iss !== this.#known?.issuer) return invalid(`its issuer "${jwt.claims.iss}" is another`);
    return bearer;
  }

  /** What the API server says; undefined if it says nothing. */
  async #review(token: string): Promise<Review | undefined> {
    const { kube, audience, clock, log } = this.#options;
    if (clock.monotonic() - this.#denied < times.denied) return undefined;
    await this.#turn();
    const late = new AbortController();
    using timer = clock.timer(
      times.review,
      () => late.abort(new Error(`No answer within ${times.review / 1000} s`)),
    );
    void timer;
    try {
      const answer = await kube.performRequest({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/tokenreviews",
        bodyJson: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token, audiences: [audience] },
        },
        expectJson: true,
        abortSignal: late.signal,
      });
      const { status } = review.parse(answer);
      if (this.#alone) log.info("The API server answers again whose tokens are");
      this.#alone = false;
      return status;
    } catch (error) {
      const denied = isStatus(error, 403);
      if (denied) this.#denied = clock.monotonic();
      if (!this.#alone && denied) log.info("Verifying tokens by keys alone: TokenReviews are not allowed");
      else if (!this.#alone) {
        log.warn("Verifying tokens without the API server, which does not answer", { error });
      }
      this.#alone = true;
      return undefined;
    } finally {
      this.#reviews--;
      this.#waiting.shift()?.();
    }
  }

  /** Resolves once there is room for another question. */
  async #turn(): Promise<void> {
    while (this.#reviews >= mostReviews) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#reviews++;
  }

  /** Fetches the keys. Returns whether they have come; those that were known stay if they have not. */
  async #look(signal: AbortSignal): Promise<boolean> {
    const { kube, clock, log } = this.#options;
    const get = (path: string, accept = "application/json") =>
      kube.performRequest({ method: "GET", path, accept, expectJson: true, abortSignal: signal });
    try {
      const [configuration, set] = await Promise.all([
        get("/.well-known/openid-configuration"),
        // Kubernetes has keys in this form alone, and answers 406 to who asks for plain JSON.
        get("/openid/v1/jwks", "application/jwk-set+json, application/json"),
      ]);
      const { issuer } = z.object({ issuer: z.string() }).parse(configuration);
      this.#known = { issuer, keys: await readKeys(set) };
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const message = "Cannot fetch the keys that tokens are signed with";
      if (this.#known) log.debug(message, { error });
      else log.warn(`${message}; without the API server no proxy can connect`, { error });
      return false;
    } finally {
      this.#looked = clock.monotonic();
    }
  }
}

const review = z.object({
  status: z.object({
    authenticated: z.boolean().optional(),
    audiences: z.array(z.string()).optional(),
    error: z.string().optional(),
    user: z.object({
      username: z.string().optional(),
      uid: z.string().optional(),
      extra: z.record(z.string(), z.array(z.string())).optional(),
    }).optional(),
  }),
});

type Review = z.infer<typeof review>["status"];

/** What is wrong with a token in the eyes of the API server. */
function objection(
  { authenticated = false, audiences = [], error, user }: Review,
  claims: Claims,
  audience: string,
): string | undefined {
  if (!authenticated) return `the API server refuses it${error ? `: ${error}` : ""}`;
  // An API server that knows no audiences would take a token for itself as one for us.
  if (!audiences.includes(audience)) return `the API server does not say that it is for "${audience}"`;
  const { serviceaccount, pod } = claims["kubernetes.io"];
  const same = user?.username === claims.sub && user.uid === serviceaccount.uid &&
    user.extra?.["authentication.kubernetes.io/pod-uid"]?.[0] === pod?.uid;
  return same ? undefined : "the API server says that it is somebody else's";
}

/** Whose a token says that it is, if it can be good at all. */
function bearerOf(
  { aud, exp, nbf, sub, "kubernetes.io": kubernetes }: Claims,
  { audience, now }: { readonly audience: string; readonly now: number },
): Bearer | Doubt {
  const { namespace, serviceaccount, pod } = kubernetes;
  if (!aud.includes(audience)) {
    return invalid(`it is for ${aud.map((one) => `"${one}"`).join()}, not for "${audience}"`);
  }
  if (exp * 1000 <= now) return invalid(`it expired at ${new Date(exp * 1000).toISOString()}`);
  if (nbf !== undefined && nbf * 1000 > now + times.skew) {
    return invalid(`it is good only from ${new Date(nbf * 1000).toISOString()}`);
  }
  if (sub !== `system:serviceaccount:${namespace}:${serviceaccount.name}`) {
    return invalid("it contradicts itself");
  }
  if (!pod) return invalid("it is not bound to a pod");
  return { namespace, serviceAccount: serviceaccount, pod, expires: exp * 1000 };
}

function invalid(reason: string): Doubt {
  return { doubt: "invalid", reason };
}

async function hashOf(token: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))).toBase64();
}
