/** Connections are cut when they are of no use, and only then; there are never too many. */
import { assertEquals } from "@std/assert";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Connections } from "../../controllers/runtime/connections.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A socket of the peer at `remotePort`, as far as is needed here. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress = "127.0.0.1";
  destroyed = false;

  constructor(readonly remotePort: number) {
    super();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit("close");
  }
}

function start(connections = 3) {
  const clock = new FakeClock(), warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const limits = { connections, handshake: 10, idle: 100 };
  const all = new Connections({ server: "test server", limits, clock, log });
  let ports = 0;
  const accept = () => {
    const socket = new FakeSocket(++ports) as FakeSocket & Socket;
    all.accept(socket);
    return socket;
  };
  const open = (sockets: readonly FakeSocket[]) => sockets.map(({ destroyed }) => !destroyed);
  return { clock, warnings, all, accept, open };
}

Deno.test("a handshake has its time, and so has the first request", async () => {
  const { clock, all, accept, open } = start();
  const [silent, secured] = [accept(), accept()];
  await clock.advance(9);
  all.secured(secured);
  assertEquals(open([silent, secured]), [true, true]);
  await clock.advance(1);
  assertEquals(open([silent, secured]), [false, true]);
  await clock.advance(98);
  assertEquals(open([secured]), [true]);
  await clock.advance(1);
  assertEquals([open([secured]), all.size, clock.pending], [[false], 0, 0]);
});

Deno.test("what is of use is not cut, however long it takes; the time between is counted anew", async () => {
  const { clock, all, accept, open } = start();
  const socket = accept();
  all.secured(socket);
  await clock.advance(99);
  const first = all.use(socket, true), second = all.use(socket, true);
  await clock.advance(10_000);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await clock.advance(10_000);
  assertEquals(open([socket]), [true], "one of two uses is left");
  second[Symbol.dispose]();
  await clock.advance(99);
  assertEquals(open([socket]), [true]);
  await clock.advance(1);
  assertEquals(open([socket]), [false]);
});

Deno.test("a full server prefers those it knows, then the newest, and says so once", () => {
  const { all, accept, open, warnings } = start();
  const [known, old, young] = [accept(), accept(), accept()];
  all.use(known, true);
  all.use(old, false);
  const fourth = accept();
  assertEquals(open([known, old, young, fourth]), [true, false, true, true]);
  all.use(young, true);
  all.use(fourth, true);
  const fifth = accept();
  assertEquals(open([known, young, fourth, fifth]), [true, true, true, false]);
  assertEquals([all.size, warnings.length], [3, 1]);
  known.destroy();
  const sixth = accept();
  assertEquals([open([sixth]), warnings.length], [[true], 1]);
  accept();
  assertEquals([open([sixth]), warnings.length], [[false], 2], "full once more");
  all.destroy();
  assertEquals(all.size, 0);
});

Deno.test("a peer's port that is used again is another connection", async () => {
  const { clock, all, open } = start();
  const [before, after] = [new FakeSocket(7), new FakeSocket(7)] as (FakeSocket & Socket)[];
  all.accept(before!);
  const use = all.use(before!, true);
  before!.destroy();
  all.accept(after!);
  use[Symbol.dispose]();
  await clock.advance(9);
  assertEquals([open([after!]), all.size], [[true], 1]);
  await clock.advance(1);
  assertEquals([open([after!]), all.size, clock.pending], [[false], 0, 0]);
});
