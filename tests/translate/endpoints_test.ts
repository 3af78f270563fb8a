/**
 * Which addresses a port of a Service comes to. What is expected is what Kubernetes documents of Services, EndpointSlices
 * and kube-proxy.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { translate } from "../../controllers/translate/batch.ts";
import { type Config, defaultConfig } from "../../controllers/translate/mod.ts";
import { endpointsOf } from "../../controllers/translate/endpoints.ts";
import { nearest, type Place } from "../../controllers/translate/topology.ts";
import { random } from "../support/random.ts";
import { type Raw, route, small, stored, to } from "./cluster.ts";
import type { ApiObject } from "../../crds/kind.ts";

const cluster = { name: "default/app/80", protocol: "http1", service: "default/app", port: 80 } as const;

function service(spec: Raw = {}): Raw {
  return stored({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "app" },
    spec: { ports: [{ name: "http", port: 80 }], ...spec },
  });
}

function slice(endpoints: readonly Raw[], more: Raw = {}): Raw {
  return stored({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "app-1", labels: { "kubernetes.io/service-name": "app" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints,
    ...more,
  });
}

/** `ADDRESS:PORT` of each endpoint, with `~` in front where it drains. The order of slices must not matter. */
function of(slices: readonly Raw[], from: Raw = service(), place?: Place): readonly string[] {
  const results = [slices, slices.toReversed()].map((slices) => {
    const group = new Map(slices.map((slice, i) => [String(i), slice])) as Parameters<typeof endpointsOf>[2];
    return endpointsOf(cluster, from as Parameters<typeof endpointsOf>[1], group, place);
  });
  assertEquals(results[0], results[1], "the order of slices");
  return results[0]!.localities.flatMap(({ endpoints }) =>
    endpoints.map(({ address, port, draining }) => `${draining ? "~" : ""}${address}:${port}`)
  );
}

Deno.test("endpoints: ready, serving and terminating, with what each is if it is not said", () => {
  const t = true, f = false;
  type Given = boolean | undefined;
  const table: readonly (readonly [ready: Given, serving: Given, terminating: Given, use: string])[] = [
    [undefined, undefined, undefined, "ready"],
    [t, undefined, undefined, "ready"],
    [t, t, f, "ready"],
    [f, undefined, undefined, "none"],
    [f, f, f, "none"],
    // A Pod that is not ready, while `serving` is not yet known to be false.
    [f, t, f, "none"],
    [f, t, t, "draining"],
    [f, undefined, t, "draining"],
    [f, f, t, "none"],
    // publishNotReadyAddresses: Kubernetes says ready of whatever there is.
    [t, f, f, "ready"],
    [t, t, t, "ready"],
    [t, f, t, "ready"],
    [undefined, f, t, "ready"],
  ];
  for (const [ready, serving, terminating, use] of table) {
    const conditions = JSON.parse(JSON.stringify({ ready, serving, terminating }));
    const expected = use === "none" ? [] : [`${use === "draining" ? "~" : ""}10.0.0.1:8080`];
    assertEquals(
      of([slice([{ addresses: ["10.0.0.1"], conditions }])]),
      expected,
      JSON.stringify(conditions),
    );
  }
  assertEquals(of([slice([{ addresses: ["10.0.0.1"] }])]), ["10.0.0.1:8080"], "no conditions at all");
});

