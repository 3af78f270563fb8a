/**
 * Quantities of resources, which may be written in many ways and come back from the API server in one.
 *
 * @module
 */

const factors: { readonly [suffix: string]: number } = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** The number that a quantity such as `500m` or `1.5Gi` stands for; `undefined` if it is none. */
export function quantity(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const [, digits, suffix = ""] =
    /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  const factor = factors[suffix];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** Whether two quantities stand for the same number, but for what floating point does to it. */
export function sameQuantity(a: unknown, b: unknown): boolean {
  const left = quantity(a), right = quantity(b);
  if (left === undefined || right === undefined) return false;
  return Math.abs(left - right) <= 1e-9 * Math.max(Math.abs(left), Math.abs(right));
}
