/**
 * What the stand-in for `@cloudydeno/kubernetes-apis` does, quirks included; run with `deno.jsr.json`, the same holds for the
 * real one.
 */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as common from "@cloudydeno/kubernetes-apis/common.ts";
import {
  CoordinationV1Api,
  fromLease,
  toLease,
  toLeaseList,
} from "@cloudydeno/kubernetes-apis/coordination.k8s.io/v1";
import * as core from "@cloudydeno/kubernetes-apis/core/v1";
import * as events from "@cloudydeno/kubernetes-apis/events.k8s.io/v1";
import * as meta from "@cloudydeno/kubernetes-apis/meta/v1";
import * as operations from "@cloudydeno/kubernetes-apis/operations.ts";
import type { JSONValue, RequestOptions, RestClient } from "@cloudydeno/kubernetes-apis/deps.ts";

const bug = "This is likely a library bug. Feel free to file an issue with a stack trace.";

function message(run: () => unknown): string {
  return assertThrows(run, Error).message;
}

Deno.test("checks of values", () => {
  assertEquals(common.checkStr("a"), "a");
  assertEquals(common.checkNum(0), 0);
  assertEquals(common.checkBool(false), false);
  assertEquals(common.checkObj({ a: 1 }), { a: 1 });
  assertEquals(common.identity([1]), [1]);
  assertEquals(common.readOpt(null, common.checkStr), null);
  assertEquals(common.readOpt(undefined, common.checkStr), undefined);
  assertEquals(common.readOpt("a", common.checkStr), "a");
  assertEquals(common.readList(["a"], common.checkStr), ["a"]);
  assertEquals({ ...common.readMap({ a: "b" }, common.checkStr) }, { a: "b" });
  assertEquals(common.writeMap(null, String), null);
  const half = { a: 1, b: null } as unknown as Record<string, number>;
  assertEquals({ ...common.writeMap(half, String) as Record<string, string> }, { a: "1" });
  assertEquals(common.readEnum("x"), "x");
  assertEquals(common.toIntOrString("80"), "80");
  assertEquals(common.toIntOrString(80), 80);
  const wrong: readonly (readonly [run: () => unknown, message: string])[] = [
    [() => common.checkStr(1), "Expected a string here, but got a number."],
    [() => common.checkStr(null), "Expected a value here, but got null."],
    [() => common.checkNum("1"), "Expected a number here, but got a string."],
    [() => common.checkBool("true"), "Expected a boolean here, but got a string."],
    [() => common.checkObj("{}"), "Expected an object here, but got a string."],
    [() => common.checkObj([]), "Didn't expect an array here, but got one anyway."],
    [() => common.readList({}, common.checkStr), "Expected an array here, but got a object."],
    [() => common.readList(undefined, common.checkStr), "Expected a value here, but got null."],
    [() => common.readMap([], common.checkStr), "Didn't expect an array here, but got one anyway."],
    [() => common.readEnum(null), "Expected a string here, but got null."],
    [() => common.readEnum(1), "Expected a string here, but got a number."],
    [() => common.toIntOrString(true), "Expected a string or number here, but got a boolean."],
  ];
  for (const [run, text] of wrong) assertEquals(message(run), `${text} ${bug}`);
});

Deno.test("quantities lose their fraction", () => {
  const rows: readonly (readonly [text: string, number: number, suffix: string, again: string])[] = [
    ["2", 2, "", "2"],
    ["100m", 100, "m", "100m"],
    ["1.5Gi", 1, "Gi", "1Gi"],
    ["12e3", 12, "e3", "12e3"],
    ["1k", 1, "k", "1k"],
  ];
  for (const [text, number, suffix, again] of rows) {
    const quantity = common.toQuantity(text);
    assertEquals([quantity.number, quantity.suffix, quantity.serialize()], [number, suffix, again]);
    assertEquals(common.fromQuantity(quantity), again);
  }
});

