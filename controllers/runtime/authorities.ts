/**
 * Certificate authorities that take turns, so that nobody ever has to trust one that is new to him.
 *
 * A new one is trusted for long before it signs anything, and an old one for as long as anything that it signed. Which of them
 * signs follows from their own dates and the time alone, so replicas agree on it without talking.
 *
 * @module
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createAuthority, type KeyPair } from "./pki.ts";

/** One that can sign. Times are in milliseconds since 1970. */
export interface Authority extends KeyPair {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** In milliseconds. */
export interface AuthorityTimes {
  /** How long an authority is good. After two thirds of it another is made. */
  readonly life: number;
  /** How long it is trusted before it signs, unless there is no other. */
  readonly overlap: number;
  /** By how much clocks may differ: what is made now is good since that long. */
  readonly skew: number;
}

const day = 24 * 3600 * 1000;

export const authorityTimes: AuthorityTimes = { life: 365 * day, overlap: 7 * day, skew: 5 * 60_000 };

/** What a text keeps. */
export interface AuthorityFile {
  /** The oldest first. */
  readonly authorities: readonly Authority[];
  /** Whether there is anything in it that is none, or none that can sign here. */
  readonly broken: boolean;
}

/** Reads pairs of a certificate and its key (PEM), whatever stands between them. */
export function readAuthorities(text: string): AuthorityFile {
  const blocks = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g) ?? [];
  const authorities: Authority[] = [];
  for (let i = 0; i < blocks.length; i++) {
    const authority = authorityOf(blocks[i]!, blocks[i + 1] ?? "");
    if (!authority) continue;
    authorities.push(authority);
    i++;
  }
  return {
    authorities: authorities.sort((a, b) => a.notBefore - b.notBefore),
    broken: authorities.length * 2 !== blocks.length || blocks.length === 0,
  };
}

function authorityOf(certificate: string, key: string): Authority | undefined {
  try {
    const read = new X509Certificate(certificate), own = createPrivateKey(key);
    // What `issue` can sign with.
    if (own.asymmetricKeyDetails?.namedCurve !== "prime256v1") return undefined;
    if (!read.ca || !read.checkPrivateKey(own)) return undefined;
    return {
      certificate: `${certificate}\n`,
      key: own.export({ type: "pkcs8", format: "pem" }) as string,
      notBefore: Date.parse(read.validFrom),
      notAfter: Date.parse(read.validTo),
    };
  } catch {
    return undefined; // Neither certificate nor key, which is all there is to say.
  }
}

/** The text that {@linkcode readAuthorities} reads. */
export function writeAuthorities(authorities: readonly Authority[]): string {
  return authorities.map(({ certificate, key }) => certificate + key).join("");
}

/** All that are to be trusted (PEM). */
export function bundleOf(authorities: readonly Authority[]): string {
  return authorities.map(({ certificate }) => certificate).join("");
}

/** The one that signs now; undefined if none may. */
export function signerOf(
  authorities: readonly Authority[],
  now: number,
  { overlap, skew }: AuthorityTimes,
): Authority | undefined {
  const good = authorities.filter(({ notBefore, notAfter }) => notBefore <= now && now < notAfter);
  return good.findLast(({ notBefore }) => notBefore + skew + overlap <= now) ?? good[0];
}

/** Why others have to take the place of these; undefined if they need not. */
export function changeDue(
  { authorities, broken }: AuthorityFile,
  now: number,
  { life, skew }: AuthorityTimes,
): "missing" | "broken" | "aging" | "expired" | undefined {
  const good = authorities.filter(({ notAfter }) => now < notAfter), newest = good.at(-1);
  if (!newest) return broken ? "broken" : authorities.length > 0 ? "expired" : "missing";
  if (broken) return "broken";
  // By the life that one has now: if that becomes shorter, what was made for longer has to go sooner.
  if (Math.min(newest.notBefore + skew + life, newest.notAfter) - life / 3 <= now) return "aging";
  return good.length < authorities.length ? "expired" : undefined;
}

/** Makes those that take the place of others: without what has expired, and with a new one if the newest is aging. */
export async function renewAuthorities(
  file: AuthorityFile,
  now: number,
  times: AuthorityTimes,
  commonName: string,
): Promise<readonly Authority[]> {
  const good = file.authorities.filter(({ notAfter }) => now < notAfter);
  const kept: AuthorityFile = { authorities: good, broken: false };
  if (good.length > 0 && changeDue(kept, now, times) === undefined) return good;
  const pair = await createAuthority({
    commonName,
    notBefore: new Date(now - times.skew),
    notAfter: new Date(now + times.life),
  });
  return [...good, ...readAuthorities(pair.certificate + pair.key).authorities];
}
