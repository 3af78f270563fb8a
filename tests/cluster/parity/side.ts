/**
 * One of the two API servers that are compared, and how a scenario talks to it.
 *
 * What differs between any two servers (uids, resource versions, times) is named by the order in which it appears, so
 * that equal behaviour gives equal records.
 *
 * @module
 */

/** A server to talk to, as an administrator. */
export interface Side extends Disposable {
  readonly url: string;
  readonly client: Deno.HttpClient;
}

// deno-lint-ignore no-explicit-any -- bodies of every shape
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly warnings: readonly string[];
}

export interface CallOptions {
  readonly body?: unknown;
  /** `application/json` if absent. */
  readonly type?: string;
  readonly headers?: { readonly [name: string]: string };
}

/** What was asked, and what came back, in a form that can be compared. */
export interface Entry {
  readonly request: string;
  readonly answer: unknown;
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** A server that has not done within this time does not do it, in milliseconds. */
const patience = 20_000;

/** A scenario's view of a side. Everything that it asks is recorded. */
export class Recorder {
  readonly entries: Entry[] = [];
  readonly #uids = new Map<string, string>();
  /** The resource versions that each object has had, by its uid. */
  readonly #versions = new Map<string, string[]>();

  constructor(readonly side: Side, readonly namespace: string) {}

  /** Sends a request; `NS` in the path is the scenario's namespace. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.quietly(method, path, options);
    const said = `${method} ${path}${options.type ? ` (${options.type})` : ""}`;
    // What a dry run makes has a uid that is never seen again.
    if (/^POST .*dryRun=All/.test(said) && answer.body.metadata) delete answer.body.metadata.uid;
    this.#record(said, options.body, answer);
    return answer;
  }

  /** As {@linkcode call}, for what is not compared. */
  async quietly(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, type = "application/json", headers = {} } = options;
    const response = await fetch(this.side.url + path.replaceAll("NS", this.namespace), {
      method,
      headers: { ...body === undefined ? {} : { "Content-Type": type }, ...headers },
      ...body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) },
      client: this.side.client,
    });
    const text = await response.text();
    const whole = response.headers.get("Content-Type")?.includes("json") && !path.includes("watch=1");
    const warning = response.headers.get("Warning");
    return {
      status: response.status,
      body: whole ? JSON.parse(text) : text,
      warnings: [...(warning ?? "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, said]) => said!),
    };
  }

  /** Watches for a second; records the events, but for bookmarks that only tell how far a watch is. */
  async watch(path: string, query = "", headers: CallOptions["headers"] = {}): Promise<void> {
    const { status, body } = await this.quietly("GET", `${path}?watch=1&timeoutSeconds=1${query}`, {
      headers,
    });
    const events: Json[] = body.split("\n").filter((line: string) => line !== "").map((line: string) =>
      JSON.parse(line)
    );
    this.#record(`WATCH ${path}${query}`, undefined, {
      status,
      body: events.filter(({ type, object }) =>
        (type !== "BOOKMARK" || object.metadata.annotations) && object?.metadata?.name !== "kube-root-ca.crt"
      ),
      warnings: [],
    });
  }

  /** Asks again and again until the answer `holds`, and records that one. */
  async until(path: string, holds: (answer: Answer) => boolean): Promise<Answer> {
    const end = performance.now() + patience;
    for (;;) {
      const answer = await this.quietly("GET", path);
      if (holds(answer) || performance.now() > end) {
        this.#record(`GET ${path}, in the end`, undefined, answer);
        return answer;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** An answer in the form in which it is compared. */
  compared(answer: unknown): unknown {
    return this.#compared(answer, "");
  }

  #record(request: string, body: unknown, { status, body: answered, warnings }: Answer): void {
    const sent = typeof body === "string" ? body : JSON.stringify(plain(body)) ?? "";
    const said = warnings.map((text) => text.includes("deprecated") ? "<deprecated>" : text)
      .filter((text) => status < 400 || !text.startsWith("unknown field")).sort();
    const answer = { status, body: this.#compared(answered, ""), ...said.length > 0 && { warnings: said } };
    this.entries.push({
      request: `${request} ${sent.slice(0, 2000)}`.trim().replaceAll(uuid, "<uid>")
        .replace(/continue=[\w-]{20,}/, "continue=<token>").replace(
          /resourceVersion=\d{2,}/,
          "resourceVersion=<version>",
        ),
      answer,
    });
  }

  /** A name for a uid: the same for the same one. */
  #uid(uid: string): string {
    const name = this.#uids.get(uid) ?? `<uid ${this.#uids.size + 1}>`;
    this.#uids.set(uid, name);
    return name;
  }

  /** How a version relates to those that the object has had so far. */
  #version(uid: string, version: string): string {
    const before = this.#versions.get(uid) ?? [];
    this.#versions.set(uid, [...before, version]);
    if (before.at(-1) === version) return "<as before>";
    return before.includes(version) ? "<an old one>" : "<a new one>";
  }

  #compared(value: unknown, key: string): unknown {
    if (Array.isArray(value)) {
      return value.map((item) => this.#compared(item, key === "clusterIPs" ? key : ""));
    }
    if (typeof value === "object" && value !== null) {
      const object = value as Record<string, unknown>;
      const isList = typeof object["kind"] === "string" && object["kind"].endsWith("List");
      const isBookmark = key === "object" &&
        (object["metadata"] as Json)?.annotations?.["k8s.io/initial-events-end"];
      const entries = Object.entries(object).filter(([name]) => name !== "managedFields").map(
        ([name, inner]) => {
          if (isList && name === "metadata") {
            const { continue: next, ...metadata } = inner as { readonly continue?: string };
            return [name, { ...metadata, resourceVersion: "<list>", ...next && { continue: "<continue>" } }];
          }
          if (isBookmark && name === "metadata") {
            return [name, { ...inner as Json, resourceVersion: "<version>" }];
          }
          if (name === "resourceVersion" && typeof object["uid"] === "string") {
            return [name, this.#version(object["uid"], String(inner))];
          }
          return [name, this.#compared(inner, name)];
        },
      );
      return failure(Object.fromEntries(entries.toSorted(([a], [b]) => String(a) < String(b) ? -1 : 1)));
    }
    if (/nodeport$/i.test(key) && typeof value === "number" && value >= 30_000) return "<node port>";
    if (typeof value !== "string") return value;
    if (/^clusterIPs?$/.test(key) && value !== "None") return "<address>";
    if (value === this.namespace) return "NS";
    if (time.test(value) && (key === "" || /time|timestamp/i.test(key))) return "<time>";
    return value.replaceAll(uuid, (uid) => this.#uid(uid));
  }
}

/** Whether addresses are such as servers give to Services, or those of a Service that has none. */
const given = (addresses: Json): boolean => /^(10\.|fd|None)/.test([addresses].flat()[0] ?? "");

/** A body that was sent, without what is different everywhere and with its fields in order. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "string") return time.test(value) ? "<time>" : value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== "managedFields").map(([name, inner]) => {
    if (name === "resourceVersion" || name === "value" && /^\d{2,}$/.test(inner)) return [name, "<version>"];
    return [name, /^clusterIPs?$/.test(name) && given(inner) ? "<address>" : plain(inner)];
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => String(a) < String(b) ? -1 : 1));
}

/** A value with the fields of its objects in order. */
export function inOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value).toSorted().map((name) => [name, inOrder(value[name])]),
  );
}

