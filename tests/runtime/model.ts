/**
 * A small gateway on a graph, for tests of the engine: it uses every sort of table, looks up rows that may be
 * missing, and has derivations that throw.
 *
 * @module
 */
import type { Graph, Group, Key, Source, Table } from "../../controllers/runtime/graph.ts";

export interface Gateway {
  readonly name: string;
  readonly listeners: readonly { readonly name: string; readonly port: number }[];
}

export interface Service {
  readonly name: string;
  readonly port: number;
}

export interface Route {
  readonly name: string;
  readonly created: number;
  readonly gateway: string;
  readonly hostnames: readonly string[];
  readonly rules: readonly { readonly prefix: string; readonly service: string }[];
}

export interface Rule {
  readonly name: string;
  readonly created: number;
  readonly prefix: string;
  readonly cluster: string;
}

export interface Attachment {
  readonly hosts: readonly Key[];
  readonly rules: readonly Rule[];
}

export interface Tables {
  readonly gateways: Source<Gateway>;
  readonly services: Source<Service>;
  readonly routes: Source<Route>;
  readonly derived: { readonly [name: string]: Table<unknown> };
}

/** A prefix that makes a derivation throw, one that makes its replacement throw too, one that an index trips over. */
export const poison = "/poison", deadly = "/deadly", lost = "/lost";

export function pipeline(graph: Graph): Tables {
  const gateways = graph.source<Gateway>("gateways");
  const services = graph.source<Service>("services");
  const routes = graph.source<Route>("routes", { same: (a, b) => a === b });

  const ports = graph.derive("ports", gateways, (gateway) => gateway.listeners.map((l) => l.port).sort());
  const attachments = graph.derive<Route, Attachment>("attachments", routes, (route, read) => {
    const hosts: Key[] = [];
    for (const port of read(ports, route.gateway) ?? []) {
      for (const host of route.hostnames) hosts.push(`${route.gateway}/${port}/${host}`);
    }
    const rules = route.rules.map(({ prefix, service }, i): Rule => {
      const found = read(services, service);
      if (prefix === deadly || prefix === poison && found?.port === 81) throw new Error(prefix);
      const cluster = found ? `${found.name}:${found.port}` : "invalid";
      return { name: `${route.name}/${i}`, created: route.created, prefix, cluster };
    });
    return { hosts, rules };
  }, {
    failed: (_error, route) => {
      if (route.rules.some((rule) => rule.prefix === deadly)) throw new Error("no replacement either");
      return { hosts: [], rules: [{ name: route.name, created: 0, prefix: "", cluster: "failed" }] };
    },
  });

  const strict = graph.derive("strict", routes, (route, read) => {
    if (route.rules.some((rule) => read(services, rule.service) === undefined)) throw new Error("unresolved");
    return { rules: route.rules.length };
  });

  const byHost = graph.index("byHost", attachments, (attachment) => {
    if (attachment.rules.some((rule) => rule.prefix === lost)) throw new Error("no groups");
    return attachment.hosts;
  });
  const hosts = graph.derive("hosts", byHost, (members) => inOrder(members));
  const byPort = graph.index("byPort", hosts, (_rules, host) => [host.slice(0, host.lastIndexOf("/"))]);
  const tables = graph.derive("tables", byPort, (members) => ({ hosts: [...members.keys()] }));
  // Looks up what it is not made from, forwards and backwards through names that come and go.
  const summaries = graph.derive("summaries", gateways, (gateway, read) => {
    const counts = gateway.listeners.map((l) => read(tables, `${gateway.name}/${l.port}`)?.hosts.length);
    return counts.length > 0 ? { counts, first: read(byHost, `${gateway.name}/80/h0`) } : undefined;
  });
  const used = graph.index("used", attachments, (a) => [...new Set(a.rules.map((rule) => rule.cluster))]);
  const usage = graph.derive("usage", services, (service, read, key) => ({
    users: read(used, `${key}:${service.port}`)?.size ?? 0,
  }));
  const everything = graph.union<unknown>("everything", [["summary/", summaries], ["usage/", usage]]);
  const derived = {
    ports,
    attachments,
    strict,
    byHost,
    hosts,
    byPort,
    tables,
    summaries,
    used,
    usage,
    everything,
  };
  return { gateways, services, routes, derived };
}

/** By precedence. The sort is stable, so rules that tie show in which order the group gave them. */
function inOrder(members: Group<Attachment>): readonly Rule[] {
  const rules = [...members.values()].flatMap((attachment) => attachment.rules);
  return rules.sort((a, b) => b.prefix.length - a.prefix.length || a.created - b.created);
}
