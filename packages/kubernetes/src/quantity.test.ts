import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addQuantities,
  compareQuantities,
  divideRoundingUp,
  formatQuantity,
  milliUnits,
  parseQuantity,
  quantityProblem,
  tryParseQuantity,
  wholeUnits,
  zeroQuantity,
} from "./quantity.ts";

/** From k8s.io/apimachinery v0.36.3 pkg/api/resource/quantity_test.go. */
describe("a quantity is written in its canonical form", () => {
  test.each([
    ["0", "0"],
    ["0n", "0"],
    ["0Ki", "0"],
    ["-0", "0"],
    ["1", "1"],
    ["1000", "1k"],
    ["1.5", "1500m"],
    ["0.5", "500m"],
    ["100m", "100m"],
    ["1000m", "1"],
    ["1500m", "1500m"],
    ["0.1", "100m"],
    [".5", "500m"],
    ["5.", "5"],
    ["+2", "2"],
    ["-1.5", "-1500m"],
    ["10", "10"],
    ["12345", "12345"],
    ["1000k", "1M"],
    ["1E", "1E"],
    ["1000P", "1E"],
    ["1000E", "1000E"],
    ["1024Ki", "1Mi"],
    ["1Mi", "1Mi"],
    ["1000Mi", "1000Mi"],
    ["0.5Gi", "512Mi"],
    ["0.5Ki", "512"],
    ["1.5Gi", "1536Mi"],
    ["0.0005Ki", "512m"],
    ["1e3", "1e3"],
    ["12e6", "12e6"],
    ["100e4", "1e6"],
    ["1e-3", "1e-3"],
    ["1E3", "1e3"],
    ["1.1E-1", "110e-3"],
    ["10e-1", "1"],
    ["1n", "1n"],
    ["0.1n", "1n"],
    ["1u", "1u"],
    ["1000n", "1u"],
    ["0.0000000001", "1n"],
    ["-0.0000000001", "-1n"],
    ["9223372036854775807", "9223372036854775807"],
    ["9223372036854775808", "9223372036854775808"],
    ["8Ei", "9223372036854775807"],
    ["100Ei", "9223372036854775807"],
    ["-1Ki", "-1Ki"],
    ["-0.5Gi", "-512Mi"],
    ["-512", "-512"],
    ["1023", "1023"],
    ["1Ei", "1Ei"],
    ["4Ei", "4Ei"],
  ])("%s is %s", (text, canonical) => {
    expect(formatQuantity(parseQuantity(text))).toBe(canonical);
  });
});

/** Canonical form, value and format as printed by ParseQuantity of k8s.io/apimachinery v0.36.3 for the same texts. */
test.each([
  ["+0", "0", 0n, "DecimalSI"],
  [".", "0", 0n, "DecimalSI"],
  ["-", "0", 0n, "DecimalSI"],
  ["Mi", "0", 0n, "BinarySI"],
  ["1.G", "1G", 10n ** 9n, "DecimalSI"],
  ["0.0001Ki", "102400u", 1n, "DecimalSI"],
  ["1e+3", "1e3", 1000n, "DecimalExponent"],
  ["1e1", "10", 10n, "DecimalExponent"],
  ["1e0", "1", 1n, "DecimalExponent"],
  ["1e-10", "1e-9", 1n, "DecimalExponent"],
  ["1e-100", "1e-9", 1n, "DecimalExponent"],
  ["1e18", "1e18", 10n ** 18n, "DecimalExponent"],
  ["1e20", "100e18", 10n ** 20n, "DecimalExponent"],
  ["1e21", "1e21", 10n ** 21n, "DecimalExponent"],
  ["1e22", "10e21", 10n ** 22n, "DecimalExponent"],
  ["1e100", "10e99", 10n ** 100n, "DecimalExponent"],
  ["7.9Ei", "9108079886394091110400m", 9108079886394091111n, "BinarySI"],
  ["-9Ei", "-9223372036854775807", -9223372036854775807n, "BinarySI"],
  ["123456789012345678901", "123456789012345678901", 123456789012345678901n, "DecimalSI"],
] as const)("%s is read and written as Go does: %s", (text, canonical, value, format) => {
  const quantity = parseQuantity(text);

  expect([formatQuantity(quantity), wholeUnits(quantity), quantity.format]).toEqual([canonical, value, format]);
});

