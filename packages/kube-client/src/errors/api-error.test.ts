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
    [399, "VK_UNAVAILABLE"],
    [415, "VK_INVALID_INPUT"],
    [499, "VK_INVALID_INPUT"],
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

test("statusOf is the server's Status with the answer's code, or one made up in its form", () => {
  const body = { kind: "Status", reason: "Forbidden", code: 1 };

  expect(statusOf(apiError({ operation, code: 403, body }))).toEqual({ kind: "Status", reason: "Forbidden", code: 403 });
  for (const other of [undefined, null, 7, {}, { kind: "Pod" }])
    expect(statusOf(apiError({ operation, code: 403, body: other }))).toEqual({
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      code: 403,
      message: "the server answered 403",
    });
});

test("an ApiError says the server's message, else its reason, else its code", () => {
  expect(new ApiError({ message: "no", reason: "Forbidden", code: 403 }).message).toBe("no");
  expect(new ApiError({ reason: "Forbidden", code: 403 }).message).toBe("Forbidden");
  expect(new ApiError({ code: 403 }).message).toBe("the server answered 403");
});

test("an answer's text is told without its line breaks, up to 256 characters", () => {
  const messageOf = (body: string): string | undefined => statusOf(apiError({ operation, code: 502, body }))?.message;

  expect(messageOf("  one\n\n  two  ")).toBe("the server answered 502: one two");
  expect(messageOf("   ")).toBe("the server answered 502");
  expect(messageOf("x".repeat(300))).toBe(`the server answered 502: ${"x".repeat(256)}`);
});

test.each([408, 429, 500, 503])("the server's wish to be left alone is kept with %i", (code) => {
  expect(retryAfterMs(apiError({ operation, code, body: {}, retryAfter: "7" }))).toBe(7000);
});

test.each(["", "7s", "s7", "-7", "7.5"])("a Retry-After of %j is none", (retryAfter) => {
  expect(retryAfterMs(apiError({ operation, code: 429, body: {}, retryAfter }))).toBeUndefined();
});

test("a wait of no seconds in the details is none", () => {
  expect(retryAfterMs(apiError({ operation, code: 429, body: { kind: "Status", details: { retryAfterSeconds: 0 } } }))).toBeUndefined();
});

test("an error that no server sent has no Status, is not gone and is not ahead, even if it is its own cause", () => {
  const error = new Error("round");
  error.cause = error;

  expect(statusOf(error)).toBeUndefined();
  expect(isGone(error)).toBe(false);
  expect(isTooLargeResourceVersion(error)).toBe(false);
});

test("one cause among several is enough to say that the version is too large", () => {
  const body = { kind: "Status", details: { causes: [{ reason: "Other" }, { reason: "ResourceVersionTooLarge" }] } };

  expect(isTooLargeResourceVersion(apiError({ operation, code: 504, body }))).toBe(true);
  const others = { kind: "Status", details: { causes: [{ reason: "Other" }] } };
  expect(isTooLargeResourceVersion(apiError({ operation, code: 504, body: others }))).toBe(false);
});

function retryAfterMs(error: unknown): number | undefined {
  return error instanceof UnavailableError ? error.retryAfterMs : undefined;
}
