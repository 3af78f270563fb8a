/**
 * What a request to an API server can end in: an answer that is not a success, or none at all.
 *
 * @module
 */

/** One of several reasons of a failure, as in `metav1.StatusCause`. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** What a failure is about, as in `metav1.StatusDetails`. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The fields of `metav1.Status` that say why a request failed. */
export interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** Reasons of answers without a Status, which then come from a proxy on the way. */
const reasons: { readonly [status: number]: string } = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** An answer that is not a success. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  /** The status code of HTTP. */
  readonly status: number;
  /** A word for machines, such as `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Expired`. */
  readonly reason: string;
  /** What the server said, for people. */
  readonly words: string;
  readonly details: StatusDetails;
  /** How long the server asks to wait before the next try, in milliseconds. */
  readonly retryAfter: number | undefined;

  /**
   * @param request for people, such as `get leases/default/gatehouse`
   * @param body what the server said, if that was a Status
   */
  constructor(request: string, status: number, body: Status, options: { readonly retryAfter?: number } = {}) {
    const reason = body.reason || reasons[status] || "Unknown", words = body.message || "no message";
    super(`Cannot ${request}: ${words} (${status} ${reason})`);
    this.status = status;
    this.reason = reason;
    this.words = words;
    this.details = body.details ?? {};
    const asked = this.details.retryAfterSeconds;
    this.retryAfter = options.retryAfter ?? (asked === undefined ? undefined : asked * 1000);
  }
}

/** No answer, or not a whole one: the server could not be reached, the connection broke, or it took too long. */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError";
  /** Whether another try soon may well succeed. */
  readonly passing: boolean = true;

  constructor(message: string, options: ErrorOptions & { readonly passing?: boolean } = {}) {
    super(message, options);
    this.passing = options.passing ?? true;
  }

  /** From what `fetch` throws, whose own words are hidden in its cause. */
  static from(request: string, error: unknown, cluster?: string): ConnectionError {
    if (error instanceof ConnectionError) return error;
    const words = innermost(error).replace(/^.*client error \(\w+\): /s, "");
    const untrusted = /certificate/i.test(words);
    const where = cluster === undefined ? "" : ` (${cluster})`;
    const remedy = untrusted ? "; is certificate-authority-data the one of this server?" : "";
    return new ConnectionError(`Cannot ${request}: ${words}${remedy}${where}`, {
      cause: error,
      passing: !untrusted,
    });
  }
}

function innermost(error: unknown): string {
  let at = error;
  while (at instanceof Error && at.cause !== undefined) at = at.cause;
  return at instanceof Error ? at.message : String(at);
}

/** Why a stream was given up: nothing came for too long. As the reason of an abort it also says not to trust the connection. */
export class SilentError extends Error {
  override readonly name = "SilentError";
}

/** Credentials or a kubeconfig that cannot be used; the message says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Whether an error is an answer with one of these status codes. */
export function isStatus(error: unknown, ...statuses: readonly number[]): error is KubeError {
  return error instanceof KubeError && statuses.includes(error.status);
}
