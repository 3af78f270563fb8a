/** A process that writes to a data directory until it is killed, and tells which writes were acknowledged. */
import { Database } from "../../standalone/apiserver/database.ts";
import { Store } from "../../standalone/apiserver/store.ts";
import { valueAt } from "./writer_values.ts";

const [path, mark] = Deno.args as [string, string];
const store = new Store(Database.open(path), { historyLength: 50 });
const encoder = new TextEncoder();
const tell = (text: string) => Deno.stdout.writeSync(encoder.encode(`${text}\n`));

tell("ready");
for (let round = 0;; round++) {
  // Several at once, so that commits are shared.
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const name = `m${i}`;
      const value = valueAt(mark, i, round);
      await store.write((tx) => {
        if (value === undefined) tx.delete("configmaps", name);
        else {
          tx.put("configmaps", {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name, uid: name, labels: { value } },
          });
        }
      });
      tell(`${i} ${round}`);
    }),
  );
}
