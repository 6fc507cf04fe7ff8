import {
  ForbiddenError,
  isForbidden,
  isInvalidInput,
  isUnauthorized,
  isUnavailable,
  NotFoundError,
  UnauthorizedError,
} from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { missingConfig, unknownYet, unreadableConfig, waitingReasonOf } from "./config-error.ts";

const reason = "CreateContainerConfigError";

test.each([
  ["missing", missingConfig("no such key"), isInvalidInput],
  ["unknown yet", unknownYet("no address yet"), isUnavailable],
  ["unreadable", unreadableConfig("failed to read", new Error("broken")), isUnavailable],
  ["forbidden", unreadableConfig("failed to read", new ForbiddenError("not yours")), isForbidden],
  ["read without credentials", unreadableConfig("failed to read", new UnauthorizedError("who are you")), isUnauthorized],
  ["read from nowhere", unreadableConfig("failed to read", new NotFoundError("gone")), isUnavailable],
])("what is %s has a kubelet's reason and a code that says what to do", (_what, error, isRight) => {
  expect(waitingReasonOf(error)).toBe(reason);
  expect(isRight(error)).toBe(true);
});

test("what cannot be read says why, and keeps its cause", () => {
  const cause = new ForbiddenError("not yours");

  expect(unreadableConfig("failed to read secret", cause)).toMatchObject({ message: "failed to read secret: not yours", cause });
  expect(missingConfig("no such key", cause)).toMatchObject({ message: "no such key", cause });
});

test("a reason is found among an error's causes, and in no loop of them for ever", () => {
  expect(waitingReasonOf(new Error("outer", { cause: new Error("inner", { cause: missingConfig("x") }) }))).toBe(reason);
  expect(waitingReasonOf(new Error("plain"))).toBeUndefined();
  expect(waitingReasonOf("text")).toBeUndefined();
  expect(waitingReasonOf(undefined)).toBeUndefined();
  expect(waitingReasonOf(null)).toBeUndefined();
  expect(waitingReasonOf({ waitingReason: 5 })).toBeUndefined();
  const loop = new Error("loop");
  loop.cause = loop;
  expect(waitingReasonOf(loop)).toBeUndefined();
});

test("the outermost reason counts", () => {
  expect(waitingReasonOf(Object.assign(new Error("x", { cause: missingConfig("y") }), { waitingReason: "ContainerCreating" }))).toBe(
    "ContainerCreating",
  );
});
