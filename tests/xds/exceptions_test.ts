import { assertEquals } from "@std/assert";
import { Exceptions } from "../../xds/exceptions.ts";
import { random as seeded } from "../support/random.ts";

Deno.test("values stay what they are whatever becomes usual, and only what is not usual is kept", () => {
  const names = Array.from({ length: 8 }, (_, i) => `n${i}`);
  let mixed = 0;
  for (let seed = 0; seed < 200; seed++) {
    const random = seeded(seed);
    const usual = new Map<string, string>(), model = new Map<string, string>();
    const exceptions = new Exceptions<string | undefined>((name) => usual.get(name));
    const version = () => random.int(4) ? `v${random.int(3)}` : undefined;
    for (let step = 0; step < 60; step++) {
      const name = names[random.int(names.length)]!, value = version();
      const put = (map: Map<string, string>) => value === undefined ? map.delete(name) : map.set(name, value);
      if (random.int(2)) {
        put(model);
        exceptions.set(name, value);
      } else {
        const before = usual.get(name);
        put(usual);
        exceptions.keep(name, before);
      }
      assertEquals(names.map((name) => exceptions.get(name)), names.map((name) => model.get(name)));
      const differing = names.filter((name) => model.get(name) !== usual.get(name));
      assertEquals([...exceptions.names].sort(), differing);
      if (differing.length > 0 && differing.length < names.length) mixed++;
    }
  }
  assertEquals(mixed > 1_000, true);
});
