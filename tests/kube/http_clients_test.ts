import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { HttpClients, type Tls } from "../../kube/http_clients.ts";

/** Connections that only say whether they are open. */
function make() {
  const created: { readonly options: unknown; closed: boolean }[] = [];
  const clients = new HttpClients((options) => {
    const client = { options, closed: false };
    created.push(client);
    return {
      close: () => {
        assert(!client.closed, "closed twice");
        client.closed = true;
      },
    } as Deno.HttpClient;
  });
  return { clients, created, open: () => created.filter(({ closed }) => !closed).length };
}

const tls: Tls = { caCerts: ["CA"], cert: "CERT", key: "KEY" };

Deno.test("all requests share one connection, which stays", () => {
  const { clients, created, open } = make();
  const first = clients.use("request", tls), second = clients.use("request", tls);
  assertStrictEquals(first.client, second.client);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  second[Symbol.dispose]();
  assertEquals(open(), 1);
  assertEquals(created[0]?.options, { caCerts: ["CA"], cert: "CERT", key: "KEY" });
  clients[Symbol.dispose]();
  assertEquals(open(), 0);
  assertThrows(() => clients.use("request", tls), Error, "closed");
});

Deno.test("32 watches share a connection, which goes with the last of them", () => {
  const { clients, open } = make();
  const watches = Array.from({ length: 65 }, () => clients.use("watch", tls));
  assertEquals(clients.count("watch"), 3);
  assertStrictEquals(watches[0]!.client, watches[31]!.client);
  assertNotStrictEquals(watches[31]!.client, watches[32]!.client);
  watches[40]![Symbol.dispose]();
  const next = clients.use("watch", tls);
  assert([watches[32]!.client, watches[64]!.client].includes(next.client), "places are used again");
  for (const watch of watches) watch[Symbol.dispose]();
  next[Symbol.dispose]();
  assertEquals(open(), 0);
});

Deno.test("other certificates mean other connections; the old ones end with their last request", () => {
  const { clients, open } = make();
  const old = clients.use("request", tls);
  const renewed = clients.use("request", { ...tls });
  assertNotStrictEquals(old.client, renewed.client);
  assertEquals(open(), 2);
  old[Symbol.dispose]();
  assertEquals(open(), 1);
  renewed[Symbol.dispose]();
  assertStrictEquals(clients.use("request", tls).client === renewed.client, false);
});

Deno.test("a connection that does not answer is not used again", () => {
  const { clients, open } = make();
  const dead = clients.use("request", tls), other = clients.use("request", tls);
  dead.retire();
  assertNotStrictEquals(clients.use("request", tls).client, dead.client);
  dead[Symbol.dispose]();
  assertEquals(open(), 2, "somebody still waits");
  other[Symbol.dispose]();
  assertEquals(open(), 1);
});

Deno.test("closing lets what is under way come to its end", () => {
  const { clients, open } = make();
  const watch = clients.use("watch", tls);
  clients[Symbol.dispose]();
  assertEquals(open(), 1);
  watch[Symbol.dispose]();
  assertEquals(open(), 0);
});