Deno.test("times", () => {
  const time = common.toTime("2026-01-02T03:04:05Z");
  assertEquals(time.valueOf(), Date.UTC(2026, 0, 2, 3, 4, 5));
  assertEquals(common.fromTime(time), "2026-01-02T03:04:05.000Z");
  assertEquals(common.fromTime(1), "1970-01-01T00:00:01.000Z");
  assertEquals(common.fromTime(null), null);
  assertEquals(
    message(() => common.toTime("2026-01-02")),
    `Expected a time string here, but I didn't see a "T" in "2026-01-02". ${bug}`,
  );
  assertEquals(message(() => common.toTime("T")), `Time string "T" failed to parse. ${bug}`);
});

Deno.test("times in microseconds need a fraction, of which the digits are counted as they are", () => {
  const exact = common.toMicroTime("2026-01-02T03:04:05.678901Z");
  assertEquals([exact.baseDate.valueOf(), exact.micros], [Date.UTC(2026, 0, 2, 3, 4, 5), 678901]);
  assertEquals(common.fromMicroTime(exact), "2026-01-02T03:04:05.678901Z");
  assertEquals(common.toMicroTime("2026-01-02T03:04:05.5Z").toISOString(), "2026-01-02T03:04:05.000005Z");
  assertEquals(new common.MicroTime(new Date(999), 42).toISOString(), "1970-01-01T00:00:00.000042Z");
  assertEquals(
    message(() => common.toMicroTime("2026-01-02T03:04:05Z")),
    `TODO: toMicroTime for 2026-01-02T03:04:05Z. ${bug}`,
  );
});

Deno.test("kinds", () => {
  const check = (input: object, required?: boolean) =>
    common.assertOrAddApiVersionAndKind(input as never, "v1", "Secret", required);
  assertEquals(check({}), { apiVersion: "v1", kind: "Secret" });
  assertEquals(check({ apiVersion: "v1", kind: "Secret", data: {} }), { apiVersion: "v1", kind: "Secret" });
  assertEquals(
    message(() => check({}, true)),
    `Kubernetes Resource Mistype: Expected "v1/Secret", but the given object didn't have any API metadata. ${bug}`,
  );
  assertEquals(
    message(() => check({ apiVersion: "v1", kind: "Pod" })),
    `Kubernetes Resource Mistype: Expected "v1/Secret", but was given "v1/Pod". ${bug}`,
  );
  const status = { apiVersion: "v1", kind: "Status", message: "no", code: 403 };
  const error = assertThrows(() => check(status), Error) as Error & { status?: meta.Status };
  assertEquals(error.message, "Kubernetes says: no");
  assertEquals(error.status?.code, 403);
  assertEquals([common.isStatusKind(status), common.isStatusKind(null), common.isStatusKind("v1")], [
    true,
    false,
    false,
  ]);
});

Deno.test("media types of patches", () => {
  assertEquals(common.getPatchContentType("strategic-merge"), "application/strategic-merge-patch+json");
  assertEquals(common.getPatchContentType("json-merge"), "application/merge-patch+json");
  assertEquals(common.getPatchContentType("json-patch"), "application/json-patch+json");
  assertEquals(common.getPatchContentType("apply-patch"), "application/apply-patch+yaml");
  assertEquals(
    message(() => common.getPatchContentType("x" as never)),
    'Unknown Kubernetes patch type: "x"',
  );
});

