import { expect, test } from "vitest";
import { containerMessageBytes, statusText } from "./status-text.ts";

test.each([
  [0, 4096],
  [1, 4096],
  [3, 4096],
  [4, 3072],
  [7, 1755],
  [96, 128],
  [500, 128],
])("in a pod of %i containers each message may have %i bytes", (count, bytes) => {
  expect(containerMessageBytes(count)).toBe(bytes);
});

test("a text is cut at so many bytes, between characters", () => {
  expect(statusText("abcdef", 3)).toBe("abc");
  expect(statusText("éé", 3)).toBe("é");
  expect(statusText("a😀", 4)).toBe("a");
  expect(statusText("😀", 3)).toBeUndefined();
  expect(statusText("abc", 3)).toBe("abc");
  expect(statusText("€".repeat(3), 9)).toBe("€€€");
  expect(statusText("€".repeat(4), 9)).toBe("€€€");
});

test("a text may have 4096 bytes unless told otherwise", () => {
  expect(statusText("x".repeat(5000))).toHaveLength(4096);
  expect(statusText("x".repeat(4096))).toHaveLength(4096);
});

test("what is no character is replaced, since the API server would refuse it", () => {
  expect(statusText("a\uD800")).toBe("a\uFFFD");
});

test.each(["", undefined, null, 5, {}])("%j is no text", (value) => {
  expect(statusText(value)).toBeUndefined();
});
