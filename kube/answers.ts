/**
 * Reads the answers of an API server.
 *
 * @module
 */
import type { JSONValue } from "@cloudydeno/kubernetes-apis/common.ts";
import { ConnectionError, KubeError, type Status } from "./errors.ts";
import { join, linesOf } from "./lines.ts";

/** The longest single line of a watch: far above the 1.5 MiB that etcd takes. */
export const mostLineBytes = 16 * 1024 * 1024;

/** More than any Status, which is all that is to be read of a failure. */
const mostFailureBytes = 1024 * 1024;

/** An answer that is larger than allowed. */
export class AnswerTooLargeError extends ConnectionError {
  override readonly name = "AnswerTooLargeError";
  constructor(request: string, mostBytes: number) {
    super(`Cannot ${request}: the answer is larger than ${mostBytes} bytes`, { passing: false });
  }
}

/** Reads a whole body: in one go if it is known to be small enough. */
export async function readBody(
  request: string,
  response: Response,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { headers } = response, announced = headers.get("content-length");
  if (announced !== null && Number(announced) <= mostBytes && !headers.has("content-encoding")) {
    return new Uint8Array(await response.arrayBuffer());
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early cancels the rest.
  for await (const chunk of response.body ?? []) {
    parts.push(chunk);
    length += chunk.length;
    if (length > mostBytes) throw new AnswerTooLargeError(request, mostBytes);
  }
  return join(parts, length);
}

/** The value that a body holds, `undefined` if it is empty. */
export function decodeJson(request: string, body: Uint8Array): JSONValue {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(body)) as JSONValue;
  } catch (cause) {
    throw new ConnectionError(
      `Cannot ${request}: the answer is no JSON; is this the address of a Kubernetes API server?`,
      { cause, passing: false },
    );
  }
}

/** The error that an answer without success is. */
export async function answerFailure(request: string, response: Response, now: Date): Promise<KubeError> {
  const text = new TextDecoder().decode(
    // The status is known; a text that does not arrive must not hide it.
    await readBody(request, response, mostFailureBytes).catch(() => new Uint8Array()),
  );
  const retryAfter = readRetryAfter(response.headers.get("retry-after"), now);
  return new KubeError(
    request,
    response.status,
    readStatus(text),
    retryAfter === undefined ? {} : { retryAfter },
  );
}

function readStatus(text: string): Status {
  try {
    const value = JSON.parse(text) as { readonly kind?: unknown } & Status;
    if (value?.kind === "Status") return value;
  } catch {
    // Not from the API server but from something before it; the text is all there is.
  }
  return { message: text.trim().slice(0, 500) };
}

/** Milliseconds, from seconds or a date. RFC 9110, 10.2.3. */
function readRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/**
 * The body of an answer that stays open. Its errors say what was asked; `ended` is called once, when it has ended,
 * failed or was cancelled.
 */
export function tellingStream(
  request: string,
  body: ReadableStream<Uint8Array> | null,
  abort: AbortController,
  { heard, ended }: { readonly heard: () => void; readonly ended: () => void },
): ReadableStream<Uint8Array> {
  if (body === null) {
    ended();
    return new ReadableStream({ start: (controller) => controller.close() });
  }
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // A read that is under way would go on until something comes, and from a peer that is gone nothing does.
      abort.signal.addEventListener("abort", () => {
        controller.error(abort.signal.reason);
        reader.cancel(abort.signal.reason).catch(() => {});
        ended();
      }, { once: true });
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        heard();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(abort.signal.aborted ? abort.signal.reason : ConnectionError.from(request, error));
      }
      ended();
    },
    cancel(reason) {
      // Both: cancelling alone has been seen to leave the stream open on the wire.
      abort.abort(reason);
      reader.cancel(reason).catch(() => {});
      ended();
    },
  }, { highWaterMark: 0 });
}

/** The values of a stream that has one on each line. */
export function jsonLines(bytes: ReadableStream<Uint8Array>): ReadableStream<JSONValue> {
  return ReadableStream.from(async function* () {
    for await (const line of linesOf(bytes, mostLineBytes)) yield JSON.parse(line) as JSONValue;
  }());
}
