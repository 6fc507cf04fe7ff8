import { ConflictError, InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import { ApiError } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { isOtherObject } from "./other-object.ts";

function invalid(...fields: string[]): Error {
  const details = fields.length > 0 ? { causes: fields.map((field) => ({ field })) } : undefined;
  return new InvalidInputError("invalid", {
    cause: new ApiError({ code: 422, reason: "Invalid", message: "invalid", ...(details && { details }) }),
  });
}

test.each<[string, unknown, boolean]>([
  ["a conflict", new ConflictError("changed"), true],
  ["an immutable UID", invalid("metadata.uid"), true],
  ["an immutable UID among other things", invalid("spec.x", "metadata.uid"), true],
  ["another field", invalid("metadata.name"), false],
  ["an error without fields", invalid(), false],
  ["an error of no API server", new NotFoundError("gone"), false],
  ["no error", undefined, false],
])("%s says that the object is another one: %#", (_what, error, expected) => {
  expect(isOtherObject(error)).toBe(expected);
});