Deno.test("options as a query", () => {
  const abortSignal = AbortSignal.abort();
  assertEquals(
    operations.formatGetListOpts({ limit: 5, continue: "c", sendInitialEvents: false, abortSignal })
      .toString(),
    "continue=c&limit=5&sendInitialEvents=0",
  );
  assertEquals(
    operations.formatWatchListOpts({ resourceVersion: "5", allowWatchBookmarks: true, timeoutSeconds: 9 })
      .toString(),
    "watch=1&allowWatchBookmarks=1&resourceVersion=5&timeoutSeconds=9",
  );
  assertEquals(
    operations.formatPutOpts({ fieldManager: "m", dryRun: "All" }).toString(),
    "dryRun=All&fieldManager=m",
  );
  assertEquals(
    operations.formatPatchOpts({ force: true, fieldManager: "m" }).toString(),
    "fieldManager=m&force=1",
  );
  assertEquals(
    operations.formatDeleteOpts({ propagationPolicy: "Foreground", gracePeriodSeconds: 0 }).toString(),
    "gracePeriodSeconds=0&propagationPolicy=Foreground",
  );
  assertEquals(
    operations.formatDeleteListOpts({ labelSelector: "a=b", limit: 1, dryRun: "All" }).toString(),
    "dryRun=All&labelSelector=a%3Db&limit=1",
  );
});

/** JSON as it goes over the wire: what is `undefined` is not there. */
function wire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const metadata = {
  name: "a",
  namespace: "b",
  labels: { x: "y" },
  creationTimestamp: "2026-01-02T03:04:05.000Z",
  managedFields: [{ manager: "m", fieldsV1: { "f:x": {} }, time: "2026-01-02T03:04:05.000Z" }],
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }],
};

const roundTrips: {
  readonly [name: string]: readonly [object: JSONValue, again: (input: JSONValue) => unknown];
} = {
  Lease: [{
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata,
    spec: {
      acquireTime: "2026-01-02T03:04:05.000001Z",
      holderIdentity: "h",
      leaseDurationSeconds: 15,
      leaseTransitions: 2,
      preferredHolder: "p",
      renewTime: "2026-01-02T03:04:06.000002Z",
      strategy: "s",
    },
  }, (input) => fromLease(toLease(input))],
  Secret: [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      type: "Opaque",
      immutable: true,
      data: { a: "b" },
      stringData: {},
    },
    (input) => core.fromSecret(core.toSecret(input)),
  ],
  ConfigMap: [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { a: "b" },
      binaryData: { c: "ZA==" },
      immutable: false,
    },
    (input) => core.fromConfigMap(core.toConfigMap(input)),
  ],
  ServiceAccount: [{
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata,
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "x" }],
    secrets: [{ kind: "Secret", name: "s", fieldPath: "f" }],
  }, (input) => core.fromServiceAccount(core.toServiceAccount(input))],
  Service: [{
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: {
      allocateLoadBalancerNodePorts: true,
      clusterIP: "10.0.0.1",
      clusterIPs: ["10.0.0.1"],
      externalIPs: ["1.2.3.4"],
      externalName: "x.example",
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 1,
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      loadBalancerClass: "c",
      loadBalancerIP: "1.2.3.4",
      loadBalancerSourceRanges: ["0.0.0.0/0"],
      ports: [{
        name: "http",
        port: 80,
        targetPort: "http",
        nodePort: 30000,
        protocol: "TCP",
        appProtocol: "h2c",
      }],
      publishNotReadyAddresses: true,
      selector: { app: "x" },
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
      trafficDistribution: "PreferClose",
      type: "LoadBalancer",
    },
    status: {
      conditions: [{
        type: "T",
        status: "True",
        reason: "R",
        message: "",
        observedGeneration: 1,
        lastTransitionTime: "2026-01-02T03:04:05.000Z",
      }],
      loadBalancer: {
        ingress: [{
          ip: "1.2.3.4",
          ipMode: "VIP",
          hostname: "h",
          ports: [{ port: 1, protocol: "TCP", error: "e" }],
        }],
      },
    },
  }, (input) => core.fromService(core.toService(input))],
  Namespace: [{
    apiVersion: "v1",
    kind: "Namespace",
    metadata,
    spec: { finalizers: ["kubernetes"] },
    status: {
      phase: "Active",
      conditions: [{
        type: "T",
        status: "True",
        lastTransitionTime: "2026-01-02T03:04:05.000Z",
        reason: "R",
        message: "",
      }],
    },
  }, (input) => core.fromNamespace(core.toNamespace(input))],
  Event: [{
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata,
    action: "a",
    deprecatedCount: 1,
    deprecatedFirstTimestamp: "2026-01-02T03:04:05.000Z",
    deprecatedLastTimestamp: "2026-01-02T03:04:05.000Z",
    deprecatedSource: { component: "c", host: "h" },
    eventTime: "2026-01-02T03:04:05.000001Z",
    note: "n",
    reason: "r",
    regarding: {
      kind: "Gateway",
      name: "g",
      namespace: "b",
      uid: "u",
      apiVersion: "v1",
      resourceVersion: "1",
    },
    related: { kind: "Pod" },
    reportingController: "rc",
    reportingInstance: "ri",
    series: { count: 2, lastObservedTime: "2026-01-02T03:04:05.000002Z" },
    type: "Normal",
  }, (input) => events.fromEvent(events.toEvent(input))],
  Status: [{
    apiVersion: "v1",
    kind: "Status",
    metadata: { continue: "c", remainingItemCount: 1, resourceVersion: "5", selfLink: "s" },
    code: 422,
    message: "m",
    reason: "Invalid",
    status: "Failure",
    details: {
      name: "n",
      group: "g",
      kind: "k",
      uid: "u",
      retryAfterSeconds: 1,
      causes: [{ field: "f", message: "m", reason: "r" }],
    },
  }, (input) => meta.fromStatus(meta.toStatus(input))],
};

