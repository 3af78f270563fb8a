/**
 * What tests of changes under load have in common.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ApiObject, endpointSlice, httpRoute, type Kind, service } from "../../crds/mod.ts";
import { ready, serviceNamed, sliceOf } from "./backends.ts";
import { routeNamed, startGateway, type TestGateway } from "./gateway.ts";
import type { Answer, Target, Traffic } from "./traffic.ts";

/** How many requests over each protocol go by between one change and the next. */
export const between = 15;

/** With two workers, which hear of changes one after the other. */
export function start(address: string): Promise<TestGateway> {
  return startGateway({ address, concurrency: 2 });
}

/** Waits until the operator has seen this version of an object and every proxy has all that follows from it. */
export function arrived<T extends ApiObject>(
  web: TestGateway,
  traffic: Traffic,
  { kind, metadata: { name, resourceVersion } }: T,
): Promise<void> {
  return followed(
    web,
    traffic,
    `${kind} ${name}`,
    () => Number(seen(web, kind, name)?.metadata.resourceVersion) >= Number(resourceVersion),
  );
}

/** Deletes an object and waits until every proxy has all that follows from it. */
export async function remove<T extends ApiObject>(
  web: TestGateway,
  traffic: Traffic,
  kind: Kind<T>,
  name: string,
): Promise<void> {
  await web.kube.delete(kind, { namespace: "default", name });
  await followed(web, traffic, `the end of ${kind.kind} ${name}`, () => !seen(web, kind.kind, name));
}

function seen({ local: { operator } }: TestGateway, kind: string, name: string): ApiObject | undefined {
  const sources = operator.world.objects as unknown as Record<
    string,
    { get(key: string): ApiObject | undefined }
  >;
  return sources[kind]!.get(`default/${name}`);
}

async function followed(
  { local: { operator } }: TestGateway,
  traffic: Traffic,
  what: string,
  sees: () => boolean,
): Promise<void> {
  await traffic.until(`the operator sees ${what}`, sees);
  await operator.loop.idle();
  await traffic.until(
    `the proxies have what follows from ${what}`,
    () => {
      const proxies = operator.ledger.report("default/web");
      return proxies.length > 0 && proxies.every(({ connected, behind }) => connected && behind === 0);
    },
  );
}

/** Waits until every proxy has said that it has this version of a route. */
export async function programmed(
  web: TestGateway,
  { metadata: { name, uid, generation = 1 } }: ApiObject,
): Promise<void> {
  await web.untilStatus(
    httpRoute,
    name,
    `route ${name} is programmed in generation ${generation}`,
    (c, { metadata }) => {
      const condition = c.get("Programmed");
      return metadata.uid === uid && condition?.status === "True" &&
        condition.observedGeneration! >= generation;
    },
  );
}

export async function createRoute(web: TestGateway, name: string, rules: readonly object[]): Promise<void> {
  await programmed(web, await web.kube.create(httpRoute, routeNamed(name, rules)));
}

/** Changes fields of an object; the result says which version that is. */
export function replace<T extends ApiObject>(
  { kube }: TestGateway,
  kind: Kind<T>,
  name: string,
  path: string,
  value: unknown,
): Promise<T> {
  return kube.patch(kind, { namespace: "default", name }, [{ op: "replace", path, value }]);
}

export async function create(web: TestGateway, name: string, addresses: readonly string[]): Promise<void> {
  await web.kube.create(service, serviceNamed(name));
  await web.kube.create(endpointSlice, sliceOf(name, addresses.map(ready)));
}

export function finish(traffic: Traffic, least: number): Promise<void> {
  return traffic.stop().then(() => {
    assertEquals(traffic.failures, []);
    for (const [protocol, count] of Object.entries(traffic.answers)) {
      assert(count >= least, `${count} answers over ${protocol}, where there should be ${least}`);
    }
  });
}

export const www: Target = { host: "www.example.com", path: "/" };
export const http = { name: "http", port: 80, protocol: "HTTP" };
export const targets: readonly Target[] = [www, { ...www, path: "/slow" }];
export const backendRefs = (...names: string[]) => names.map((name) => ({ name, port: 80 }));

/** Complains of what is neither a success nor from one of those who may answer. */
export function from(...backends: readonly string[]) {
  return ({ status, backend }: Answer) =>
    status === 200 && backends.includes(backend) ? undefined : `${status} from "${backend}"`;
}
