/**
 * What is wrong, and its neighbour, which is to notice nothing.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { DesiredStatus } from "../../controllers/translate/mod.ts";

/** Asks again and again, until it is disposed of. Every answer has to be 200. */
export function keepAsking(status: () => Promise<number>) {
  const wrong: unknown[] = [], state = { asked: 0, ends: false, current: Promise.resolve<unknown>(200) };
  const done = (async () => {
    while (!state.ends) {
      state.current = status().catch(String);
      const answer = await state.current;
      state.asked++;
      if (answer !== 200) wrong.push(answer);
    }
  })();
  return {
    /** Ends once something that was asked from now on is answered. */
    async again() {
      const enough = state.asked + 2;
      while (state.asked < enough) await state.current;
      assertEquals(wrong, [], "the neighbour goes on");
    },
    async [Symbol.asyncDispose]() {
      state.ends = true;
      await done;
    },
  };
}

/** The conditions of a route towards its only parent, with what it says of what is wrong. */
export function conditionsOf(status: DesiredStatus | undefined): {
  readonly short: readonly string[];
  readonly words: string;
} {
  if (status === undefined || !("parents" in status)) return { short: [], words: "" };
  const conditions = status.parents[0]?.conditions ?? [];
  return {
    short: conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    words: conditions.map(({ message }) => message).join("\n"),
  };
}
