import { assert, assertEquals, assertRejects } from "@std/assert";
import { Scope } from "../../controllers/runtime/scope.ts";

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

Deno.test("scope: the first failure stops the others and comes out of join, once", async () => {
  const boom = new Error("boom");
  let stopped: unknown;
  {
    await using scope = new Scope();
    scope.spawn("loop", async (signal) => {
      await untilAborted(signal).catch((reason) => stopped = reason);
    });
    scope.spawn("bomb", () => Promise.reject(boom));
    const error = await assertRejects(() => scope.join(), Error, 'Task "bomb" failed');
    assertEquals(error.cause, boom);
    assert(stopped === error && scope.signal.reason === error);
    scope.spawn("late", () => {
      throw new Error("never started");
    });
    assertEquals(scope.running, []);
  }
});

Deno.test("scope: a failure that nobody joined comes out at the end", async () => {
  await assertRejects(
    async () => {
      await using scope = new Scope();
      scope.spawn("sync", () => {
        throw new Error("at once");
      });
    },
    Error,
    'Task "sync" failed',
  );
});

Deno.test("scope: the end waits for every task, and stopping is no failure", async () => {
  const ends: string[] = [];
  {
    await using scope = new Scope();
    scope.spawn("slow", async (signal) => {
      await untilAborted(signal).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 1));
      ends.push("slow");
    });
    scope.spawn("plain", untilAborted);
    scope.spawn("wrapped", (signal) =>
      untilAborted(signal).catch((cause) => {
        throw new Error("cannot watch", { cause });
      }));
    scope.spawn("own", (signal) =>
      untilAborted(signal).catch(() => {
        throw new DOMException("stopped", "AbortError");
      }));
    assertEquals(scope.running, ["slow", "plain", "wrapped", "own"]);
  }
  assertEquals(ends, ["slow"]);
});

Deno.test("scope: a task that fails while stopping is not lost", async () => {
  await assertRejects(
    async () => {
      await using scope = new Scope();
      scope.spawn("drain", (signal) =>
        untilAborted(signal).catch(() => {
          throw new Error("cannot drain");
        }));
    },
    Error,
    'Task "drain" failed',
  );
  const both = await assertRejects(async () => {
    await using scope = new Scope();
    scope.spawn("drain", (signal) =>
      untilAborted(signal).catch(() => {
        throw new Error("cannot drain");
      }));
    scope.spawn("bomb", () => Promise.reject(new Error("boom")));
    await scope.join();
  }, AggregateError);
  assertEquals(both.errors.map((error) => error.message), ['Task "bomb" failed', 'Task "drain" failed']);
  assertEquals(both.message, 'Task "bomb" failed');
});

Deno.test("scope: stops with its parent, and lets go of it", async () => {
  const parent = new AbortController(), reason = new Error("enough");
  {
    await using scope = new Scope(parent.signal);
    scope.spawn("loop", untilAborted);
    parent.abort(reason);
    await scope.join();
    assert(scope.signal.reason === reason);
  }
  await using late = new Scope(parent.signal);
  assert(late.signal.aborted);
  const living = new AbortController().signal, listeners = new Set<unknown>();
  living.addEventListener = (_type: string, listener: unknown) => void listeners.add(listener);
  living.removeEventListener = (_type: string, listener: unknown) => void listeners.delete(listener);
  {
    await using _short = new Scope(living);
    assertEquals(listeners.size, 1);
  }
  assertEquals(listeners.size, 0);
});

Deno.test("scope: join waits for tasks that were started meanwhile", async () => {
  const order: string[] = [];
  await using scope = new Scope();
  scope.spawn("outer", async () => {
    await Promise.resolve();
    scope.spawn("inner", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      order.push("inner");
    });
    order.push("outer");
  });
  await scope.join();
  assertEquals(order, ["outer", "inner"]);
});
