/**
 * What requests can ask for besides: other bodies and representations, dry runs, preconditions, old and future states.
 *
 * @module
 */
import { type Sample, samples } from "./objects.ts";
import { merge, type Scenario } from "./scenario.ts";
import type { Json, Recorder } from "./side.ts";

const storedOnes = samples.filter(({ kind, version }) =>
  kind.namespaced && kind.versions.find(({ storage }) => storage)?.name === version
);
const named = ({ object }: Sample, name: string, metadata: object = {}): Json => ({
  ...object,
  metadata: { name, ...metadata },
});

/** For each kind, what concerns whole requests. */
const perKind = storedOnes.map((sample): Scenario => ({
  name: `${sample.kind.kind}: options and forms of requests`,
  async run(api) {
    const { path } = sample, at = `${path}/x`;
    const object = named(sample, "x", { labels: { tier: "1", app: "a" } });
    await api.call("POST", `${path}?dryRun=All`, { body: object });
    await api.call("POST", `${path}?dryRun=Some`, { body: object });
    await api.call("GET", at);
    const { body: made } = await api.call("POST", path, {
      body: object,
      headers: partial("PartialObjectMetadata"),
    });
    const current = await api.quietly("GET", at);
    await api.call("PUT", `${at}?dryRun=All`, {
      body: { ...current.body, ...sample.change, metadata: current.body.metadata },
    });
    await api.call("PUT", at, { body: { ...current.body, metadata: { labels: { name: "none" } } } });
    await api.call("PUT", `${at}?dryRun=Some`, { body: current.body });
    await api.call("PATCH", `${at}?dryRun=All`, { type: merge, body: sample.change });
    await api.call("PATCH", at, {
      type: merge,
      body: { metadata: { labels: { tier: "2" } } },
      headers: partial("PartialObjectMetadata"),
    });
    await api.call("PATCH", `${at}?fieldManager=me`, { type: "application/apply-patch+yaml", body: object });
    await table(api, path, "?labelSelector=app");
    await api.call("GET", `${path}?labelSelector=${encodeURIComponent("tier>1,tier<3")}`);
    await api.call("GET", `${path}?labelSelector=${encodeURIComponent("tier in (1,2),app notin (b),!x")}`);
    await api.call(
      "GET",
      `${path}?fieldSelector=${encodeURIComponent("metadata.name=x,metadata.namespace!=y")}`,
    );
    await api.call("GET", at, { headers: { Accept: "text/html" } });
    await api.call("POST", path, { body: "a: b", type: "application/yaml" });
    await api.call("POST", at, { body: object });
    await api.call("PUT", path, { body: object });
    await api.call("DELETE", `${path}?labelSelector=app&dryRun=All`);
    await api.call("DELETE", `${at}?dryRun=Some`);
    await api.call("DELETE", at, {
      body: { preconditions: { uid: made.metadata?.uid, resourceVersion: "1" } },
    });
    await api.call("DELETE", at, { body: { preconditions: { uid: made.metadata?.uid } } });
    await api.call("GET", at);
  },
}));

const partial = (as: string) => ({ Accept: `application/json;as=${as};g=meta.k8s.io;v=v1` });

/** The rows of a table, but for ages, which are a matter of time, and addresses, which each server gives as it likes. */
async function table(api: Recorder, path: string, query: string): Promise<void> {
  const { status, body } = await api.quietly("GET", path + query, { headers: partial("Table") });
  const columns = body.columnDefinitions?.map(({ description: _, ...column }: Json) => column);
  const cells = body.rows?.map(({ cells }: Json) =>
    cells.map((cell: Json, i: number) =>
      /Age|Created|Seen|Cluster-IP/.test(columns[i].name) ? `<${columns[i].name}>` : cell
    )
  );
  const kinds = body.rows?.map(({ object }: Json) => [object.kind, object.apiVersion]);
  api.entries.push({
    request: `table of ${path}`,
    answer: api.compared({ status, columns, cells, kinds }),
  });
}

