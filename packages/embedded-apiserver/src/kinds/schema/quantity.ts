/**
 * A resource quantity such as `1500m` or `2Gi`, held exactly, in units of 10⁻⁹.
 * Source: k8s.io/apimachinery v0.36.3 pkg/api/resource/quantity.go.
 */
export interface Quantity {
  /** The amount times 10⁹; quantities are never more precise. */
  readonly nanos: bigint;
  /** How it was written, and is written again. */
  readonly format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

const nano = 1_000_000_000n;
const maxBinary = (2n ** 63n - 1n) * nano;

const decimalExponents: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** What the API server says of a text that is no quantity. */
export const quantityFormatProblem = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Reads a quantity. @returns what is wrong with it, in the API server's words, if it is none */
export function tryParseQuantity(text: string): Quantity | string {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*(?:[-+]?\d*))$/.exec(text);
  if (match === null || text === "") return quantityFormatProblem;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  const unit = unitOf(suffix);
  if (unit === undefined) return "unable to parse quantity's suffix";
  const digits = BigInt(`0${whole}${fraction}`);
  const scaled = digits * 2n ** BigInt(unit.binary);
  const decimal = unit.decimal - fraction.length + 9;
  const magnitude = decimal >= 0 ? scaled * 10n ** BigInt(decimal) : divideUp(scaled, 10n ** BigInt(-decimal));
  const capped = unit.format === "BinarySI" && magnitude > maxBinary ? maxBinary : magnitude;
  return { nanos: sign === "-" ? -capped : capped, format: unit.format };
}

/** Reads a quantity that is known to be one. @throws RangeError if it is none */
export function parseQuantity(text: string): Quantity {
  const quantity = tryParseQuantity(text);
  if (typeof quantity === "string") throw new RangeError(`parse quantity ${JSON.stringify(text)}: ${quantity}`);
  return quantity;
}

function unitOf(suffix: string): { format: Quantity["format"]; binary: number; decimal: number } | undefined {
  const decimal = decimalExponents[suffix];
  if (decimal !== undefined) return { format: "DecimalSI", binary: 0, decimal };
  const binary = binaryExponents[suffix];
  if (binary !== undefined) return { format: "BinarySI", binary, decimal: 0 };
  // More than two digits of exponent would only be capped, after a huge multiplication.
  const exponent = /^[eE]([+-]?\d{1,2})$/.exec(suffix)?.[1];
  return exponent === undefined ? undefined : { format: "DecimalExponent", binary: 0, decimal: Number(exponent) };
}

/** Rounds away from zero: whoever asks for a little gets a little. */
function divideUp(value: bigint, divisor: bigint): bigint {
  return value >= 0n ? (value + divisor - 1n) / divisor : -divideUp(-value, divisor);
}

/** Writes a quantity in its canonical form: no fraction, and the largest suffix that loses nothing. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return "0";
  const isSmall = nanos > -1024n * nano && nanos < 1024n * nano;
  if (format === "BinarySI" && !isSmall && nanos % nano === 0n) return formatBinary(nanos / nano);
  return formatDecimal(nanos, format === "DecimalExponent");
}

/**
 * Writes a quantity as the API server does: one that was written canonically but for a sign, zeros in front or the case
 * of its exponent stays as it was written.
 *
 * @param text - what the quantity was read from
 */
export function writtenQuantity(text: string, quantity: Quantity): string {
  const canonical = formatQuantity(quantity);
  const plain = text
    .replace(/^\+?0*(?=\d)/, "")
    .replace(/E(?=[+-]?\d)/, "e")
    .replace(/e\+?0*(?=\d)/, "e")
    .replace(/e0$/, "");
  return plain === canonical && canonical !== "0" ? text : canonical;
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (mantissa % 1024n === 0n && power < binarySuffixes.length - 1) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${binarySuffixes[power]}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  let mantissa = nanos;
  let exponent = -9;
  while (mantissa % 1000n === 0n && (asExponent || exponent < 18)) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (!asExponent) return `${mantissa}${decimalSuffixes.get(exponent) ?? ""}`;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

/** Rounds up to thousandths, the precision in which resources are asked for. */
export function roundUpToMilli({ nanos, format }: Quantity): Quantity {
  return { nanos: divideUp(nanos, 1_000_000n) * 1_000_000n, format };
}

/** The amount in thousandths, rounded up. */
export function toMilliValue(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, 1_000_000n));
}

/** The amount in whole units, rounded up. */
export function toValue(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, nano));
}
