import { DeadlineExceededError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { apiError } from "../errors/api-error.ts";
import { DecodeError } from "../errors/decode-error.ts";
import { failureOf } from "./reflector-state.ts";

function refusal(code: number, status: object = {}): Error {
  return apiError({ operation: "watch pods", code, body: { kind: "Status", ...status } });
}

test.each([
  [410, "gone"],
  [400, "refused"],
  [404, "refused"],
  [405, "refused"],
  [406, "refused"],
  [415, "refused"],
  [422, "refused"],
  [401, "other"],
  [403, "other"],
  [408, "other"],
  [409, "other"],
  [429, "other"],
  [500, "other"],
  [503, "other"],
  [504, "other"],
])("an answer of %i makes a failure of the kind %s", (code, kind) => {
  expect(failureOf(refusal(code)).kind).toBe(kind);
});

test("a version that the server has not seen is one ahead, whatever the code", () => {
  const details = { causes: [{ reason: "ResourceVersionTooLarge" }] };

  expect(failureOf(refusal(504, { details })).kind).toBe("ahead");
  expect(failureOf(refusal(400, { details })).kind).toBe("ahead");
});

test("what cannot be read, what took too long and what broke are told apart, also behind other errors", () => {
  const behind = (cause: Error): Error => new Error("list pods", { cause });

  expect(failureOf(behind(new DecodeError("not JSON"))).kind).toBe("unreadable");
  expect(failureOf(behind(new DeadlineExceededError("silent"))).kind).toBe("overdue");
  expect(failureOf(behind(refusal(410))).kind).toBe("gone");
  expect(failureOf(behind(new UnavailableError("connection reset"))).kind).toBe("other");
  expect(failureOf("thrown by somebody").kind).toBe("other");
});

test("a failure carries its error, and how long the server asked to be left alone", () => {
  const error = new UnavailableError("busy", { retryAfterMs: 7_000 });

  expect(failureOf(error)).toEqual({ kind: "other", error, retryAfterMs: 7_000 });
  expect(failureOf(new UnavailableError("away")).retryAfterMs).toBeUndefined();
});
