import {
  ForbiddenError,
  InvalidInputError,
  isForbidden,
  isInvalidInput,
  isQuotaExceeded,
  isUnavailable,
  messageOf,
  NotFoundError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { ApiError } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { creationError } from "./creation-error.ts";

const quota = 'pods "web" is forbidden: exceeded quota: team, requested: cpu=2, used: cpu=7, limited: cpu=8';

test("an exceeded quota of the far cluster is one here, in its words", () => {
  const error = creationError(
    new ForbiddenError(`create pods vk/web: ${quota}`, { cause: new ApiError({ code: 403, message: quota }) }),
    "vk",
  );

  expect(isQuotaExceeded(error)).toBe(true);
  expect(messageOf(error)).toContain(`far cluster: ${quota}`);
});

test("another refusal stays what it is", () => {
  const error = new ForbiddenError("create pods", { cause: new ApiError({ code: 403, message: "violates PodSecurity" }) });

  expect(isForbidden(creationError(error, "vk"))).toBe(true);
});

test("a missing namespace can be mended, and says how", () => {
  const cause = new ApiError({
    code: 404,
    reason: "NotFound",
    message: 'namespaces "vk" not found',
    details: { kind: "namespaces", name: "vk" },
  });
  const error = creationError(new NotFoundError("create pods", { cause }), "vk");

  expect(isUnavailable(error)).toBe(true);
  expect(messageOf(error)).toContain("the far namespace vk does not exist; create it, or set namespaces.create");
});

test("an invalid pod is refused in the far cluster's words", () => {
  const words = 'Pod "web" is invalid: spec.containers[0].image: Required value';
  const error = creationError(new InvalidInputError("create", { cause: new ApiError({ code: 422, message: words }) }), "vk");

  expect(isInvalidInput(error)).toBe(true);
  expect(String(error)).toContain(`far cluster: ${words}`);
});

test("an error of home, such as a missing secret, is not blamed on the far cluster", () => {
  const error = new InvalidInputError("secret default/token does not exist");

  expect(creationError(error, "vk")).toBe(error);
});

test("a far cluster that asks to be left alone is obeyed", () => {
  const error = new UnavailableError("too many requests", { retryAfterMs: 7_000 });

  expect(creationError(error, "vk")).toBe(error);
});
