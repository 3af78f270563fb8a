/**
 * Objects of every kind through their lives: made, read, changed in each way there is, deleted.
 *
 * @module
 */
import type { Sample } from "./objects.ts";
import { samples } from "./objects.ts";
import { jsonPatch, merge, type Scenario, strategic } from "./scenario.ts";

const name = ({ kind, version }: Sample) => `${kind.kind} ${version}`;

/** An object whose name is not taken by another scenario, for kinds without namespaces. */
function own(sample: Sample, suffix: string) {
  const called = sample.kind.namespaced ? "x" : `${sample.version}-${suffix}`;
  return { called, object: { ...sample.object, metadata: { name: called } }, at: `${sample.path}/${called}` };
}

const life = (sample: Sample): Scenario => ({
  name: `${name(sample)}: from creation to deletion`,
  async run(api) {
    const { object, at } = own(sample, "life");
    await api.call("GET", at);
    const versioned = { ...object, metadata: { ...object.metadata, resourceVersion: "1" } };
    await api.call("POST", sample.path, { body: versioned });
    const { body: made } = await api.call("POST", sample.path, { body: object });
    await api.call("POST", sample.path, { body: object });
    await api.call("GET", at);
    await api.call("GET", `${sample.path}?fieldSelector=metadata.name%3D${made.metadata?.name}`);
    const { body: same } = await api.call("PUT", at, { body: made }); // changes nothing
    const { body: labelled } = await api.call("PUT", at, {
      body: { ...same, metadata: { ...same.metadata, labels: { a: "b" } } },
    });
    await api.call("PUT", at, { body: { ...made, metadata: { ...made.metadata, labels: { a: "c" } } } }); // old
    await api.call("PUT", at, { body: { ...labelled, metadata: { ...labelled.metadata, name: "other" } } });
    await api.call("PUT", at, { body: { ...labelled, metadata: { ...labelled.metadata, uid: "other" } } });
    await api.call("PUT", `${at}-not-there`, {
      body: { ...object, metadata: { name: `${object.metadata.name}-not-there` } },
    });
    const { body: changed } = await api.call("PATCH", at, { body: sample.change, type: merge });
    await api.call("PATCH", at, { body: sample.change, type: merge }); // changes nothing
    await api.call("PATCH", at, {
      body: { metadata: { resourceVersion: made.metadata?.resourceVersion, labels: { x: "y" } } },
      type: merge,
    });
    await api.call("PATCH", at, {
      body: { metadata: { resourceVersion: changed.metadata?.resourceVersion, annotations: { x: "y" } } },
      type: merge,
    });
    await api.call("DELETE", at, {
      body: { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } },
    });
    await api.call("DELETE", at, {
      body: { preconditions: { resourceVersion: made.metadata?.resourceVersion } },
    });
    await api.call("DELETE", `${at}?dryRun=All`);
    await api.call("DELETE", at);
    await api.call("DELETE", at);
    await api.call("GET", at);
  },
});

