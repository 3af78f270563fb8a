/**
 * Changes of endpoints under constant load, through the whole operator and a real Envoy: every request gets the
 * answer that is right before or after the change, and none is lost.
 *
 * @module
 */
import { assert } from "@std/assert";
import { endpointSlice, gateway } from "../../crds/mod.ts";
import {
  type Backend,
  leaving,
  ready,
  serveBackend,
  type SliceEndpoint,
  sliceOf,
  unready,
} from "./backends.ts";
import {
  arrived,
  backendRefs,
  between,
  create,
  createRoute,
  finish,
  from,
  remove,
  replace,
  start,
  targets,
} from "./changes.ts";
import { gatewayNamed, type TestGateway } from "./gateway.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

/** Moves all traffic of a Service from some endpoints to others, as a Deployment does. */
async function roll(
  web: TestGateway,
  traffic: Traffic,
  name: string,
  { keep, old, fresh }: {
    readonly keep: readonly Backend[];
    readonly old: readonly Backend[];
    readonly fresh: readonly Backend[];
  },
): Promise<void> {
  const set = async (endpoints: readonly SliceEndpoint[]) =>
    await arrived(web, traffic, await replace(web, endpointSlice, `${name}-1`, "/endpoints", endpoints));
  const addresses = (backends: readonly Backend[]) => backends.map(({ address }) => address);
  const stay = addresses([...keep, ...fresh]).map(ready);
  await set([...stay, ...addresses(old).map(leaving)]);
  const served = old.map(({ served }) => served);
  await traffic.more(between);
  // One of each sort of client may still have been on its way.
  const late = old.reduce((sum, backend, i) => sum + backend.served - served[i]!, 0);
  assert(late <= 6, `${late} requests went to endpoints that were leaving`);
  await set(stay);
  await Promise.all(old.map((backend) => backend.stop()));
}

Deno.test("no lost request: a hundred endpoints are replaced, ten at a time and all at once", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.4"));
  const generation = (g: number) =>
    Array.from({ length: 100 }, (_, i) => stack.use(serveBackend("app", `127.64.${g}.${i + 1}`)));
  const first = generation(0);
  await create(web, "app", first.map(({ address }) => address));
  await web.kube.create(gateway, gatewayNamed("web"));
  await createRoute(web, "www", [{ backendRefs: backendRefs("app") }]);
  await using traffic = startTraffic({ address: web.address, targets, judge: from("app") });
  await traffic.more(between);
  const second = generation(1);
  for (let i = 0; i < 100; i += 10) {
    await roll(web, traffic, "app", {
      keep: [...second.slice(0, i), ...first.slice(i + 10)],
      old: first.slice(i, i + 10),
      fresh: second.slice(i, i + 10),
    });
  }
  const third = generation(2);
  await roll(web, traffic, "app", { keep: [], old: second, fresh: third });
  await traffic.more(100);
  await finish(traffic, 11 * between + 100);
  const idle = third.filter(({ served }) => served === 0).length;
  assert(idle < 50, `${idle} of the endpoints were never asked`);
});

Deno.test("no lost request: twenty times nothing is there, then something is: 503 in between, and nowhere else", async () => {
  await using stack = new AsyncDisposableStack();
  const web = stack.use(await start("127.0.58.5"));
  await web.kube.create(gateway, gatewayNamed("web"));
  for (const [name, address] of [["app", "127.65.0.1"], ["stays", "127.65.0.2"]] as const) {
    stack.use(serveBackend(name, address));
    await create(web, name, [address]);
    await createRoute(web, name, [{ backendRefs: backendRefs(name) }]);
  }
  const targets = ["app", "stays"].flatMap((name) =>
    ["/", "/slow"].map((path) => ({ host: `${name}.example.com`, path }))
  );
  let phase: "there" | "changing" | "gone" = "there", unavailable = 0;
  await using traffic = startTraffic({
    address: web.address,
    targets,
    judge: (answer) => {
      if (answer.host !== "app.example.com") return from("stays")(answer);
      const none = answer.status === 503 && answer.backend === "";
      if (none) unavailable++;
      if (phase === "changing" && none) return undefined;
      if (phase === "gone") return none ? undefined : `${answer.status} although nothing is there`;
      return from("app")(answer);
    },
  });
  /** Requests that were sent before a change may be answered after it. */
  const settled = () => traffic.more(20);
  const change = async (endpoints: readonly SliceEndpoint[]) =>
    await arrived(web, traffic, await replace(web, endpointSlice, "app-1", "/endpoints", endpoints));
  const there = [ready("127.65.0.1")];
  /** Ways to have nothing, each with the way back. */
  const ways = [
    [() => change([]), () => change(there)],
    [() => change([unready("127.65.0.1")]), () => change(there)],
    [
      () => remove(web, traffic, endpointSlice, "app-1"),
      async () => await arrived(web, traffic, await web.kube.create(endpointSlice, sliceOf("app", there))),
    ],
  ] as const;
  const rounds = 20;
  for (let round = 0; round < rounds; round++) {
    const [leave, comeBack] = ways[round % ways.length]!;
    await traffic.more(between);
    phase = "changing";
    await leave();
    await settled();
    phase = "gone";
    const before = unavailable;
    await traffic.more(2 * between);
    assert(unavailable - before >= between, `round ${round}: ${unavailable - before} times unavailable`);
    phase = "changing";
    await comeBack();
    await settled();
    phase = "there";
    await traffic.more(2 * between);
  }
  await finish(traffic, rounds * 5 * between);
});
