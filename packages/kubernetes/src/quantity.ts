import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** The way a quantity is written: `1500m`, `512Mi` or `12e6`. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

/**
 * An amount of a resource, exactly, as Kubernetes counts it: in billionths, however large.
 * Source: k8s.io/apimachinery v0.36.3 pkg/api/resource/quantity.go.
 */
export interface Quantity {
  /** The amount times 10⁹. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

/** No amount at all. */
export const zeroQuantity: Quantity = { nano: 0n, format: "DecimalSI" };

const nanoPerUnit = 1_000_000_000n;
const maxInt64 = 2n ** 63n - 1n;
/** No resource is written with more; it bounds the work a hostile exponent can cause. */
const maxExponent = 100;

const decimalExponents: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;

/** What is wrong with a text that no quantity can be, in the API server's words. */
const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/**
 * Reads a quantity. What is finer than a billionth is rounded away from zero; with a binary suffix the amount is at most 2⁶³ − 1.
 * As in Go, a number without digits is zero: `Mi` is 0. Unlike there, exponents end at ±100.
 *
 * @throws InvalidInputError if the text is no quantity
 */
export function parseQuantity(text: string): Quantity {
  const quantity = read(text);
  if (typeof quantity !== "string") return quantity;
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  throw new InvalidInputError(`read quantity "${shown}": expected a number with an optional suffix, such as 500m, 2, 512Mi or 1e3`);
}

/** Like {@link parseQuantity}, but `undefined` for what is no quantity. */
export function tryParseQuantity(text: unknown): Quantity | undefined {
  const quantity = typeof text === "string" ? read(text) : "";
  return typeof quantity === "string" ? undefined : quantity;
}

/** What is wrong with the text as a quantity, in the API server's words; `undefined` if it is one. */
export function quantityProblem(text: unknown): string | undefined {
  const quantity = typeof text === "string" ? read(text) : wrongFormat;
  return typeof quantity === "string" ? quantity : undefined;
}

function read(text: string): Quantity | string {
  const match = text === "" ? null : pattern.exec(text);
  if (!match) return wrongFormat;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  const unit = unitOf(suffix);
  if (!unit) return "unable to parse quantity's suffix";
  const digits = BigInt(`0${whole}${fraction}`);
  const amount = scaleByTen(digits * 1024n ** BigInt(unit.binaryPower), 9 + unit.exponent - fraction.length);
  const capped = unit.format === "BinarySI" && amount > maxInt64 * nanoPerUnit ? maxInt64 * nanoPerUnit : amount;
  const format = unit.format === "BinarySI" && capped > 0n && capped < nanoPerUnit ? "DecimalSI" : unit.format;
  return { nano: sign === "-" ? -capped : capped, format };
}

function unitOf(suffix: string): { format: QuantityFormat; binaryPower: number; exponent: number } | undefined {
  const decimal = decimalExponents[suffix];
  if (decimal !== undefined) return { format: "DecimalSI", binaryPower: 0, exponent: decimal };
  const binaryPower = binarySuffixes.indexOf(suffix);
  if (binaryPower > 0) return { format: "BinarySI", binaryPower, exponent: 0 };
  const exponent = /^[eE][+-]?\d+$/.test(suffix) ? Number(suffix.slice(1)) : Number.NaN;
  return Math.abs(exponent) <= maxExponent ? { format: "DecimalExponent", binaryPower: 0, exponent } : undefined;
}

/**
 * The quantity in Kubernetes' canonical form, which is how the API server writes it: `0.5` is `500m`, `1024Mi` is `1Gi`. Go writes
 * 1000E and more as `1`, since it has no suffix for it; here it stays `1000E`.
 */
export function formatQuantity(quantity: Quantity): string {
  const { nano } = quantity;
  if (nano === 0n) return "0";
  const isWhole = nano % nanoPerUnit === 0n;
  const units = nano / nanoPerUnit;
  if (quantity.format === "BinarySI" && isWhole && (units <= -1024n || units >= 1024n)) return formatBinary(units);
  return formatDecimal(nano, quantity.format === "DecimalExponent");
}

/** Less than, equal to or greater than zero, as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  if (a.nano === b.nano) return 0;
  return a.nano < b.nano ? -1 : 1;
}

/** The sum, in the first summand's format; a zero takes the other's. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** The amount in whole units, rounded away from zero: bytes, pods, devices. */
export function wholeUnits(quantity: Quantity): bigint {
  return divideRoundingUp(quantity.nano, nanoPerUnit);
}

/** The amount in thousandths, rounded away from zero: millicores. */
export function milliUnits(quantity: Quantity): bigint {
  return divideRoundingUp(quantity.nano, 1_000_000n);
}

/** Divides, and rounds away from zero. */
export function divideRoundingUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  if (dividend % divisor === 0n) return quotient;
  return dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n;
}

function scaleByTen(value: bigint, power: number): bigint {
  return power >= 0 ? value * 10n ** BigInt(power) : divideRoundingUp(value, 10n ** BigInt(-power));
}

function formatBinary(units: bigint): string {
  let amount = units;
  let power = 0;
  while (power < binarySuffixes.length - 1 && amount % 1024n === 0n) {
    amount /= 1024n;
    power++;
  }
  return `${amount}${binarySuffixes[power]}`;
}

function formatDecimal(nano: bigint, withExponent: boolean): string {
  let amount = nano;
  let exponent = -9;
  while (amount % 1000n === 0n && (withExponent || exponent < 18)) {
    amount /= 1000n;
    exponent += 3;
  }
  if (!withExponent) return `${amount}${decimalSuffixes.get(exponent) ?? ""}`;
  return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
}
