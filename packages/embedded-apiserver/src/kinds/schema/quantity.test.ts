import { describe, expect, test } from "vitest";
import { formatQuantity, parseQuantity, roundUpToMilli, toMilliValue, toValue, tryParseQuantity, writtenQuantity } from "./quantity.ts";

describe("quantities", () => {
  // What k8s.io/apimachinery v0.36.3 prints for the same texts.
  test.each([
    ["1000m", "1"],
    ["0.5", "500m"],
    ["1024Mi", "1Gi"],
    ["1000Mi", "1000Mi"],
    ["1.5Gi", "1536Mi"],
    ["0.5Gi", "512Mi"],
    ["0.1m", "100u"],
    ["1e3", "1e3"],
    ["1e1", "10"],
    ["1E2", "100"],
    ["1E", "1E"],
    ["1000k", "1M"],
    ["00", "0"],
    ["-5", "-5"],
    [".5", "500m"],
    ["9Ei", "9223372036854775807"],
    ["123456789012345678901", "123456789012345678901"],
  ])("%s is written %s", (text, canonical) => {
    expect(formatQuantity(parseQuantity(text))).toBe(canonical);
  });

  test.each([
    ["abc", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ["", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ["1Kii", "unable to parse quantity's suffix"],
  ])("%j is refused in the server's words", (text, problem) => {
    expect(tryParseQuantity(text)).toBe(problem);
  });

  // Recorded from kube-apiserver v1.36.3.
  test.each([
    ["+5Mi", "+5Mi"],
    ["05Mi", "05Mi"],
    ["1E6", "1E6"],
    ["1e0", "1e0"],
    ["1e1", "10"],
    ["1.0e3", "1e3"],
    ["2000", "2k"],
    ["1024Ki", "1Mi"],
    ["00", "0"],
    ["+0", "0"],
  ])("%s is sent back as %s", (text, written) => {
    expect(writtenQuantity(text, parseQuantity(text))).toBe(written);
  });

  test("values are rounded up", () => {
    expect(toMilliValue(parseQuantity("100u"))).toBe(1);
    expect(toValue(parseQuantity("1500m"))).toBe(2);
    expect(formatQuantity(roundUpToMilli(parseQuantity("1n")))).toBe("1m");
  });
});
