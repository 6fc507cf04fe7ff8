import { expect, test } from "vitest";
import { DecodeError, isDecodeError } from "./decode-error.ts";

test("isDecodeError knows one by its name, also behind others", () => {
  expect(isDecodeError(new DecodeError("not JSON"))).toBe(true);
  expect(isDecodeError(new Error("list", { cause: new Error("page", { cause: new DecodeError("not JSON") }) }))).toBe(true);
  expect(isDecodeError(Object.assign(new Error("of another copy of the package"), { name: "DecodeError" }))).toBe(true);
});

test("isDecodeError knows nothing else", () => {
  expect(isDecodeError(new Error("DecodeError"))).toBe(false);
  expect(isDecodeError({ name: "DecodeError" })).toBe(false);
  expect(isDecodeError(undefined)).toBe(false);
});

test("isDecodeError does not look for ever where an error is its own cause", () => {
  const error = new Error("round");
  error.cause = error;

  expect(isDecodeError(error)).toBe(false);
});
