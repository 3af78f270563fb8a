/** Writes go out only while this replica leads: whatever they waited for before, and whatever they were in the middle of. */
import { assertEquals, assertRejects } from "@std/assert";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createKube } from "../../kube/client.ts";
import { type Credentials, openCluster } from "../../kube/cluster.ts";
import { Fence, NotLeadingError } from "../../kube/fence.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { widget, widgets } from "./scripted_client.ts";

/** A client whose requests `answer`, and a term that the test ends. */
function fenced(
  answer: (sent: number, signal: AbortSignal) => Promise<Response>,
  credentials: () => Promise<Credentials> = () => Promise.resolve({ tls: {} }),
) {
  const clock = new FakeClock(), fence = new Fence(), abort = new AbortController();
  const term = { valid: true }, sent: string[] = [];
  const kube = createKube({ ...openCluster("http://api"), credentials }, {
    clock,
    log: silentLog,
    version: "1",
    component: "test",
    permit: fence.permit,
    random: () => 0.5,
    fetch: (_, init) => {
      sent.push(init!.method!);
      return answer(sent.length, init!.signal!);
    },
  });
  const open = () => fence.open({ signal: abort.signal, valid: () => term.valid && !abort.signal.aborted });
  return { clock, abort, term, sent, kube, open };
}

const ok = () => Promise.resolve(Response.json(widget("a", 1)));
const write = (kube: ReturnType<typeof fenced>["kube"]) =>
  kube.patch(widgets, { namespace: "default", name: "a" }, []);

Deno.test("without leadership nothing is sent, with it everything, after it nothing again", async () => {
  const { kube, open, sent } = fenced(ok);
  await assertRejects(() => write(kube), NotLeadingError);
  const term = open();
  await write(kube);
  term[Symbol.dispose]();
  await assertRejects(() => write(kube), NotLeadingError);
  assertEquals(sent, ["PATCH"]);
  kube[Symbol.dispose]();
});

Deno.test("a term that is over by the clock counts as over before any timer says so", async () => {
  const { kube, open, sent, term } = fenced(ok);
  using _ = open();
  term.valid = false;
  await assertRejects(() => write(kube), NotLeadingError);
  assertEquals(sent, []);
  kube[Symbol.dispose]();
});

Deno.test("what waited for credentials is not sent if the term has ended meanwhile", async () => {
  const credentials = Promise.withResolvers<Credentials>();
  const { kube, open, sent, term } = fenced(ok, () => credentials.promise);
  using _ = open();
  const writing = assertRejects(() => write(kube), NotLeadingError);
  await settle();
  term.valid = false;
  credentials.resolve({ tls: {} });
  await writing;
  assertEquals(sent, []);
  kube[Symbol.dispose]();
});

Deno.test("what is to be tried again is not, if the term has ended meanwhile", async () => {
  const { kube, open, sent, term, clock } = fenced((sent) =>
    sent > 1 ? ok() : Promise.resolve(new Response("", { status: 429, headers: { "retry-after": "2" } }))
  );
  using _ = open();
  const writing = assertRejects(() => write(kube), NotLeadingError);
  for (let i = 0; i < 5 && clock.pending === 0; i++) await settle();
  term.valid = false;
  await clock.advance(10_000);
  await writing;
  assertEquals(sent, ["PATCH"]);
  kube[Symbol.dispose]();
});

Deno.test("what is under way is cut short when the term ends, for the term's reason", async () => {
  const { kube, open, sent, abort } = fenced((_, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))
  );
  using _ = open();
  const writing = assertRejects(() => write(kube), Error, "Lost the lease");
  await settle();
  assertEquals(sent, ["PATCH"]);
  abort.abort(new Error("Lost the lease"));
  await writing;
  kube[Symbol.dispose]();
});
