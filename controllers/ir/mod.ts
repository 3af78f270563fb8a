/**
 * The data-plane model: what a set of proxies has to do, said without Kubernetes and without Envoy.
 *
 * `translate` produces these rows, `xds` turns them into Envoy's resources. All values are plain, immutable
 * and comparable by structure. What cannot work is a variant that says so, never a hole: an unresolvable
 * backend keeps its weight and answers 500.
 *
 * @module
 */
import type { Key, Table } from "../runtime/graph.ts";

/** Names a Gateway: `namespace/name`. */
export type GatewayKey = Key;

/** Names the object that some configuration comes from: `Kind/namespace/name`, as in `HTTPRoute/default/web`. */
export type Origin = Key;

/**
 * Names one thing that a proxy is given, within its Gateway: `listener:NAME`, `routes:NAME`, `cluster:NAME`,
 * `endpoints:NAME`, `secret:NAME`. Names come from content, never from a position.
 */
export type ResourceId = `${"listener" | "routes" | "cluster" | "endpoints" | "secret"}:${string}`;

/** One port of a Gateway. Row key: `namespace/name/port`, with `/udp` appended for UDP. */
export interface Listener {
  readonly gateway: GatewayKey;
  readonly name: string;
  /** IP addresses to bind; empty means every address. */
  readonly addresses: readonly string[];
  /** The port to bind, after any shift of privileged ports. */
  readonly port: number;
  readonly protocol: "http" | "https";
  /** The route table that answers requests. */
  readonly routes: Key;
  /** What is written down of each request; nothing if absent. */
  readonly accessLog?: AccessLog;
  /** Where spans of requests go; nowhere if absent. */
  readonly tracing?: Tracing;
}

/** One line for each request, on the standard output of the proxy. Texts are in the proxies' own notation. */
export type AccessLog =
  /** JSON: the usual fields with these; an empty text leaves one out. */
  | { readonly fields: { readonly [name: string]: string } }
  | { readonly text: string };

export interface Tracing {
  /** The cluster of the collector, which takes OTLP by gRPC. */
  readonly cluster: string;
  /** The host and the port that it is asked for. */
  readonly authority: string;
  /** The name that the proxies have in traces. */
  readonly service: string;
  /** Of the requests for which the client has not decided. */
  readonly sampling: Fraction;
  /** Attributes of each span by name. */
  readonly attributes: { readonly [name: string]: string };
  /** The same with the request headers that they are taken from. */
  readonly headers: { readonly [name: string]: string };
}

/**
 * How TLS is spoken on a listener with clients that ask for one of the names (SNI) that a hostname stands for; the most specific
 * one decides. Row keys have no meaning.
 */
export interface TlsChain {
  /** An `https` {@linkcode Listener}. */
  readonly listener: Key;
  /** `*`, for clients that ask for no name too, `*.example.com` or `www.example.com`. */
  readonly hostname: string;
  /** Names of {@linkcode Ir.secrets}; which one is shown is for the client's abilities and the name to say. */
  readonly certificates: readonly string[];
  /** What is asked of clients; nothing if absent. */
  readonly clients?: {
    /** The secret with the authorities to trust. */
    readonly authorities: string;
    /** Whether one without a valid certificate is turned away. */
    readonly required: boolean;
  };
}

/** All virtual hosts of one HTTP listener port. Row key: its name, `namespace/name/port`. */
export interface RouteTable {
  readonly gateway: GatewayKey;
  readonly name: string;
}

/** One hostname of a route table. Row key: `ROUTETABLE/HOSTNAME`. */
export interface VirtualHost {
  readonly routes: Key;
  /** `*`, `*.example.com` or `www.example.com`. */
  readonly hostname: string;
  /**
   * Behind TLS: the hostname of the {@linkcode TlsChain} that a connection must have come by. Requests on other
   * connections are misdirected and answered with 421 (RFC 9110, 15.5.20).
   */
  readonly chain?: string;
  /** In order of precedence: the first that matches answers. */
  readonly entries: readonly Route[];
}

/** One match of one rule, with what to do. */
export interface Route {
  /** Unique in its virtual host: `httproute/namespace/name/rule/0/match/0`, and the rule's name if it has one. */
  readonly name: string;
  readonly origin: Origin;
  readonly match: RouteMatch;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly action: RouteAction;
}

export interface RouteMatch {
  /** A prefix is compared element by element and has no slash at its end, but for `/` itself. */
  readonly path: { readonly type: "exact" | "prefix" | "regex"; readonly value: string };
  readonly method?: string;
  readonly headers: readonly ValueMatch[];
  readonly queryParams: readonly ValueMatch[];
}

