/**
 * The `Status` answers of kube-apiserver, word for word where clients look at them.
 *
 * A request that cannot be served ends in an {@linkcode ApiError}; the app turns it into the `metav1.Status` body
 * that client-go understands.
 *
 * @module
 */

/** `metav1.StatusCause`. */
export interface Cause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

/** `metav1.StatusDetails`. */
export interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

/** `metav1.Status`. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly [name: string]: unknown };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: Details;
  /** Absent for what went well. */
  readonly code?: number;
}

/** What an error is about: the plural name of a resource (or a kind) and its group. */
export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** An answer that is not a success. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** What the answer warns of besides. */
  readonly warnings: string[] = [];
  constructor(readonly code: number, readonly reason: string, message: string, readonly details?: Details) {
    super(message);
  }
  get status(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details ? { details: this.details } : {}),
      code: this.code,
    };
  }
}

/** `httproutes.gateway.networking.k8s.io`, or `services` in the core group. */
export function groupResource(subject: Subject): string {
  return subject.group ? `${subject.plural}.${subject.group}` : subject.plural;
}

function details(subject: Subject, name?: string): Details {
  return {
    ...(name ? { name } : {}),
    ...(subject.group ? { group: subject.group } : {}),
    kind: subject.plural,
  };
}

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message);

export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized");

export function forbidden(
  subject: Subject,
  name: string,
  message: string,
  causes?: readonly Cause[],
): ApiError {
  return new ApiError(
    403,
    "Forbidden",
    `${groupResource(subject)} ${JSON.stringify(name)} is forbidden: ${message}`,
    { ...details(subject, name), ...(causes ? { causes } : {}) },
  );
}

export function notFound(subject: Subject, name: string): ApiError {
  const message = `${groupResource(subject)} ${JSON.stringify(name)} not found`;
  return new ApiError(404, "NotFound", message, details(subject, name));
}

/** For a path that names no resource. */
export const noSuchPath = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {});

export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );

export const notAcceptable = (accepted: readonly string[]): ApiError =>
  new ApiError(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${accepted.join(", ")}`,
  );

export function alreadyExists(subject: Subject, name: string): ApiError {
  const message = `${groupResource(subject)} ${JSON.stringify(name)} already exists`;
  return new ApiError(409, "AlreadyExists", message, details(subject, name));
}

export function conflict(subject: Subject, name: string, why: string): ApiError {
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${groupResource(subject)} ${JSON.stringify(name)}: ${why}`,
    details(subject, name),
  );
}

/** The text that client-go's `RetryOnConflict` users know. */
export const modified =
  "the object has been modified; please apply your changes to the latest version and try again";

export const expired = (message: string): ApiError => new ApiError(410, "Expired", message);

export const tooLarge = (message: string): ApiError =>
  new ApiError(413, "RequestEntityTooLarge", `Request entity too large: ${message}`, {});

/** For a patch that does not apply; `message` is more than kube-apiserver tells. */
export const unprocessable = (message: string): ApiError =>
  new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {
    causes: [{ message }],
  });

export const unsupportedMediaType = (message: string): ApiError =>
  new ApiError(415, "UnsupportedMediaType", message);

/** For a parameter of a request, `kind` being what Kubernetes calls all of them: `PatchOptions`. */
export function invalidOption(
  kind: OptionsKind,
  field: string,
  value: unknown,
  supported: readonly string[],
): ApiError {
  const list = supported.map((text) => JSON.stringify(text)).join(", ");
  return invalid({ group: "meta.k8s.io", plural: "", kind }, "", [{
    reason: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  }]);
}

/** For parameters that do not go together. */
export function forbiddenOption(kind: OptionsKind, field: string, why: string): ApiError {
  return invalid({ group: "meta.k8s.io", plural: "", kind }, "", [{
    reason: "FieldValueForbidden",
    field,
    message: `Forbidden: ${why}`,
  }]);
}

export type OptionsKind =
  | "ListOptions"
  | "CreateOptions"
  | "UpdateOptions"
  | "PatchOptions"
  | "DeleteOptions";

/** For a patch whose result is no object of the kind any more. */
export function invalidPatch(message: string): ApiError {
  return invalid({ group: "", plural: "", kind: "" }, "", [{
    reason: "FieldValueInvalid",
    field: "patch",
    message,
  }]);
}

/** `causes` say what is wrong with which field; their texts make up the message. */
export function invalid(subject: Subject, name: string, causes: readonly Cause[]): ApiError {
  const kind = subject.group ? `${subject.kind}.${subject.group}` : subject.kind;
  const texts = [
    ...new Set(causes.map((cause) => cause.field ? `${cause.field}: ${cause.message}` : cause.message)),
  ];
  const text = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError(422, "Invalid", `${kind} ${JSON.stringify(name)} is invalid: ${text}`, {
    ...(name ? { name } : {}),
    ...(subject.group ? { group: subject.group } : {}),
    kind: subject.kind,
    causes,
  });
}

export const tooManyRequests = (seconds: number): ApiError =>
  new ApiError(429, "TooManyRequests", "too many requests, please try again later", {
    retryAfterSeconds: seconds,
  });

export const internal = (message: string): ApiError =>
  new ApiError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });

/** For a revision that is yet to come. */
export const tooLargeResourceVersion = (wanted: number, current: number): ApiError =>
  new ApiError(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });

/** What a delete answers once the object is gone. */
export function success(subject: Subject, name: string, uid: string | undefined): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { ...details(subject, name), ...(uid ? { uid } : {}) },
  };
}
