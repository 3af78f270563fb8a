/**
 * Notices damage in SQLite's write-ahead log, which SQLite itself takes for its end.
 *
 * A log that breaks off is what a crash leaves: the transaction that was being written, and never acknowledged. But
 * each transaction is on disk before the next one begins, so there can be one of those at most. Two whole ones behind
 * the break were acknowledged, and SQLite would silently drop them.
 *
 * Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 *
 * @module
 */

const headerSize = 32, frameHeaderSize = 24;

interface Frame {
  /** Whether it ends a transaction. */
  readonly commits: boolean;
  readonly salt: string;
  readonly sum: string;
}

/** Why the log cannot be trusted; `undefined` if it can. */
export function damageOfLog(log: Uint8Array): string | undefined {
  if (log.length <= headerSize) return undefined;
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  const magic = view.getUint32(0);
  const pageSize = view.getUint32(8);
  const size = frameHeaderSize + pageSize;
  const hex = (at: number) => view.getBigUint64(at).toString(16);
  let sums: Sums = [0, 0];
  const little = magic === 0x377f0682;
  const headerHolds = (little || magic === 0x377f0683) && pageSize >= 512 && pageSize <= 65536 &&
    show(sums = checksum(view, 0, 24, sums, little)) === hex(24);
  if (!headerHolds) return "the header of its write-ahead log is damaged";

  const salt = hex(16);
  let behind = 0;
  let whole = true;
  for (let at = headerSize; at + size <= log.length; at += size) {
    const frame: Frame = { commits: view.getUint32(at + 4) > 0, salt: hex(at + 8), sum: hex(at + 16) };
    if (whole) {
      sums = checksum(view, at, 8, sums, little);
      sums = checksum(view, at + frameHeaderSize, pageSize, sums, little);
      whole = frame.salt === salt && show(sums) === frame.sum;
    }
    // Frames of an earlier round of the log have another salt.
    if (!whole && frame.commits && frame.salt === salt) behind++;
  }
  return behind > 1 ? `its write-ahead log is damaged in front of ${behind} transactions` : undefined;
}

type Sums = readonly [number, number];

function show([a, b]: Sums): string {
  return ((BigInt(a) << 32n) | BigInt(b)).toString(16);
}

/** SQLite's own, over pairs of words. */
function checksum(view: DataView, from: number, length: number, [s0, s1]: Sums, little: boolean): Sums {
  let [a, b] = [s0, s1];
  for (let at = from; at < from + length; at += 8) {
    a = (a + view.getUint32(at, little) + b) >>> 0;
    b = (b + view.getUint32(at + 4, little) + a) >>> 0;
  }
  return [a, b];
}