/** Compares a header or a query parameter; `regex` is RE2 and matches the whole value. */
export interface ValueMatch {
  readonly name: string;
  readonly type: "exact" | "regex";
  readonly value: string;
}

/** Applied in the order remove, set, add; names are lower case, values are taken literally. */
export interface HeaderChanges {
  readonly set: readonly Header[];
  readonly add: readonly Header[];
  readonly remove: readonly string[];
}

export interface Header {
  readonly name: string;
  readonly value: string;
}

export type RouteAction =
  | {
    readonly kind: "forward";
    readonly backends: readonly WeightedBackend[];
    readonly rewrite?: Rewrite;
    readonly timeouts?: Timeouts;
    readonly retry?: Retry;
    readonly mirrors?: readonly Mirror[];
    readonly cors?: Cors;
  }
  | {
    readonly kind: "redirect";
    readonly scheme?: string;
    readonly hostname?: string;
    /** Where the redirect leads; one that goes without saying need not be said. */
    readonly port?: number;
    readonly path?: PathChange;
    readonly status: 301 | 302 | 303 | 307 | 308;
  }
  | { readonly kind: "respond"; readonly status: number }
  /** Pages of other origins may see it. */
  | { readonly kind: "respond"; readonly status: 500; readonly cors: Cors };

/** What a backend is asked for in place of what the client asked for. */
export interface Rewrite {
  readonly hostname?: string;
  readonly path?: PathChange;
}

/** In milliseconds; 0 is no limit. Where nothing is said there is none but for streams on which nothing moves. */
export interface Timeouts {
  /** From the client's request to the end of the response, further attempts included. */
  readonly request?: number;
  /** For each request to a backend. */
  readonly backendRequest?: number;
}

/**
 * When a request is sent again, in place of what is done if nothing is said: twice, where nothing had reached a backend.
 *
 * Such failures (no connection, a request that is refused unseen) always count. Where each attempt has a time limit, one
 * that reaches it counts, too, and with it one that the backend breaks off.
 */
export interface Retry {
  /** Besides the first; 0 for none at all. */
  readonly attempts: number;
  /** Statuses that count as failures. */
  readonly codes: readonly number[];
  /** Milliseconds from which the random time between attempts grows. */
  readonly backoff?: number;
}

/** `prefix` replaces the matched prefix (`matched`) by `value`, `full` the whole path; the query is kept. */
export type PathChange =
  | { readonly type: "full"; readonly value: string }
  | { readonly type: "prefix"; readonly matched: string; readonly value: string };

/**
 * A share of the traffic. A target that cannot be resolved answers `status` for its share. Headers are changed after
 * the route has changed them.
 */
export interface WeightedBackend {
  readonly weight: number;
  readonly target: { readonly cluster: string } | { readonly status: 500 | 503 };
  /** In place of the route's, each part for itself. */
  readonly rewrite?: Rewrite;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly session?: Session;
}

/** Copies of requests, whose answers are ignored. */
export interface Mirror {
  readonly cluster: string;
  /** Which share of the requests is copied; more than nothing. */
  readonly share: Fraction;
}

export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
}

/** What pages of other origins may do (CORS, GEP-1767). `*` is everybody or everything. */
export interface Cors {
  readonly origins: "*" | readonly OriginPattern[];
  /** Whether requests may have cookies and the like. */
  readonly credentials: boolean;
  readonly methods: "*" | readonly string[];
  /** Of requests. */
  readonly headers: "*" | readonly string[];
  /** Headers of responses that pages may read. */
  readonly exposed: "*" | readonly string[];
  /** Seconds for which a browser may remember the answer. */
  readonly maxAge: number;
}

/**
 * Keeps a client with the endpoint of a backend that answered its first request there: which backend a request goes to is
 * for the weights to say (GEP-1619).
 */
export interface Session {
  /** Tells the sessions of rules apart; a name is made of it where there is none. */
  readonly id: Key;
  /** Of the cookie or the header that carries the session. */
  readonly name?: string;
  /** Tells it apart from that of the rule's first backend, whose carrier has just the name: there is one for each. */
  readonly backend?: Key;
  readonly carrier:
    | {
      readonly type: "cookie";
      readonly path: string;
      /** Seconds; absent for a cookie that ends with the browser's session. */
      readonly lifetime?: number;
    }
    | { readonly type: "header" };
}

export interface OriginPattern {
  readonly scheme: "http" | "https";
  /** In lower case; `*` for every host, `*.example.com` for any number of labels in front. */
  readonly host: string;
  readonly port: number;
}

/** A backend as a proxy sees it. Row key: its name, `namespace/name/port` and what else tells it apart. */
export interface Cluster {
  readonly name: string;
  readonly protocol: "http1" | "h2c";
  /** Where it is, if it has no endpoints: a name that the proxies look up themselves, or an IP address. */
  readonly address?: { readonly host: string; readonly port: number };
  /** How TLS is spoken with it; absent for plain text. */
  readonly tls?: BackendTls;
  /** Present if the routes that lead to it say what is sent again; else that is what has not reached it. */
  readonly retries?: "routes";
}

