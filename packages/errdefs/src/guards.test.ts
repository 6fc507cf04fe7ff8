import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { errorCodes, type ErrorCode } from "./codes.ts";
import * as errors from "./errors.ts";
import * as guards from "./guards.ts";

const table: readonly [ErrorCode, new (message: string, options?: ErrorOptions) => Error, (error: unknown) => boolean][] = [
  ["VK_NOT_FOUND", errors.NotFoundError, guards.isNotFound],
  ["VK_INVALID_INPUT", errors.InvalidInputError, guards.isInvalidInput],
  ["VK_CONFLICT", errors.ConflictError, guards.isConflict],
  ["VK_UNAVAILABLE", errors.UnavailableError, guards.isUnavailable],
  ["VK_DEADLINE_EXCEEDED", errors.DeadlineExceededError, guards.isDeadlineExceeded],
  ["VK_UNAUTHORIZED", errors.UnauthorizedError, guards.isUnauthorized],
  ["VK_FORBIDDEN", errors.ForbiddenError, guards.isForbidden],
  ["VK_QUOTA_EXCEEDED", errors.QuotaExceededError, guards.isQuotaExceeded],
  ["VK_UNSUPPORTED", errors.UnsupportedError, guards.isUnsupported],
  ["VK_TERMINAL", errors.TerminalError, guards.isTerminal],
];

test("every code has a class and a guard", () => {
  expect(table.map(([code]) => code).toSorted()).toEqual(Object.keys(errorCodes).toSorted());
});

describe.each(table)("%s", (code, ErrorClass, guard) => {
  test("is matched by its own guard and by no other", () => {
    const error = new ErrorClass("x");

    expect(guards.codeOf(error)).toBe(code);
    expect(table.filter(([, , other]) => other(error)).map(([name]) => name)).toEqual([code]);
    expect(guard(error)).toBe(true);
  });

  test("is found through a chain of causes", () => {
    const wrapped = new Error("outer", { cause: new Error("middle", { cause: new ErrorClass("inner") }) });

    expect(guard(wrapped)).toBe(true);
  });

  test("counts on any error that carries the code, so a provider need not import this package", () => {
    expect(guard(Object.assign(new Error("x"), { code }))).toBe(true);
  });

  test("bears its class's name", () => {
    expect(new ErrorClass("x").name).toBe(ErrorClass.name);
  });
});

test("guards match errors made by a second copy of the package, and the other way round", async () => {
  const folder = await mkdtemp(join(tmpdir(), "errdefs-copy-"));
  try {
    await cp(import.meta.dirname, folder, { recursive: true });
    const copy: typeof import("./index.ts") = await import(pathToFileURL(join(folder, "index.ts")).href);
    const foreign = new copy.NotFoundError("x");

    expect(foreign).not.toBeInstanceOf(errors.NotFoundError);
    expect(guards.isNotFound(new Error("wrapped", { cause: foreign }))).toBe(true);
    expect(copy.isNotFound(new errors.NotFoundError("y"))).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the outermost code wins", () => {
  const error = new errors.UnavailableError("x", { cause: new errors.NotFoundError("y") });

  expect(guards.isUnavailable(error)).toBe(true);
  expect(guards.isNotFound(error)).toBe(false);
});

test.each([undefined, null, 7, "VK_NOT_FOUND", { code: "ENOENT" }, { code: "toString" }])("%j carries no code", (value) => {
  expect(guards.codeOf(value)).toBeUndefined();
});

test("a chain of causes that bites its own tail ends", () => {
  const error = new Error("x");
  error.cause = error;

  expect(guards.codeOf(error)).toBeUndefined();
  expect(guards.messageOf(error)).toBe("x");
});

test("an error without a code may be tried again; a code decides for itself", () => {
  expect(guards.isRetryable(new Error("x"))).toBe(true);
  expect(guards.isRetryable(new errors.UnavailableError("x"))).toBe(true);
  expect(guards.isRetryable(new errors.TerminalError("x"))).toBe(false);
});

test("an error has its code's HTTP status, or 500", () => {
  expect(guards.httpStatusOf(new errors.NotFoundError("x"))).toBe(404);
  expect(guards.httpStatusOf(new Error("x"))).toBe(500);
});

test("messageOf joins the causes' messages and repeats none", () => {
  const cause = new Error("connection refused");

  expect(guards.messageOf(new Error("list pods", { cause }))).toBe("list pods: connection refused");
  expect(guards.messageOf(new Error("list pods: connection refused", { cause }))).toBe("list pods: connection refused");
  expect(guards.messageOf("plain text")).toBe("plain text");
});

test("messageOf tells of a SuppressedError what failed first, and then what failed while disposing", () => {
  const suppress = (error: unknown, suppressed: unknown): Error =>
    Object.assign(new Error("An error was suppressed"), { name: "SuppressedError", error, suppressed });
  const first = new Error("read the log", { cause: new Error("connection refused") });
  const inner = suppress(new Error("the pod stays"), first);

  expect(guards.messageOf(inner)).toBe("read the log: connection refused; then, while disposing: the pod stays");
  expect(guards.messageOf(new Error("check", { cause: suppress("a socket stays", inner) }))).toBe(
    "check: read the log: connection refused; then, while disposing: the pod stays; then, while disposing: a socket stays",
  );
});

test("a SuppressedError that holds itself ends", () => {
  const error = Object.assign(new Error("x"), { name: "SuppressedError", error: new Error("y"), suppressed: new Error("z") });
  error.suppressed = error;

  expect(guards.messageOf(error)).toMatch(/while disposing: y/);
});

test("UnavailableError keeps how long to wait, UnsupportedError which field is to blame", () => {
  expect(new errors.UnavailableError("x", { retryAfterMs: 7_000 }).retryAfterMs).toBe(7_000);
  expect(new errors.UnsupportedError("x", { fieldPath: "spec.hostNetwork" }).fieldPath).toBe("spec.hostNetwork");
});

test("terminalReasonOf finds the reason of a failure for good, also through causes and in other errors of its code", () => {
  const error = new errors.TerminalError("x", { reason: "NodePorts" });

  expect(guards.terminalReasonOf(new Error("outer", { cause: error }))).toBe("NodePorts");
  expect(guards.terminalReasonOf({ code: "VK_TERMINAL", reason: "Full" })).toBe("Full");
  expect(guards.terminalReasonOf(new errors.TerminalError("x"))).toBeUndefined();
  expect(guards.terminalReasonOf({ code: "VK_CONFLICT", reason: "Full" })).toBeUndefined();
});