const patches = (sample: Sample): Scenario => ({
  name: `${name(sample)}: patches of each type`,
  async run(api) {
    const { object, at } = own(sample, "patches");
    await api.quietly("POST", sample.path, { body: object });
    const patch = (type: string, body: unknown) => api.call("PATCH", at, { type, body });
    await patch(jsonPatch, [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
    await patch(jsonPatch, [
      { op: "test", path: "/metadata/labels/a", value: "b" },
      { op: "replace", path: "/metadata/labels/a", value: "c" },
    ]);
    await patch(jsonPatch, [{ op: "test", path: "/metadata/labels/a", value: "b" }]);
    await patch(jsonPatch, [{ op: "remove", path: "/metadata/labels/none" }]);
    await patch(jsonPatch, [{ op: "move", from: "/metadata/labels/a", path: "/metadata/labels/b" }]);
    await patch(jsonPatch, [{ op: "copy", from: "/metadata/labels/b", path: "/metadata/labels/c" }]);
    await patch(jsonPatch, [{ op: "nonsense", path: "/metadata" }]);
    await patch(jsonPatch, []);
    await patch(merge, { metadata: { labels: { b: null, d: "1" } } });
    await patch(merge, { metadata: { labels: "wrong" } });
    await patch(merge, { metadata: { uid: "00000000-0000-0000-0000-000000000000" } });
    await patch(merge, { metadata: { name: "other" } });
    await patch(merge, { apiVersion: "v9" });
    await patch(merge, "not json");
    await patch(merge, "[]");
    await patch(jsonPatch, { not: "a list" });
    await patch("application/xml", "<a/>");
    await patch(strategic, { metadata: { labels: { e: "1" }, finalizers: ["example.com/a"] } });
    await patch(strategic, { metadata: { finalizers: ["example.com/b"] } });
    await patch(merge, { metadata: { finalizers: null } });
    await api.call("PATCH", `${at}?dryRun=All`, {
      type: merge,
      body: { metadata: { labels: { dry: "run" } } },
    });
    await api.call("PATCH", `${at}?dryRun=Some`, { type: merge, body: {} });
    await api.call("PATCH", `${at}-not-there`, { type: merge, body: {} });
    await api.call("GET", at);
    await api.quietly("DELETE", at);
  },
});

const finalizers = (sample: Sample): Scenario => ({
  name: `${name(sample)}: finalizers`,
  async run(api) {
    const { called, at } = own(sample, "finalizers");
    const metadata = { name: called, finalizers: ["example.com/one", "example.com/two"] };
    await api.call("POST", sample.path, { body: { ...sample.object, metadata } });
    await api.call("PATCH", at, { type: merge, body: { metadata: { finalizers: ["no-slash"] } } });
    await api.call("PATCH", at, {
      type: merge,
      body: { metadata: { finalizers: ["no-slash.example.com"] } },
    });
    await api.call("DELETE", at);
    await api.call("DELETE", at);
    await api.call("PATCH", at, {
      type: merge,
      body: { metadata: { finalizers: ["example.com/one", "example.com/three"] } },
    });
    await api.call("PATCH", at, { type: merge, body: { metadata: { labels: { still: "there" } } } });
    await api.call("PATCH", at, { type: merge, body: { metadata: { finalizers: ["example.com/one"] } } });
    await api.call("PATCH", at, { type: merge, body: { metadata: { finalizers: [] } } });
    await api.call("GET", at);
  },
});

const badMetadata = (sample: Sample): Scenario => ({
  name: `${name(sample)}: metadata that is refused`,
  async run(api) {
    const post = (metadata: unknown, query = "") =>
      api.call("POST", `${sample.path}?dryRun=All${query}`, { body: { ...sample.object, metadata } });
    await post({ name: "UPPER" });
    await post({ name: "" });
    await post({});
    await post({ name: "a".repeat(300) });
    await post({ name: "a/b" });
    await post({ name: "x", labels: { "a b": "c" } });
    await post({ name: "x", labels: { a: "c d" } });
    await post({ name: "x", labels: { a: 1 } });
    await post({ name: "x", annotations: { "a b": "c" } });
    await post({ name: "x", annotations: { a: "x".repeat(300_000) } });
    await post({ name: "x", finalizers: ["no-slash"] });
    await post({ name: "x", namespace: "elsewhere" });
    await post({ name: "x", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }] });
    await post({ name: "x", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "", uid: "u" }] });
    await post({ name: "x", unknown: "field" });
    await post({ name: "x", unknown: "field" }, "&fieldValidation=Strict");
    await post({ name: "x", unknown: "field" }, "&fieldValidation=Ignore");
    await post({ name: "x", creationTimestamp: "yesterday" });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: { ...sample.object, unknown: { deep: 1 } } });
    await api.call("POST", `${sample.path}?dryRun=All&fieldValidation=Strict`, {
      body: { ...sample.object, unknown: { deep: 1 } },
    });
    await api.call("POST", `${sample.path}?dryRun=All&fieldValidation=Maybe`, { body: sample.object });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: { ...sample.object, kind: "Other" } });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: { ...sample.object, apiVersion: "v9" } });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: "{" });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: "" });
    await api.call("POST", `${sample.path}?dryRun=All`, { body: sample.object, type: "text/plain" });
  },
});

const status = (sample: Sample): Scenario => ({
  name: `${name(sample)}: status`,
  async run(api) {
    const { object, at } = own(sample, "status");
    const { body: made } = await api.call("POST", sample.path, {
      body: { ...object, status: { conditions: [] } },
    });
    await api.call("GET", `${at}/status`);
    const condition = {
      type: "Accepted",
      status: "True",
      reason: "Accepted",
      message: "",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-02T03:04:05Z",
    };
    const to = { controllerName: "example.com/controller", conditions: [condition] };
    const reported = /Route$/.test(sample.kind.kind)
      ? { parents: [{ parentRef: { name: "g" }, ...to }] }
      : sample.kind.kind === "BackendTLSPolicy"
      ? { ancestors: [{ ancestorRef: { name: "g" }, ...to }] }
      : { conditions: [condition] };
    const { body: told } = await api.call("PUT", `${at}/status`, {
      body: { ...made, metadata: { ...made.metadata, labels: { not: "this" } }, status: reported },
    });
    await api.call("PUT", `${at}/status`, { body: { ...made, status: reported } }); // old
    await api.call("PATCH", `${at}/status`, { type: merge, body: { status: reported } }); // changes nothing
    await api.call("PATCH", `${at}/status`, { type: merge, body: { spec: { not: "this" } } });
    await api.call("PATCH", `${at}/status`, {
      type: jsonPatch,
      body: [{ op: "test", path: "/metadata/resourceVersion", value: made.metadata?.resourceVersion }],
    });
    await api.call("PATCH", `${at}/status`, {
      type: jsonPatch,
      body: [{ op: "test", path: "/metadata/resourceVersion", value: told.metadata?.resourceVersion }],
    });
    await api.call("PATCH", `${at}/status`, {
      type: merge,
      body: { status: { conditions: [{ type: "Bad" }] } },
    });
    await api.call("PATCH", `${at}/status`, { type: merge, body: { status: null } });
    await api.call("PUT", at, { body: { ...told, status: {} } });
    await api.quietly("DELETE", at);
  },
});

export const lives: readonly Scenario[] = samples.flatMap((sample) => [
  life(sample),
  patches(sample),
  finalizers(sample),
  badMetadata(sample),
  ...sample.kind.hasStatus ? [status(sample)] : [],
]);