for (const [name, [object, again]] of Object.entries(roundTrips)) {
  Deno.test(`${name}: every known field comes back, others are dropped, null stays null`, () => {
    assertEquals(wire(again(object)), object);
    assertEquals(wire(again({ ...object as object, unknown: 1 })), object);
    const { kind: _, apiVersion: __, ...bare } = object as Record<string, JSONValue>;
    assertEquals(wire(again(bare)), object, "the kind is added");
  });
}

Deno.test("decoded objects have every field, encoded ones keep what they are given", () => {
  assertEquals(Object.keys(core.toSecret({})), [
    "apiVersion",
    "kind",
    "data",
    "immutable",
    "metadata",
    "stringData",
    "type",
  ]);
  assertEquals(core.toSecret({ data: null }).data, null);
  assertEquals(wire(core.fromSecret({ metadata: null, data: null })), {
    apiVersion: "v1",
    kind: "Secret",
    data: null,
  });
  assertEquals(wire(core.fromSecret({ extra: 1 } as core.Secret)), {
    apiVersion: "v1",
    kind: "Secret",
    extra: 1,
  });
  assertEquals(wire(core.fromService({ spec: { ports: null } })), {
    apiVersion: "v1",
    kind: "Service",
    spec: {},
  });
  assertThrows(() => core.toSecret({ data: { a: 1 } }), Error, "Expected a string here, but got a number.");
  assertThrows(() => events.toEvent({}), Error, "Expected a value here, but got null.");
});