/** Refusals of requests that are malformed: clients look at the code and the reason. */
const malformed = [400, 404, 405, 406, 413, 415];

/**
 * What matters of a failure. Prose is compared where clients read it: in the names of objects, and in the rules of
 * Gateway API; the texts of other refusals are each server's own.
 */
function failure(body: Json): Json {
  if (body.kind !== "Status" || body.status !== "Failure") return body;
  const { message, details, ...rest } = body;
  if (malformed.includes(body.code) && details?.name === undefined) return rest;
  const causes = details?.causes?.filter(({ field }: Json) => field !== "<nil>");
  // A patch that does not apply, or makes no object.
  if (body.code === 422 && (!details?.kind || causes?.some(({ field }: Json) => field === "patch"))) {
    return rest;
  }
  if (body.code === 504) return { ...rest, details, message: message.replace(/: \d+.*/, "") };
  if (body.reason === "Conflict" && /precondition/i.test(message)) return rest;
  if (body.reason !== "Invalid" || !causes) return { ...rest, message, details };
  const worded = /gateway/.test(details.group ?? "");
  const told = new Set<string>(
    causes.map(({ field, reason, message }: Json) =>
      [field, reason, ...worded ? [wording(message)] : []].join(" ")
    ),
  );
  return { ...rest, details: { ...details, causes: [...told].sort() } };
}

function wording(message: string): string {
  return message.replace(/"object": no such key: \w+ evaluating rule: /, "")
    .replace(/must be an object.* map$/, "must be an object");
}
