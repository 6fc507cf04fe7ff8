import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { resources } from "../rest/resources.ts";
import { ApiError } from "./api-error.ts";
import { isGoneObject } from "./gone-object.ts";

const status = { kind: "Status", code: 404, reason: "NotFound", details: { kind: "pods", name: "web" } };

test.each<[string, unknown, boolean]>([
  ["the API server's own word", new NotFoundError("gone", { cause: new ApiError(status) }), true],
  ["a 404 without a status of its own", new NotFoundError("404 page not found", { cause: new ApiError({ code: 404 }) }), false],
  [
    "a 404 of another object",
    new NotFoundError("gone", { cause: new ApiError({ ...status, details: { kind: "pods", name: "db" } }) }),
    false,
  ],
  [
    "a 404 of another kind",
    new NotFoundError("gone", { cause: new ApiError({ ...status, details: { kind: "namespaces", name: "web" } }) }),
    false,
  ],
  ["a 404 of nothing", new NotFoundError("gone", { cause: new ApiError({ ...status, details: undefined }) }), false],
  ["an error of no API server", new NotFoundError("gone"), false],
  ["another refusal", new InvalidInputError("no", { cause: new ApiError({ ...status, code: 400 }) }), false],
  ["no error", undefined, false],
])("%s says that the object is gone, or not: %#", (_what, error, expected) => {
  expect(isGoneObject(error, resources.pods, "web")).toBe(expected);
});