Deno.test("lists", () => {
  const list = toLeaseList({
    apiVersion: "coordination.k8s.io/v1",
    kind: "LeaseList",
    metadata: { resourceVersion: "5" },
    items: [{ metadata: { name: "a" } }],
  });
  assertEquals(wire(list), {
    apiVersion: "coordination.k8s.io/v1",
    kind: "LeaseList",
    metadata: { resourceVersion: "5" },
    items: [{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a" } }],
  });
});

/** Remembers what is asked, and answers the same to everything. */
function recorder(answer: unknown) {
  const asked: RequestOptions[] = [];
  const client = {
    performRequest: (options: RequestOptions) => {
      asked.push(options);
      return Promise.resolve(answer);
    },
    [Symbol.dispose]: () => {},
  } as unknown as RestClient;
  return { asked, client };
}

interface AnyApi {
  readonly [method: string]: (...args: unknown[]) => Promise<unknown>;
}

const kinds = [
  ["Lease", "leases", "/apis/coordination.k8s.io/v1/", CoordinationV1Api],
  ["Event", "events", "/apis/events.k8s.io/v1/", events.EventsV1Api],
  ["Secret", "secrets", "/api/v1/", core.CoreV1Api],
  ["ConfigMap", "configmaps", "/api/v1/", core.CoreV1Api],
  ["ServiceAccount", "serviceaccounts", "/api/v1/", core.CoreV1Api],
  ["Service", "services", "/api/v1/", core.CoreV1Api],
] as const;

for (const [name, plural, root, Api] of kinds) {
  Deno.test(`requests for ${name}`, async () => {
    const [object] = roundTrips[name]!;
    const { client, asked } = recorder(object);
    const api = new Api(client).namespace("b") as unknown as AnyApi;
    const all = `${root}namespaces/b/${plural}`;
    const body = {
      metadata: { name: "a" },
      ...(name === "Event" ? { eventTime: new common.MicroTime(new Date(0), 1) } : {}),
    };
    const said = {
      ...(name === "Event" ? { eventTime: "1970-01-01T00:00:00.000001Z" } : {}),
      apiVersion: (object as common.ApiKind).apiVersion,
      kind: name,
      metadata: { name: "a" },
    };
    const { signal: abortSignal } = new AbortController();
    const operation = [{ op: "remove", path: "/x" }];
    const cases: readonly (readonly [
      method: string,
      args: unknown[],
      verb: string,
      path: string,
      body?: unknown,
      type?: string,
    ])[] = [
      [`create${name}`, [body], "POST", all, said],
      [`get${name}`, ["a"], "GET", `${all}/a`],
      [`replace${name}`, ["a", body], "PUT", `${all}/a`, said],
      [
        `patch${name}`,
        ["a", "apply-patch", body],
        "PATCH",
        `${all}/a`,
        said,
        "application/apply-patch+yaml",
      ],
      [
        `patch${name}`,
        ["a", "json-patch", operation],
        "PATCH",
        `${all}/a`,
        operation,
        "application/json-patch+json",
      ],
      [`delete${name}`, ["a"], "DELETE", `${all}/a`],
      ...(name === "Service"
        ? [
          ["getServiceStatus", ["a"], "GET", `${all}/a/status`],
          ["replaceServiceStatus", ["a", body], "PUT", `${all}/a/status`, said],
          [
            "patchServiceStatus",
            ["a", "json-merge", body],
            "PATCH",
            `${all}/a/status`,
            said,
            "application/merge-patch+json",
          ],
        ] as const
        : []) as never[],
    ];
    for (const [method, args, verb, path, sent, type] of cases) {
      const result = await api[method]!(...args, { abortSignal });
      assertEquals((result as common.ApiKind).kind, name, method);
      const { method: usedVerb, path: usedPath, bodyJson, contentType, expectJson, abortSignal: used } = asked
        .pop()!;
      assertEquals([usedVerb, usedPath, wire(bodyJson ?? null), contentType, expectJson], [
        verb,
        path,
        sent ?? null,
        type,
        true,
      ], method);
      assertEquals(used, abortSignal);
    }
  });

  Deno.test(`lists of ${name}`, async () => {
    const list = {
      apiVersion: root.replace(/^\/apis?\/(.*)\/$/, "$1"),
      kind: `${name}List`,
      metadata: {},
      items: [],
    };
    const { client, asked } = recorder(list);
    const api = new Api(client) as unknown as AnyApi;
    const namespaced = new Api(client).namespace("b") as unknown as AnyApi;
    await api[`get${name}ListForAllNamespaces`]!({ limit: 5 });
    await namespaced[`get${name}List`]!({ labelSelector: "a" });
    await namespaced[`delete${name}List`]!();
    const seen = asked.map(({ method, path, querystring }) => `${method} ${path}?${querystring}`);
    assertEquals(seen, [
      `GET ${root}${plural}?limit=5`,
      `GET ${root}namespaces/b/${plural}?labelSelector=a`,
      `DELETE ${root}namespaces/b/${plural}?`,
    ]);
  });
}

Deno.test("namespaces have no namespace", async () => {
  const { client, asked } = recorder(roundTrips.Namespace![0]);
  const api = new core.CoreV1Api(client);
  await api.getNamespace("a");
  await api.createNamespace({ metadata: { name: "a" } });
  await api.patchNamespaceStatus("a", "json-merge", { status: { phase: "Active" } });
  assertEquals(asked.map(({ method, path }) => `${method} ${path}`), [
    "GET /api/v1/namespaces/a",
    "POST /api/v1/namespaces",
    "PATCH /api/v1/namespaces/a/status",
  ]);
});

Deno.test("myNamespace is the client's own", async () => {
  const { client, asked } = recorder(roundTrips.Lease![0]);
  assertEquals(message(() => new CoordinationV1Api(client).myNamespace()), "No current namespace is set");
  client.defaultNamespace = "mine";
  await new CoordinationV1Api(client).myNamespace().getLease("a");
  assertEquals(asked[0]?.path, "/apis/coordination.k8s.io/v1/namespaces/mine/leases/a");
});

Deno.test("a deletion may answer with a Status", async () => {
  const { client } = recorder({ apiVersion: "v1", kind: "Status", status: "Success" });
  const answer = await new core.CoreV1Api(client).namespace("b").deleteSecret("a");
  assertEquals(answer.kind, "Status");
  await assertRejects(
    () => new core.CoreV1Api(client).namespace("b").getSecret("a"),
    Error,
    "Kubernetes says: ",
  );
});

Deno.test("watches decode their events", async () => {
  const [lease] = roundTrips.Lease!;
  const lines = [
    { type: "ADDED", object: lease },
    { type: "BOOKMARK", object: { kind: "Lease", metadata: { resourceVersion: "7" } } },
    { type: "ERROR", object: { apiVersion: "v1", kind: "Status", code: 410 } },
  ];
  const { client, asked } = recorder(ReadableStream.from(lines));
  const stream = await new CoordinationV1Api(client).namespace("b").watchLeaseList({ resourceVersion: "5" });
  const seen = await Array.fromAsync(stream);
  assertEquals(seen.map(({ type }) => type), ["ADDED", "BOOKMARK", "ERROR"]);
  assertEquals(wire(seen[1]), { type: "BOOKMARK", object: { metadata: { resourceVersion: "7" } } });
  const [{ expectStream, expectJson, querystring }] = asked as [RequestOptions];
  assertEquals([expectStream, expectJson, `${querystring}`], [true, true, "watch=1&resourceVersion=5"]);
});

const badEvents: readonly (readonly [event: object, message: string])[] = [
  [{ object: {} }, "BUG: watch record 'type' field was undefined"],
  [{ type: "ADDED" }, "BUG: watch record 'object' field was null"],
  [{ type: "ADDED", object: 1 }, "BUG: watch record 'object' field was number"],
  [{ type: "ADDED", object: [] }, "BUG: watch record 'object' field was Array"],
  [{ type: "BOOKMARK", object: {} }, "BUG: BOOKMARK event wasn't recognizable: {}"],
  [{ type: "MOVED", object: {} }, "BUG: watch record got unknown event type MOVED"],
];

Deno.test("a bad event ends the watch", async () => {
  for (const [event, text] of badEvents) {
    const stream = ReadableStream.from([event] as never[])
      .pipeThrough(new common.WatchEventTransformer((object) => object, meta.toStatus));
    assertEquals(await Array.fromAsync(stream).catch((error: Error) => error.message), text);
  }
});
