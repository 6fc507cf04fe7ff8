import {
  ForbiddenError,
  InvalidInputError,
  isForbidden,
  isInvalidInput,
  isUnauthorized,
  isUnavailable,
  NotFoundError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedError,
} from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { collectAll, throwAll, withCodeOf } from "./collect-all.ts";

function thrownBy(...errors: unknown[]): unknown {
  try {
    throwAll(errors);
    return undefined;
  } catch (error) {
    return error;
  }
}

test("results are collected in their order, and every item is tried before anything is thrown", () => {
  expect(collectAll([1, 2, 3], (item) => item * 2)).toEqual([2, 4, 6]);
  const tried: number[] = [];
  const failing = (): unknown =>
    collectAll([1, 2, 3], (item) => {
      tried.push(item);
      if (item !== 2) throw new InvalidInputError(`no ${item}`);
    });

  expect(failing).toThrow("[no 1, no 3]");
  expect(tried).toEqual([1, 2, 3]);
});

describe("of errors", () => {
  const missing = new NotFoundError("gone");
  const invalid = new InvalidInputError("wrong");
  const away = new UnavailableError("away");

  test("none is no error, and one is thrown as it is", () => {
    expect(thrownBy()).toBeUndefined();
    expect(thrownBy(away)).toBe(away);
  });

  test("all are told, each once, in a kubelet's form", () => {
    expect(thrownBy(missing, invalid)).toMatchObject({ message: "[gone, wrong]" });
    expect(thrownBy(missing, new NotFoundError("gone"))).toMatchObject({ message: "gone" });
  });

  test("what cannot be read decides before what is missing or wrong", () => {
    expect(thrownBy(missing, away)).toSatisfy(isUnavailable);
    expect(thrownBy(invalid, away)).toSatisfy(isUnavailable);
    expect(thrownBy(missing, new ForbiddenError("no"), invalid)).toSatisfy(isForbidden);
    expect(thrownBy(missing, invalid)).toSatisfy(isInvalidInput);
    expect(thrownBy(missing, away)).toMatchObject({ cause: away });
    expect(thrownBy(missing, invalid)).toMatchObject({ cause: missing });
  });

  test("what can never be done goes before all, as it is", () => {
    const unsupported = new UnsupportedError("never");

    expect(thrownBy(away, unsupported, missing)).toBe(unsupported);
    expect(thrownBy(unsupported)).toBe(unsupported);
  });
});

test.each([
  [new InvalidInputError("x"), isInvalidInput],
  [new NotFoundError("x"), isInvalidInput],
  [new ForbiddenError("x"), isForbidden],
  [new UnauthorizedError("x"), isUnauthorized],
  [new UnavailableError("x"), isUnavailable],
  [new Error("x"), isUnavailable],
])("an error made of %s has its meaning", (cause, isRight) => {
  const error = withCodeOf(cause, "told otherwise");

  expect(isRight(error)).toBe(true);
  expect(error).toMatchObject({ message: "told otherwise", cause });
});
