import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { volumeFilePath } from "./file-path.ts";

test.each([
  ["a", "a"],
  ["a/b.txt", "a/b.txt"],
  ["./a//b/", "a/b"],
  ["...", undefined],
  ["a/...", "a/..."],
  ["a/..b", "a/..b"],
  ["x".repeat(255), "x".repeat(255)],
  ["x".repeat(256), undefined],
  ["ä".repeat(128), undefined],
  ["", undefined],
  [".", undefined],
  ["/etc/passwd", undefined],
  ["..", undefined],
  ["../up", undefined],
  ["a/../../up", undefined],
  ["..data", undefined],
  ["a\0b", undefined],
  ["x/".repeat(2048) + "y", undefined],
])("the path %j is %j", (path, clean) => {
  if (clean !== undefined) expect(volumeFilePath(path)).toBe(clean);
  else expect(() => volumeFilePath(path)).toThrow(expect.toSatisfy(isInvalidInput));
});