const states: readonly Scenario[] = storedOnes.filter(({ kind }) => /^Secret$|^Gateway$/.test(kind.kind))
  .map((
    sample,
  ) => ({
    name: `${sample.kind.kind}: states of old and yet to come`,
    async run(api) {
      const { path } = sample;
      await api.quietly("POST", path, { body: named(sample, "a", { labels: { of: "test" } }) });
      const { body: { metadata: { resourceVersion: old } } } = await api.quietly("GET", path);
      await api.quietly("POST", path, { body: named(sample, "b", { labels: { of: "test" } }) });
      await api.quietly("DELETE", `${path}/a`);
      const list = `${path}?labelSelector=of`;
      await api.call("GET", `${list}&resourceVersion=${old}&resourceVersionMatch=Exact`);
      await api.call("GET", `${list}&resourceVersion=${old}&resourceVersionMatch=NotOlderThan`);
      await api.call("GET", `${list}&resourceVersion=${old}`);
      await api.call("GET", `${list}&resourceVersion=${old}&limit=1`);
      await api.call("GET", `${list}&resourceVersion=9000000000000000`);
      await api.watch(path, `&resourceVersion=${old}&labelSelector=of`);
      await api.watch(path, `&resourceVersion=${old}&labelSelector=of&allowWatchBookmarks=true`);
      await api.watch(path, "&resourceVersion=9000000000000000");
      await api.watch(path, `&resourceVersion=${old}&resourceVersionMatch=NotOlderThan`);
      await api.watch(path, "&labelSelector=of", partial("PartialObjectMetadata"));
      await api.watch(path, `&resourceVersion=0&fieldSelector=metadata.name%3Db`);
      await api.call("GET", `${path}?continue=nonsense&limit=1`);
      await api.call("DELETE", `${list}&resourceVersion=9000000000000000`);
    },
  }));

const large: Scenario = {
  name: "bodies that are too large",
  async run(api) {
    const maps = "/api/v1/namespaces/NS/configmaps";
    await api.call("POST", maps, {
      body: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "x" },
        data: { a: "x".repeat(3_500_000) },
      },
    });
    await api.call("POST", maps, { body: { metadata: { name: "x" }, data: { a: "1" } } });
    const operations = Array.from({ length: 10_001 }, () => ({ op: "remove", path: "/data" }));
    await api.call("PATCH", `${maps}/x`, { type: "application/json-patch+json", body: operations });
  },
};

/** Owners of other kinds, and owners that are not there. */
const owners: Scenario = {
  name: "cascade: owners of another kind, and such as are not there",
  async run(api) {
    const maps = "/api/v1/namespaces/NS/configmaps";
    const routes = "/apis/gateway.networking.k8s.io/v1/namespaces/NS/httproutes";
    const map = (name: string, ...ownerReferences: readonly Json[]) =>
      api.quietly("POST", maps, {
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ownerReferences } },
      });
    const owner = async (name: string) => {
      const apiVersion = "gateway.networking.k8s.io/v1", kind = "HTTPRoute";
      const { body } = await api.quietly("POST", routes, {
        body: { apiVersion, kind, metadata: { name }, spec: {} },
      });
      return { apiVersion, kind, name, uid: body.metadata.uid };
    };
    const [one, other] = [await owner("one"), await owner("other")];
    await map("of-both", one, other);
    await map("of-one", { ...one, blockOwnerDeletion: true });
    await map("of-nobody", { ...one, uid: "00000000-0000-0000-0000-000000000000" });
    await api.until(`${maps}/of-nobody`, ({ status }) => status === 404);
    await api.call("DELETE", `${routes}/one?propagationPolicy=Foreground`);
    await api.until(`${routes}/one`, ({ status }) => status === 404);
    await api.until(`${maps}/of-one`, ({ status }) => status === 404);
    await api.until(`${maps}/of-both`, ({ body }) => body.metadata.ownerReferences.length === 1);
    await api.call("DELETE", `${routes}?fieldSelector=metadata.name%3Dother&propagationPolicy=Orphan`);
    await api.until(`${maps}/of-both`, ({ body }) => body.metadata.ownerReferences === undefined);
  },
};

export const requests: readonly Scenario[] = [...perKind, ...states, large, owners];