Deno.test("endpoints: the port, by name in each slice, by protocol, and with a number", () => {
  const one = [{ addresses: ["10.0.0.1"] }], two = [{ addresses: ["10.0.0.2"] }];
  const on = (ports: Raw, endpoints = one) => slice(endpoints, { ports });
  const unnamed = service({ ports: [{ port: 80 }] });
  const both = service({ ports: [{ name: "dns", port: 80, protocol: "UDP" }, { name: "http", port: 80 }] });
  const table: readonly (readonly [what: string, slices: Raw[], service: Raw, expected: string[]])[] = [
    [
      "a number of its own in each slice",
      [
        on([{ name: "http", port: 8080 }]),
        on([{ name: "http", port: 9090 }], two),
      ],
      service(),
      ["10.0.0.1:8080", "10.0.0.2:9090"],
    ],
    ["another name first", [on([{ name: "admin", port: 1 }, { name: "http", port: 2 }])], service(), [
      "10.0.0.1:2",
    ]],
    ["no such name", [on([{ name: "admin", port: 8080 }])], service(), []],
    ["no name on either side", [on([{ port: 8080 }])], unnamed, ["10.0.0.1:8080"]],
    ["an empty name is no name", [on([{ name: "", port: 8080 }])], unnamed, ["10.0.0.1:8080"]],
    ["a name on one side only", [on([{ name: "http", port: 8080 }])], unnamed, []],
    [
      "the number does not count",
      [on([{ name: "http", port: 80 }])],
      service({
        ports: [{ name: "web", port: 80, targetPort: 80 }],
      }),
      [],
    ],
    ["UDP of the same name", [on([{ name: "http", port: 8080, protocol: "UDP" }])], service(), []],
    [
      "UDP and TCP of one number",
      [
        on([{ name: "dns", port: 53, protocol: "UDP" }, { name: "http", port: 8080, protocol: "TCP" }]),
      ],
      both,
      ["10.0.0.1:8080"],
    ],
    [
      "UDP and TCP of one name",
      [
        on([{ name: "http", port: 53, protocol: "UDP" }, { name: "http", port: 8080, protocol: "TCP" }]),
      ],
      service(),
      ["10.0.0.1:8080"],
    ],
    ["port 0", [on([{ name: "http", port: 0 }])], service(), []],
    ["no number", [on([{ name: "http" }])], service(), []],
    ["no ports", [on([])], service(), []],
    ["ports absent", [slice(one, { ports: undefined })], service(), []],
    ["a Service without ports", [on([{ name: "http", port: 8080 }])], service({ ports: undefined }), []],
  ];
  for (const [what, slices, from, expected] of table) assertEquals(of(slices, from), expected, what);
});

Deno.test("endpoints: headless or without selector, a Service is its slices", () => {
  const slices = [slice([{ addresses: ["10.0.0.1"] }])];
  for (
    const spec of [
      { clusterIP: "None", selector: { app: "app" } },
      { clusterIP: "None" },
      { clusterIP: "10.96.0.1" },
      { selector: { app: "app" }, publishNotReadyAddresses: true },
    ]
  ) assertEquals(of(slices, service(spec)), ["10.0.0.1:8080"], JSON.stringify(spec));
});

const pod = (name: string, uid = name) => ({
  targetRef: { kind: "Pod", namespace: "default", name, uid },
});
const leaving = { conditions: { ready: false, serving: true, terminating: true } };
const dead = { conditions: { ready: false } };

Deno.test("endpoints: one that has addresses of both families counts once, in the preferred one", () => {
  const four = (...endpoints: Raw[]) => slice(endpoints);
  const six = (...endpoints: Raw[]) => slice(endpoints, { addressType: "IPv6" });
  const four1 = { addresses: ["10.0.0.1"], ...pod("a") }, six1 = { addresses: ["fd00::1"], ...pod("a") };
  const first4 = service({ ipFamilies: ["IPv4", "IPv6"] }),
    first6 = service({ ipFamilies: ["IPv6", "IPv4"] });
  const on4 = ["10.0.0.1:8080"], on6 = ["fd00::1:8080"];
  const table: readonly (readonly [what: string, slices: Raw[], service: Raw, expected: string[]])[] = [
    ["IPv4 first", [four(four1), six(six1)], first4, on4],
    ["IPv6 first", [four(four1), six(six1)], first6, on6],
    ["IPv4 if nothing is said", [four(four1), six(six1)], service(), on4],
    ["IPv4 if nothing is listed", [four(four1), six(six1)], service({ ipFamilies: [] }), on4],
    ["IPv4 alone", [four(four1), six(six1)], service({ ipFamilies: ["IPv4"] }), on4],
    ["IPv6 alone", [four(four1), six(six1)], service({ ipFamilies: ["IPv6"] }), on6],
    ["a family that the Service does not have", [six(six1)], service({ ipFamilies: ["IPv4"] }), []],
    ["only the other one", [six(six1)], first4, on6],
    ["the other one while this one is not ready", [four({ ...four1, ...dead }), six(six1)], first4, on6],
    ["the other one while this one ends", [four({ ...four1, ...leaving }), six(six1)], first4, on6],
    ["both end", [four({ ...four1, ...leaving }), six({ ...six1, ...leaving })], first6, ["~fd00::1:8080"]],
    ["different ones", [four(four1), six({ ...six1, ...pod("b") })], first4, [...on4, ...on6]],
    [
      "one that came after another of its name",
      [four(four1), six({ ...six1, ...pod("a", "old"), ...leaving })],
      first4,
      [
        ...on4,
        "~fd00::1:8080",
      ],
    ],
    [
      "it is not said what they are",
      [four({ addresses: ["10.0.0.1"] }), six({ addresses: ["fd00::1"] })],
      first4,
      [
        ...on4,
        ...on6,
      ],
    ],
    [
      "nor by an empty reference",
      [
        four({ addresses: ["10.0.0.1"], targetRef: {} }),
        six({ addresses: ["fd00::1"], targetRef: {} }),
      ],
      first4,
      [...on4, ...on6],
    ],
    ["names", [slice([{ addresses: ["example.com"] }], { addressType: "FQDN" })], service(), []],
  ];
  for (const [what, slices, from, expected] of table) assertEquals(of(slices, from), expected, what);
});