export interface BackendTls {
  /** The name that is asked for. */
  readonly sni: string;
  /** Whom to trust: the secret with the certificates of authorities, or those of the proxy's system. */
  readonly authorities: { readonly secret: string } | "system";
  /** The names of which the backend's certificate has to have one. */
  readonly names: readonly SubjectName[];
}

/** A subject alternative name; a DNS name may begin with `*.`, for any number of labels. */
export interface SubjectName {
  readonly type: "dns" | "uri";
  readonly value: string;
}

/** The addresses of a cluster. Row key: the cluster's name. A cluster without an address has a row, perhaps an empty one. */
export interface Endpoints {
  readonly cluster: string;
  readonly localities: readonly Locality[];
}

export interface Locality {
  readonly zone: string;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** A draining endpoint gets no new traffic unless nothing else is left. */
  readonly draining: boolean;
}

/** Says that a Gateway's proxies need a cluster. Row key: `GATEWAY|CLUSTER`. */
export interface ClusterUse {
  readonly gateway: GatewayKey;
  readonly cluster: string;
  /** The secret with the certificate that backends are shown, where TLS is spoken with them. */
  readonly clientCertificate?: string;
}

/** What proxies take part in TLS with. Row key: its name, which begins with the `namespace/name` of where it is kept. */
export type Secret =
  | {
    readonly name: string;
    readonly kind: "certificate";
    /** PEM: the certificate itself, then those that lead to its authority. */
    readonly chain: string;
    /** PEM. Never to be shown. */
    readonly key: string;
  }
  | {
    readonly name: string;
    readonly kind: "authorities";
    /** PEM. */
    readonly certificates: string;
  };

/** Says that a Gateway's proxies need a secret. Row key: `GATEWAY|SECRET`. */
export interface SecretUse {
  readonly gateway: GatewayKey;
  readonly secret: string;
}

/**
 * What one object puts into the proxies of one Gateway. Row key: `GATEWAY|ORIGIN`.
 *
 * The row changes exactly when that configuration or the object's generation does, which is how the ledger
 * knows what an acknowledgement is worth and whom to suspect of a rejection.
 */
export interface Contribution {
  readonly gateway: GatewayKey;
  readonly origin: Origin;
  /** 0 for objects that have none, such as Services. */
  readonly generation: number;
  readonly pieces: readonly Piece[];
  /** The Gateway is being taken down: this is programmed once the proxies have no listener of it any more. */
  readonly removal?: true;
}

/** The smallest part that a proxy can refuse: a rule of a route, a listener, a backend, a certificate. */
export interface Piece {
  /** Unique and stable in its Gateway: `HTTPRoute/default/web/rule/0`. */
  readonly id: Key;
  /** Compared by structure; it changes with whatever the proxy is told because of this piece. */
  readonly content: unknown;
  /**
   * What carries it. A rule is carried by its route tables alone: the clusters that it names are pieces of their own,
   * which proxies have before the rule.
   */
  readonly resources: readonly ResourceId[];
}

/**
 * A piece that is kept from the proxies of a Gateway. Row key: `GATEWAY|PIECE`. It applies only while the piece's content is
 * equal to `content`, so that it lifts by itself once the object is fixed. `translate` puts a 500 in its place.
 */
export interface Rejection {
  readonly content: unknown;
  /** Envoy's own words; absent while the piece is only held back to find out which of several is at fault. */
  readonly message?: string;
}

/** How far the proxies of a Gateway are with a contribution. Row key: as {@linkcode Contribution}. */
export interface Verdict {
  readonly generation: number;
  readonly state: "pending" | "programmed" | "rejected";
  /** For people: why it is not programmed, or which proxies are left out; empty if there is nothing out of the ordinary. */
  readonly message: string;
}

/** A proxy that a Gateway is expected to have. Row of a table keyed by Gateway: a list of these. */
export interface Proxy {
  /** The node id that it presents. */
  readonly id: string;
}

/** Every table that describes the data plane. */
export interface Ir {
  readonly listeners: Table<Listener>;
  readonly chains: Table<TlsChain>;
  readonly routeTables: Table<RouteTable>;
  readonly virtualHosts: Table<VirtualHost>;
  readonly clusters: Table<Cluster>;
  readonly clusterUses: Table<ClusterUse>;
  readonly endpoints: Table<Endpoints>;
  readonly secrets: Table<Secret>;
  readonly secretUses: Table<SecretUse>;
  readonly contributions: Table<Contribution>;
}
