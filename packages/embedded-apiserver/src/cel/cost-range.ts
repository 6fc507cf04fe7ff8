/** A size or cost that is only known to lie between two numbers. Source: github.com/google/cel-go v0.26.0 checker/cost.go. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Greatest number of 64 bits. */
const limit = 2 ** 64;

export const unknownSize: Range = { min: 0, max: limit };

export function fixed(value: number): Range {
  return { min: value, max: value };
}

export function addCosts(...ranges: readonly Range[]): Range {
  return ranges.reduce((sum, { min, max }) => ({ min: cap(sum.min + min), max: cap(sum.max + max) }), fixed(0));
}

export function times(a: Range, b: Range): Range {
  return { min: cap(a.min * b.min), max: cap(a.max * b.max) };
}

export function timesFactor({ min, max }: Range, factor: number): Range {
  return { min: cap(Math.ceil(min * factor)), max: cap(Math.ceil(max * factor)) };
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

function cap(value: number): number {
  return Math.min(limit, value);
}
