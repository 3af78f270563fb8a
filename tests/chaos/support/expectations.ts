/**
 * What has to come of the objects of `referring.ts`, by the specification alone: what clients are answered, and what is told of the
 * references. Beside it, what comes of them.
 *
 * @module
 */
import {
  type ApiObject,
  backendTLSPolicy,
  type Condition,
  gateway,
  httpRoute,
  type Kind,
  listenerSet,
} from "../../../crds/mod.ts";
import { isStatus } from "../../../kube/errors.ts";
import type { TestGateway } from "../../e2e/gateway.ts";
import { exchange } from "../../xds/support/http.ts";
import { askSecurely, type Secure, type SecureEcho } from "../../xds/support/https.ts";
import type { People, States } from "./referring.ts";

/** Answers, and what conditions say, by what they are about. */
export interface Outcome {
  readonly answers: { readonly [who: string]: string };
  /** Of the condition ResolvedRefs: `True`, or the reason why not; `none` where nothing is told. */
  readonly references: { readonly [object: string]: string };
}

const resolved = "True", untold = "none";

/** What each reference comes to, whether there is somebody to make it or not. */
function resolve(states: States) {
  const grants = (state: string, named: boolean) => state === "all" || named && state === "named";
  const certificate = (state: string, granted = true) =>
    !granted ? "RefNotPermitted" : ["one", "two"].includes(state) ? resolved : "InvalidCertificateRef";
  const authorities = (state: string, granted = true) =>
    !granted ? "RefNotPermitted" : ["first", "second"].includes(state) ? resolved : "InvalidCACertificateRef";
  const shown = certificate(states.shownSecret, grants(states.certificateGrant, false));
  return {
    near: certificate(states.nearSecret),
    far: certificate(states.farSecret, grants(states.certificateGrant, true)),
    set: certificate(states.setSecret, grants(states.setGrant, true)),
    strict: authorities(states.clientAuthorities, grants(states.authoritiesGrant, true)),
    shown: shown === "InvalidCertificateRef" ? "InvalidClientCertificateRef" : shown,
    plain: !grants(states.routeGrant, true)
      ? "RefNotPermitted"
      : states.service === "there"
      ? resolved
      : "BackendNotFound",
    inner: grants(states.routeGrant, false) ? resolved : "RefNotPermitted",
    policy: authorities(states.backendAuthorities),
  };
}

/** What the specification wants. */
export function expected(states: States): Outcome {
  const all = states.gateway === "all", refs = resolve(states);
  const there = {
    near: all,
    far: all,
    strict: all,
    set: all && states.listenerSet === "there",
    shown: all && refs.shown !== resolved,
    plain: states.plainRoute === "there",
    inner: states.innerRoute === "there",
    policy: states.policy === "there" && states.innerRoute === "there" && refs.inner === resolved,
  };
  // A policy that cannot be met makes the reference to its backend one that is not valid (HTTPBackendRef).
  const told = {
    ...refs,
    inner: there.policy && refs.policy !== resolved ? "UnsupportedProtocol" : refs.inner,
  };
  const handshake = (name: "near" | "far" | "set", state: string) =>
    there[name] && refs[name] === resolved ? `200 ${name} ${state}` : "refused";
  const answer = (name: "plain" | "inner", answer: string) =>
    !there[name] ? "404" : refs[name] === resolved ? answer : "500";
  const trusted = states.policy === "there" && states.backendAuthorities === "first";
  const certificate = all && refs.shown === resolved ? "shown" : "";
  const welcome = all && refs.strict === resolved && states.clientAuthorities === "first";
  return {
    answers: {
      near: handshake("near", states.nearSecret),
      far: handshake("far", states.farSecret),
      set: handshake("set", states.setSecret),
      strict: welcome ? "200 healthy.example.com" : "refused",
      "strict without a certificate": "refused",
      plain: answer("plain", "200"),
      inner: answer("inner", trusted ? `200 ${certificate}` : "no connection"),
    },
    references: Object.fromEntries(
      Object.entries(there).map(([what, is]) => [what, is ? told[what as keyof typeof told] : untold]),
    ),
  };
}

interface Told {
  readonly name?: string;
  readonly conditions?: readonly Condition[];
}

/** Looks at what a Gateway answers, and at the statuses in the API server. */
export async function observed({ address, kube }: TestGateway, { client }: People): Promise<Outcome> {
  const get = async <T extends ApiObject>(kind: Kind<T>, namespace: string, name: string) => {
    try {
      return await kube.get(kind, { namespace, name });
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  };
  const reference = (told: Told | undefined) => {
    const condition = told?.conditions?.find(({ type }) => type === "ResolvedRefs");
    return condition === undefined ? untold : condition.status === "True" ? resolved : condition.reason;
  };
  const web = (await get(gateway, "default", "web"))?.status;
  const set = (await get(listenerSet, "default", "set"))?.status;
  const route = async (name: string) => (await get(httpRoute, "default", name))?.status?.parents?.[0];
  const listener = (all: readonly Told[] | undefined, name: string) =>
    reference(all?.find((one) => one.name === name));
  const ofGateway = reference(web);

  const plainly = async (host: string) => {
    const { status, body } = await exchange({ host: address, port: 80, path: "/", headers: { host } });
    return { status, body };
  };
  const inner = await plainly("inner.example.com");
  // A connection outlives the renewal of the certificate that it was made with.
  const who = inner.status === 200 ? (JSON.parse(inner.body) as SecureEcho).client.split(" ")[0] : "";
  const securely = async (name: string, options: Partial<Secure> & { readonly port?: number } = {}) => {
    const { port = 443, ...more } = options;
    try {
      const { status, shown } = await askSecurely(port, "/", {
        address,
        servername: `${name}.example.com`,
        ...more,
      });
      return `${status} ${shown}`;
    } catch {
      return "refused";
    }
  };
  return {
    answers: {
      near: await securely("near"),
      far: await securely("far"),
      set: await securely("set"),
      strict: await securely("strict", { port: 8443, certificate: client }),
      "strict without a certificate": await securely("strict", { port: 8443 }),
      plain: `${(await plainly("plain.example.com")).status}`,
      inner: inner.status === 200 ? `200 ${who}` : inner.status > 500 ? "no connection" : `${inner.status}`,
    },
    references: {
      near: listener(web?.listeners, "near"),
      far: listener(web?.listeners, "far"),
      strict: listener(web?.listeners, "strict"),
      set: listener(set?.listeners, "set"),
      shown: ofGateway === "ListenersNotResolved" || ofGateway === resolved ? untold : ofGateway,
      plain: reference(await route("plain")),
      inner: reference(await route("inner")),
      policy: reference((await get(backendTLSPolicy, "team", "inner"))?.status?.ancestors?.[0]),
    },
  };
}
