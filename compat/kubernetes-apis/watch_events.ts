import type { JSONObject, JSONValue, WatchEvent } from "./deps.ts";

function shapeOf(value: JSONValue): string {
  return value == null ? "null" : Array.isArray(value) ? "Array" : typeof value;
}

/** Decodes the objects in a stream of watch events; errors the stream at the first that is none. */
export class WatchEventTransformer<T, U> extends TransformStream<JSONObject, WatchEvent<T, U>> {
  constructor(objValidator: (val: JSONObject) => T, errValidator: (val: JSONObject) => U) {
    super({
      transform({ type, object }, controller) {
        if (typeof type !== "string") throw new Error(`BUG: watch record 'type' field was ${typeof type}`);
        if (shapeOf(object) !== "object") {
          throw new Error(`BUG: watch record 'object' field was ${shapeOf(object)}`);
        }
        const value = object as JSONObject;
        if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") {
          controller.enqueue({ type, object: objValidator(value) });
        } else if (type === "ERROR") {
          controller.enqueue({ type, object: errValidator(value) });
        } else if (type === "BOOKMARK") {
          const { metadata } = value;
          const version = shapeOf(metadata) === "object" && (metadata as JSONObject).resourceVersion;
          if (typeof version !== "string") {
            throw new Error(`BUG: BOOKMARK event wasn't recognizable: ${JSON.stringify(value)}`);
          }
          controller.enqueue({ type, object: { metadata: { resourceVersion: version } } });
        } else {
          throw new Error(`BUG: watch record got unknown event type ${type}`);
        }
      },
    });
  }
}
