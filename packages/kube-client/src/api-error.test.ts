import { codeOf, isConflict, isRetryable, UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { apiError, ApiError, isGone, isTooLargeResourceVersion, statusOf } from "./api-error.ts";

const operation = "get pods default/web";

describe("apiError", () => {
  test.each([
    [400, "VK_INVALID_INPUT"],
    [401, "VK_UNAUTHORIZED"],
    [403, "VK_FORBIDDEN"],
    [404, "VK_NOT_FOUND"],
    [409, "VK_CONFLICT"],
    [410, "VK_INVALID_INPUT"],
    [415, "VK_INVALID_INPUT"],
    [422, "VK_INVALID_INPUT"],
    [408, "VK_UNAVAILABLE"],
    [429, "VK_UNAVAILABLE"],
    [500, "VK_UNAVAILABLE"],
    [503, "VK_UNAVAILABLE"],
    [302, "VK_UNAVAILABLE"],
  ])("makes %i an error with the code %s", (code, expected) => {
    expect(codeOf(apiError({ operation, code, body: { kind: "Status", message: "no" } }))).toBe(expected);
  });

  test("says what was attempted and what the server said", () => {
    const error = apiError({ operation, code: 404, body: { kind: "Status", reason: "NotFound", message: 'pods "web" not found' } });

    expect(error.message).toBe('get pods default/web: pods "web" not found');
    expect(error.cause).toBeInstanceOf(ApiError);
  });

  test("takes an answer that is no Status for its first words", () => {
    const error = apiError({ operation, code: 502, body: `<html>\n  Bad gateway${"!".repeat(1000)}` });

    expect(error.message).toMatch(/^get pods default\/web: the server answered 502: <html> Bad gateway!+$/);
    expect(error.message.length).toBeLessThan(400);
    expect(statusOf(error)?.code).toBe(502);
  });

  test("takes the wait from the header before the one from the details", () => {
    const body = { kind: "Status", details: { retryAfterSeconds: 1 } };

    expect(retryAfterMs(apiError({ operation, code: 429, body, retryAfter: "7" }))).toBe(7000);
    expect(retryAfterMs(apiError({ operation, code: 429, body }))).toBe(1000);
    expect(retryAfterMs(apiError({ operation, code: 503, body, retryAfter: "Fri, 31 Dec 1999 23:59:59 GMT" }))).toBe(1000);
    expect(retryAfterMs(apiError({ operation, code: 503, body: {} }))).toBeUndefined();
  });
});

test("statusOf finds the Status through causes, with reason and details", () => {
  const body = { kind: "Status", reason: "AlreadyExists", details: { name: "web", kind: "pods" } };
  const error = new Error("outer", { cause: apiError({ operation, code: 409, body }) });

  expect(statusOf(error)).toMatchObject({ code: 409, reason: "AlreadyExists", details: { name: "web" } });
  expect(isConflict(error)).toBe(true);
  expect(statusOf(new Error("other"))).toBeUndefined();
  expect(statusOf("text")).toBeUndefined();
});

test("isGone holds for 410 only, and trying the same call again is no use", () => {
  const gone = apiError({ operation, code: 410, body: { kind: "Status", reason: "Expired" } });

  expect(isGone(gone)).toBe(true);
  expect(isRetryable(gone)).toBe(false);
  expect(isGone(apiError({ operation, code: 404, body: {} }))).toBe(false);
});

test("isTooLargeResourceVersion looks at the cause the server names", () => {
  const body = {
    kind: "Status",
    reason: "Timeout",
    details: { retryAfterSeconds: 1, causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }] },
  };

  expect(isTooLargeResourceVersion(apiError({ operation, code: 504, body }))).toBe(true);
  expect(isTooLargeResourceVersion(apiError({ operation, code: 504, body: { kind: "Status", reason: "Timeout" } }))).toBe(false);
});

function retryAfterMs(error: unknown): number | undefined {
  return error instanceof UnavailableError ? error.retryAfterMs : undefined;
}