Deno.test("endpoints: one that several slices show counts once, in the best of its states and one zone", () => {
  const ready = { addresses: ["10.0.0.1"], zone: "a" };
  assertEquals(of([slice([ready]), slice([ready])]), ["10.0.0.1:8080"]);
  assertEquals(of([slice([{ ...ready, ...leaving }]), slice([{ ...ready, zone: "b" }])]), ["10.0.0.1:8080"]);
  assertEquals(of([slice([{ ...ready, ...dead }]), slice([ready])]), ["10.0.0.1:8080"]);
  assertEquals(of([slice([ready, ready])]), ["10.0.0.1:8080"], "in one slice");
  assertEquals(
    of([slice([ready]), slice([ready], { ports: [{ name: "http", port: 9090 }] })]),
    ["10.0.0.1:8080", "10.0.0.1:9090"],
    "on two ports it is two",
  );
  assertEquals(
    of([slice([{ addresses: ["10.0.0.1", "10.0.0.9"] }])]),
    ["10.0.0.1:8080"],
    "addresses of one endpoint stand for the same",
  );
});

Deno.test("endpoints: many slices of 1,000 are all there, in any order, and their zones tell them apart", () => {
  const slices = Array.from({ length: 12 }, (_, s) =>
    slice(
      Array.from({ length: 1_000 }, (_, i) => ({
        addresses: [`10.${s}.${Math.floor(i / 250)}.${i % 250}`],
        zone: "abc"[i % 3]!,
      })),
    ));
  // Some are shown by a second slice, too.
  const again = slice(Array.from({ length: 1_000 }, (_, i) => ({
    addresses: [`10.0.${Math.floor(i / 250)}.${i % 250}`],
    zone: "abc"[i % 3]!,
  })));
  const all = of([...slices, again]);
  assertEquals([all.length, new Set(all).size], [12_000, 12_000]);
});

const zones = (...names: string[]) => ({ hints: { forZones: names.map((name) => ({ name })) } });
const nodes = (node: string, ...names: string[]) => ({
  hints: { ...zones(...names).hints, forNodes: [{ name: node }] },
});