/** Errors of the same function. */
describe("what is no quantity is refused in the API server's words", () => {
  const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const wrongSuffix = "unable to parse quantity's suffix";
  test.each([
    ["", wrongFormat],
    ["abc", wrongFormat],
    [" 1", wrongFormat],
    ["1.2.3", wrongFormat],
    ["1e3m", wrongFormat],
    ["1,000", wrongFormat],
    ["١", wrongFormat],
    ["1K", wrongSuffix],
    ["1ki", wrongSuffix],
    ["1Kii", wrongSuffix],
    ["1e", wrongSuffix],
    ["1e-", wrongSuffix],
    ["1m5", wrongSuffix],
    ["1Mi5", wrongSuffix],
    ["--1", wrongSuffix],
    [5, wrongFormat],
    ["5", undefined],
  ])("%j: %s", (text, problem) => {
    expect(quantityProblem(text)).toBe(problem);
  });
});

test.each([
  "",
  "1 ",
  " 1",
  "1.1.M",
  "1+1.0M",
  "0.1mi",
  "0.1am",
  "aoeu",
  ".5i",
  "1i",
  "1M1",
  "1e",
  "1e3m",
  "1e1000",
  "1e101",
  "1e-101",
  "x1",
  "--1",
  "NaN",
  "1_000",
])("%j is no quantity, and the message says so", (text) => {
  expect(tryParseQuantity(text)).toBeUndefined();
  expect(() => parseQuantity(text)).toThrow(`read quantity "${text}": expected a number with an optional suffix`);
});

test.each([
  ["1Ki", "BinarySI"],
  ["0Ki", "BinarySI"],
  ["0.0009765625Ki", "BinarySI"],
  ["0.0005Ki", "DecimalSI"],
  ["-0.0005Ki", "DecimalSI"],
  ["1k", "DecimalSI"],
  ["1e3", "DecimalExponent"],
  ["1E", "DecimalSI"],
])("%s is of the format %s, and so is a sum that begins with it", (text, format) => {
  expect(parseQuantity(text).format).toBe(format);
});

test("a text too long to be shown is cut in the message", () => {
  expect(() => parseQuantity("x".repeat(65))).toThrow(`"${"x".repeat(64)}…"`);
  expect(() => parseQuantity("x".repeat(64))).toThrow(`"${"x".repeat(64)}"`);
});

test.each([undefined, null, 5, {}])("%s, which is no text, is no quantity", (value) => {
  expect(tryParseQuantity(value)).toBeUndefined();
});

test("a division is rounded away from zero, whatever the signs", () => {
  expect([
    divideRoundingUp(7n, 2n),
    divideRoundingUp(-7n, 2n),
    divideRoundingUp(7n, -2n),
    divideRoundingUp(-7n, -2n),
    divideRoundingUp(6n, 2n),
    divideRoundingUp(0n, 2n),
  ]).toEqual([4n, -4n, -4n, 4n, 3n, 0n]);
});

test("quantities compare by amount, however they are written", () => {
  expect(compareQuantities(parseQuantity("1"), parseQuantity("1000m"))).toBe(0);
  expect(compareQuantities(parseQuantity("1Gi"), parseQuantity("1G"))).toBe(1);
  expect(compareQuantities(parseQuantity("0.1n"), parseQuantity("2n"))).toBe(-1);
});

test("a sum is exact and keeps the first summand's format", () => {
  expect(formatQuantity(addQuantities(parseQuantity("0.1"), parseQuantity("0.2")))).toBe("300m");
  expect(formatQuantity(addQuantities(parseQuantity("0"), parseQuantity("512Mi")))).toBe("512Mi");
  expect(formatQuantity(addQuantities(parseQuantity("1024"), parseQuantity("1Ki")))).toBe("2048");
  expect(addQuantities(zeroQuantity, parseQuantity("2"))).toEqual(parseQuantity("2"));
});

test("whole units and thousandths are rounded away from zero", () => {
  expect([wholeUnits(parseQuantity("1.1")), wholeUnits(parseQuantity("-1.1")), wholeUnits(parseQuantity("2"))]).toEqual([2n, -2n, 2n]);
  expect([milliUnits(parseQuantity("1.0001")), milliUnits(parseQuantity("1n"))]).toEqual([1001n, 1n]);
});

test("what is written is read as the same amount, and written the same again", () => {
  const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "e3", "E-3", "e12");
  const text = fc.tuple(fc.constantFrom("", "-", "+"), fc.nat(), fc.option(fc.nat({ max: 999_999 }), { nil: undefined }), suffix);
  fc.assert(
    fc.property(text, ([sign, whole, fraction, unit]) => {
      const quantity = parseQuantity(`${sign}${whole}${fraction === undefined ? "" : `.${fraction}`}${unit}`);
      const written = formatQuantity(quantity);
      expect(parseQuantity(written).nano).toBe(quantity.nano);
      expect(formatQuantity(parseQuantity(written))).toBe(written);
    }),
  );
});
