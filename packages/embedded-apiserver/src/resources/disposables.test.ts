import { describe, expect, test } from "vitest";
import { Disposables } from "./disposables.ts";

/** Returns the error that a function throws. */
function errorOf(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("Disposables", () => {
  test("are disposed once, in reverse order", () => {
    const order: string[] = [];
    const disposables = new Disposables();
    disposables.use({ [Symbol.dispose]: () => void order.push("first") });
    disposables.defer(() => order.push("second"));

    disposables.dispose();
    disposables.dispose();

    expect(order).toEqual(["second", "first"]);
  });

  test("return the added resource", () => {
    const resource = { [Symbol.dispose]() {}, name: "timer" };

    expect(new Disposables().use(resource)).toBe(resource);
  });

  test("are disposed at the end of a block that declares them with `using`", () => {
    let isDisposed = false;
    {
      using disposables = new Disposables();
      disposables.defer(() => (isDisposed = true));
    }

    expect(isDisposed).toBe(true);
  });

  test("are all disposed even if one throws, and its error is rethrown", () => {
    const failure = new Error("the socket is gone");
    let isDisposed = false;
    const disposables = new Disposables();
    disposables.defer(() => (isDisposed = true));
    disposables.defer(() => {
      throw failure;
    });

    expect(errorOf(() => disposables.dispose())).toBe(failure);
    expect(isDisposed).toBe(true);
  });

  test("throw the errors of all resources that fail", () => {
    const disposables = new Disposables();
    for (const what of ["one", "two"])
      disposables.defer(() => {
        throw new Error(what);
      });

    const error = errorOf(() => disposables.dispose());

    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors).toEqual([new Error("two"), new Error("one")]);
  });

  test("accept nothing after they are disposed", () => {
    const disposables = new Disposables();
    disposables.dispose();

    expect(() => disposables.defer(() => {})).toThrow("already disposed");
  });
});
