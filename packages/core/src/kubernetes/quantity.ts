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

const decimalSuffixes: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binarySuffixes: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;

/**
 * Reads a quantity. What is finer than a billionth is rounded away from zero.
 *
 * @throws InvalidInputError if the text is no quantity
 */
export function parseQuantity(text: string): Quantity {
  const [, sign = "", whole = "", fraction = "", suffix = ""] = pattern.exec(text) ?? [];
  if (whole === "" && fraction === "") throw notAQuantity(text);
  const digits = BigInt(whole + fraction);

  const binaryPower = suffix.length === 2 ? binarySuffixes.indexOf(suffix) : -1;
  if (binaryPower > 0) {
    const scaled = scaleByTen(digits * 1024n ** BigInt(binaryPower), 9 - fraction.length);
    const capped = scaled > maxInt64 * nanoPerUnit ? maxInt64 * nanoPerUnit : scaled;
    const format = capped > 0n && capped < nanoPerUnit ? "DecimalSI" : "BinarySI";
    return { nano: sign === "-" ? -capped : capped, format };
  }

  const byExponent = /^[eE][+-]?\d/.test(suffix);
  const exponent = byExponent ? Number(suffix.slice(1)) : decimalSuffixes[suffix];
  if (exponent === undefined || Math.abs(exponent) > maxExponent) throw notAQuantity(text);
  const nano = scaleByTen(digits, 9 + exponent - fraction.length);
  return { nano: sign === "-" ? -nano : nano, format: byExponent ? "DecimalExponent" : "DecimalSI" };
}

/** Like {@link parseQuantity}, but `undefined` for what is no quantity. */
export function tryParseQuantity(text: unknown): Quantity | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return parseQuantity(text);
  } catch {
    return undefined;
  }
}

/** The quantity in Kubernetes' canonical form, which is how the API server writes it: `0.5` is `500m`, `1024Mi` is `1Gi`. */
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
  while (exponent < 18 && amount % 1000n === 0n) {
    amount /= 1000n;
    exponent += 3;
  }
  if (exponent === 0) return `${amount}`;
  if (withExponent) return `${amount}e${exponent}`;
  const suffix = Object.keys(decimalSuffixes).find((name) => decimalSuffixes[name] === exponent) ?? "";
  return `${amount}${suffix}`;
}

function notAQuantity(text: string): InvalidInputError {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  return new InvalidInputError(`read quantity "${shown}": expected a number with an optional suffix, such as 500m, 2, 512Mi or 1e3`);
}
