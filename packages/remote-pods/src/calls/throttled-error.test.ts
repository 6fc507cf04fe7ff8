import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { isThrottled, ThrottledError } from "./throttled-error.ts";

const loop: { code: string; cause?: unknown } = { code: "VK_UNAVAILABLE" };
loop.cause = loop;

test.for<[string, unknown, boolean]>([
  ["a throttled request", new ThrottledError("429"), true],
  ["an error that it caused", new UnavailableError("list", { cause: new ThrottledError("429") }), true],
  ["one of another copy of the package", { code: "VK_UNAVAILABLE", isThrottled: true }, true],
  ["another error with that property", { code: "VK_INVALID_INPUT", isThrottled: true }, false],
  ["another refusal", new UnavailableError("503"), false],
  ["an error of the input", new InvalidInputError("spec.containers: refused"), false],
  ["a chain of causes that is a loop", loop, false],
  ["no error", undefined, false],
])("%s", ([, error, expected]) => {
  expect(isThrottled(error)).toBe(expected);
});
