/**
 * Authorities that take turns.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createPrivateKey } from "node:crypto";
import {
  type Authority,
  type AuthorityTimes,
  changeDue,
  readAuthorities,
  renewAuthorities,
  signerOf,
  writeAuthorities,
} from "../../controllers/runtime/authorities.ts";
import { createAuthority, issue } from "../../controllers/runtime/pki.ts";
import { foreignAuthority } from "../support/foreign_authority.ts";

const day = 24 * 3600 * 1000, times: AuthorityTimes = { life: 90 * day, overlap: 10 * day, skew: 60_000 };
const start = Date.parse("2026-01-01T00:00:00Z"), none = { authorities: [], broken: false };
const at = (days: number) => start + days * day;

function names(authorities: readonly Authority[], all: readonly Authority[]): string {
  return authorities.map(({ certificate }) =>
    "ABCDE"[all.findIndex((one) => one.certificate === certificate)]
  )
    .join("");
}

Deno.test("a new authority is trusted long before it signs, an old one as long as it may have signed something", async () => {
  let file = readAuthorities("");
  const all: Authority[] = [], seen: string[] = [];
  for (let today = 0; today <= 200; today++) {
    const due = changeDue(file.authorities.length ? file : none, at(today), times);
    if (due !== undefined) {
      const next = await renewAuthorities(file, at(today), times, "test");
      for (const one of next) if (!all.some((known) => known.certificate === one.certificate)) all.push(one);
      file = readAuthorities(writeAuthorities(next));
      assertEquals(changeDue(file, at(today), times), undefined, "one change is enough");
    }
    const trusted = names(file.authorities, all), signer = signerOf(file.authorities, at(today), times);
    const line = `${trusted} ${signer && names([signer], all)}`;
    if (!seen.at(-1)?.endsWith(` ${line}`)) seen.push(`${today} ${line}`);
  }
  assertEquals(seen, [
    "0 A A",
    "60 AB A",
    "70 AB B",
    "90 B B",
    "120 BC B",
    "130 BC C",
    "150 C C",
    "180 CD C",
    "190 CD D",
  ]);
});

Deno.test("the only authority signs at once; none signs before or after its time", async () => {
  const { authorities } = readAuthorities(
    writeAuthorities(await renewAuthorities(none, start, times, "test")),
  );
  const signs = (now: number) => signerOf(authorities, now, times) !== undefined;
  assertEquals([signs(start), signs(start - 60_000), signs(start - 61_000)], [true, true, false]);
  assertEquals([signs(at(90) - 1), signs(at(90))], [true, false]);
});

Deno.test("what has been cut off, mixed up or is no authority is noticed, and what is good is kept", async () => {
  const validity = { notBefore: new Date(start), notAfter: new Date(at(90)) };
  const [a, b] = [
    await createAuthority({ commonName: "a", ...validity }),
    await createAuthority({ commonName: "b", ...validity }),
  ];
  const leaf = await issue(a, { commonName: "leaf", usages: ["server"], ...validity });
  const read = (text: string) => {
    const { authorities, broken } = readAuthorities(text);
    return [authorities.map(({ certificate }) => certificate === a.certificate ? "a" : "b").join(""), broken];
  };
  const pair = (one: { certificate: string; key: string }) => one.certificate + one.key;
  assertEquals(read(pair(a) + pair(b)), ["ab", false]);
  assertEquals(read(`# by hand\r\n${pair(a)}\n`), ["a", false]);
  assertEquals(read(""), ["", true]);
  assertEquals(read("rubbish"), ["", true]);
  assertEquals(read(a.certificate), ["", true]);
  assertEquals(read(a.key + a.certificate), ["", true]);
  assertEquals(read(a.certificate + b.key), ["", true]);
  assertEquals(read(pair(leaf)), ["", true]);
  assertEquals(read(pair(leaf) + pair(b)), ["b", true]);
  assertEquals(read(pair(a) + b.certificate), ["a", true]);
  assertEquals(read(pair(a).replace(/\n[^-\n]{10}/, "\nAAAAAAAAAA") + pair(b)), ["b", true]);

  const file = readAuthorities(pair(leaf) + pair(b));
  assertEquals(changeDue(file, start, times), "broken");
  const repaired = await renewAuthorities(file, start, times, "test");
  assertEquals(repaired.map(({ certificate }) => certificate), [b.certificate]);
});

Deno.test("an authority of others is taken if it can sign here: by an EC key on P-256, however that is written", async () => {
  const validity = { notBefore: new Date(start), notAfter: new Date(at(90)) };
  for (const [kind, taken] of [["RSA", false], ["P-384", false], ["P-256", true]] as const) {
    const { certificate, key } = await foreignAuthority(kind, validity);
    const form = kind === "RSA" ? "pkcs1" : "sec1";
    const older = createPrivateKey(key).export({ type: form as "sec1", format: "pem" });
    for (const text of [certificate + key, certificate + older]) {
      const { authorities, broken } = readAuthorities(text);
      assertEquals([kind, authorities.length, broken], [kind, taken ? 1 : 0, !taken]);
      for (const one of authorities) {
        await issue(one, { commonName: "leaf", usages: ["server"], ...validity });
      }
    }
  }
});

Deno.test("an authority that was made for longer than it should live now is replaced in time", async () => {
  const file = { authorities: await renewAuthorities(none, start, times, "test"), broken: false };
  assertEquals(changeDue(file, at(21), times), undefined);
  assertEquals(changeDue(file, at(21), { ...times, life: 30 * day }), "aging");
  assert((await renewAuthorities(file, at(21), { ...times, life: 30 * day }, "test")).length === 2);
});
