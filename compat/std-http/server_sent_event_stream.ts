/**
 * Server-sent events, written. https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * @module
 */

/** One event. */
export interface ServerSentEventMessage {
  comment?: string;
  event?: string;
  /** May have several lines. */
  data?: string;
  id?: string | number;
  /** When to connect again, in milliseconds. */
  retry?: number;
}

const lineEnd = /\r\n|\r|\n/;

function oneLine(field: "event" | "id", value: string): string {
  if (!lineEnd.test(value)) return `${field}:${value}`;
  throw new SyntaxError(`Cannot serialize message: \`message.${field}\` cannot contain a newline`);
}

function serialize({ comment, event, data, id, retry }: ServerSentEventMessage): string {
  const lines = [
    ...(comment?.split(lineEnd).map((line) => `:${line}`) ?? []),
    ...(event === undefined ? [] : [oneLine("event", event)]),
    ...(data?.split(lineEnd).map((line) => `data:${line}`) ?? []),
    ...(id === undefined ? [] : [oneLine("id", String(id))]),
    ...(retry === undefined ? [] : [`retry:${retry}`]),
  ];
  return lines.join("\n") + "\n\n";
}

/** Makes the body of a `text/event-stream` from messages. */
export class ServerSentEventStream extends TransformStream<ServerSentEventMessage, Uint8Array> {
  constructor() {
    const encoder = new TextEncoder();
    super({ transform: (message, controller) => controller.enqueue(encoder.encode(serialize(message))) });
  }
}
