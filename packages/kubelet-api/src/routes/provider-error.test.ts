import * as errdefs from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { Refusal } from "../server/refusal.ts";
import { refusalOf } from "./provider-error.ts";

test.each([
  [new errdefs.NotFoundError("no such container"), 404, "no such container", {}],
  [new errdefs.InvalidInputError("bad"), 400, "bad", {}],
  [new errdefs.UnsupportedError("no exec"), 501, "no exec", {}],
  [new errdefs.QuotaExceededError("full"), 429, "full", { "retry-after": "60" }],
  [new errdefs.UnavailableError("away"), 503, "away", {}],
  [new errdefs.UnavailableError("busy", { retryAfterMs: 1_500 }), 503, "busy", { "retry-after": "2" }],
  [new errdefs.DeadlineExceededError("slow"), 504, "slow", {}],
  [new errdefs.ConflictError("other"), 409, "other", {}],
  [new Error("list", { cause: new Error("broken pipe") }), 500, "Internal Error: list: broken pipe", {}],
  [new errdefs.TerminalError("never"), 500, "Internal Error: never", {}],
])("%o is %i", (error, status, message, headers) => {
  expect(refusalOf(error)).toMatchObject({ status, message, headers });
});

test("if the back end rejects this program's credentials, the client gets a 500", () => {
  expect(refusalOf(new errdefs.UnauthorizedError("token expired"))).toMatchObject({ status: 500 });
  expect(refusalOf(new errdefs.ForbiddenError("no rights"))).toMatchObject({ status: 500 });
});

test("a Refusal is returned unchanged", () => {
  const refusal = new Refusal(418, "teapot");

  expect(refusalOf(refusal)).toBe(refusal);
});

test.each([new errdefs.NotFoundError("none"), new errdefs.UnauthorizedError("token expired")])(
  "the cause of %o is kept, and there is no retry-after",
  (error) => {
    expect(refusalOf(error)).toMatchObject({ cause: error, headers: {} });
  },
);

test.each([
  [0, "0"],
  [1_000, "1"],
  [1_001, "2"],
])("a delay of %i ms becomes %s whole seconds", (retryAfterMs, seconds) => {
  expect(refusalOf(new errdefs.UnavailableError("busy", { retryAfterMs })).headers).toEqual({ "retry-after": seconds });
});