Deno.test("topology: hints count if they are complete and something is hinted for the place", () => {
  const a = { addresses: ["10.0.0.1"], ...zones("a") };
  const b = { addresses: ["10.0.0.2"], ...zones("b") };
  const ab = { addresses: ["10.0.0.3"], ...zones("a", "b") };
  const plain = { addresses: ["10.0.0.4"], zone: "a" };
  const a1 = { addresses: ["10.0.0.1"], ...nodes("n1", "a") },
    b2 = { addresses: ["10.0.0.2"], ...nodes("n2", "b") };
  const only: Raw = { addresses: ["10.0.0.5"], hints: { forNodes: [{ name: "n3" }] } };
  const table: readonly (readonly [what: string, endpoints: Raw[], place: Place, expected: string])[] = [
    ["nobody knows the place", [a, b], {}, "12"],
    ["zone a", [a, b], { zone: "a" }, "1"],
    ["zone b", [a, b], { zone: "b" }, "2"],
    ["hinted for two zones", [a, b, ab], { zone: "a" }, "13"],
    ["nothing for the zone", [a, b, ab], { zone: "c" }, "123"],
    ["one without a hint", [a, b, plain], { zone: "a" }, "124"],
    ["an empty list is no hint", [a, b, { addresses: ["10.0.0.4"], ...zones() }], { zone: "a" }, "124"],
    ["being in the zone is no hint", [plain, { ...b, hints: undefined }], { zone: "a" }, "42"],
    ["what is not ready needs no hint", [a, b, { ...plain, ...dead }], { zone: "a" }, "1"],
    ["what ends needs none either, and stays the last resort", [a, b, { ...plain, ...leaving }], {
      zone: "a",
    }, "1~4"],
    ["only what ends is hinted for the zone", [{ ...a, ...leaving }, b], { zone: "a" }, "~12"],
    ["nothing is ready", [{ ...a, ...leaving }, { ...b, ...leaving }], { zone: "a" }, "~1~2"],
    ["same node", [a1, b2], { node: "n2", zone: "b" }, "2"],
    ["node before zone", [a1, b2], { node: "n2", zone: "a" }, "2"],
    ["nothing for the node, so the zone", [a1, b2], { node: "n9", zone: "a" }, "1"],
    ["nothing for either", [a1, b2], { node: "n9", zone: "c" }, "12"],
    ["hints of nodes are incomplete, those of zones not", [a1, b], { node: "n1", zone: "b" }, "2"],
    ["hints of nodes alone", [only, a1], { node: "n3", zone: "a" }, "5"],
    ["hints of nodes where only the zone is known", [only, a1], { zone: "a" }, "51"],
  ];
  for (const [what, endpoints, place, expected] of table) {
    // The Service's wish is in the hints already; by itself it changes nothing.
    for (const trafficDistribution of [undefined, "PreferClose", "PreferSameZone", "PreferSameNode"]) {
      const found = of([slice(endpoints)], service({ trafficDistribution }), place);
      const digits = found.map((text) => text.replace("10.0.0.", "").replace(":8080", ""));
      assertEquals(digits.toSorted(), expected.match(/~?\d/g)!.toSorted(), `${what}, ${trafficDistribution}`);
    }
  }
});

Deno.test("topology: proxies are where the configuration says, and nowhere by default", () => {
  const spread = slice([{ addresses: ["10.0.0.1"], ...zones("a") }, {
    addresses: ["10.0.0.2"],
    ...zones("b"),
  }]);
  const objects = small(route("app", { rules: [to("app")] })).filter(({ kind }) => kind !== "EndpointSlice");
  const addresses = (config: Partial<Config>) => {
    const { ir, graph } = translate([...objects, spread] as ApiObject[], { ...defaultConfig, ...config });
    assertEquals(graph.stats.failing, 0);
    return ir.endpoints.get("default/app/80")!.localities.flatMap(({ endpoints }) =>
      endpoints.map((e) => e.address)
    );
  };
  assertEquals(addresses({}), ["10.0.0.1", "10.0.0.2"]);
  assertEquals(addresses({ place: { zone: "b" } }), ["10.0.0.2"]);
});

Deno.test("topology: nobody is left without endpoints", () => {
  const { int } = random(7);
  let narrowed = 0;
  for (let i = 0; i < 2_000; i++) {
    const some = (names: string) => [...names].filter(() => int(3) > 0).map((name) => ({ name }));
    const ready = Array.from({ length: 1 + int(4) }, () => ({
      hints: { forZones: some("abc"), forNodes: some("12") },
    }));
    const near = nearest(ready, { zone: "a", ...int(2) > 0 && { node: "1" } });
    assert(near.length > 0 && near.every((endpoint) => ready.includes(endpoint)));
    if (near.length < ready.length) narrowed++;
  }
  assert(narrowed > 200, `${narrowed} of 2000 choices left something out`);
});
