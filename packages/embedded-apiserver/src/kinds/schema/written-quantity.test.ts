import { parseQuantity } from "@virtual-kubelet/kubernetes";
import { describe, expect, test } from "vitest";
import { writtenQuantity } from "./written-quantity.ts";

describe("quantities", () => {
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
});
