/** Sets of proxies do what a Set does, whatever bits the proxies have. */
import { assertEquals } from "@std/assert";
import { Progress } from "../../xds/ledger/progress.ts";
import type { ProxyState } from "../../xds/ledger/proxy.ts";
import { random } from "../support/random.ts";

Deno.test("sets of proxies: as a Set has it, in any order of changes", () => {
  for (let seed = 0; seed < 20; seed++) {
    const rng = random(seed), progress = new Progress();
    const proxies = Array.from({ length: 130 }, (_, i) => progress.proxy(`proxy-${i}`));
    const set = progress.none(), model = new Set<ProxyState>();
    const other = progress.none(), others = new Set(proxies.filter(() => rng.int(2) === 0));
    for (const proxy of others) other.add(proxy);
    for (let step = 0; step < 2_000; step++) {
      const proxy = proxies[rng.int(proxies.length)]!;
      if (rng.int(500) === 0) {
        set.clear();
        model.clear();
      } else if (rng.int(2) === 0) {
        set.add(proxy);
        model.add(proxy);
      } else {
        assertEquals(set.delete(proxy), model.delete(proxy));
      }
      assertEquals([set.size, set.has(proxy)], [model.size, model.has(proxy)]);
    }
    assertEquals(new Set(set), model);
    assertEquals(set.common(other), model.intersection(others).size);
  }
});

Deno.test("sets of proxies: a bit is given to another once it is free, and to nobody before", () => {
  const progress = new Progress();
  const [a, b, c] = ["a", "b", "c"].map((id) => progress.proxy(id)) as [ProxyState, ProxyState, ProxyState];
  assertEquals([a.bit, b.bit, c.bit], [0, 1, 2]);
  assertEquals(progress.proxy("b"), b);
  progress.forget(b);
  const d = progress.proxy("d"), set = progress.none();
  assertEquals([d.bit, progress.proxy("e").bit], [1, 3]);
  set.add(d);
  progress.forget(b); // It has been forgotten already.
  assertEquals([...set], [d]);
});
