import { describe, expect, test } from "vitest";
import { Memo } from "./memo.ts";

/** A load that ends when it is told, and counts how often it was begun and aborted. */
class Loader {
  begun = 0;
  aborted = 0;
  gate: PromiseWithResolvers<string> = Promise.withResolvers();

  readonly load = async (signal: AbortSignal): Promise<string> => {
    this.begun++;
    signal.addEventListener("abort", () => this.aborted++, { once: true });
    return this.gate.promise;
  };
}

describe("Memo", () => {
  test("loads once for all who ask, at once or later", async () => {
    const loader = new Loader();
    const memo = new Memo<string>();
    const { signal } = new AbortController();
    const both = Promise.all([memo.get("a", loader.load, signal), memo.get("a", loader.load, signal)]);
    loader.gate.resolve("value");

    expect(await both).toEqual(["value", "value"]);
    expect(await memo.get("a", loader.load, signal)).toBe("value");
    expect(loader.begun).toBe(1);
  });

  test("lets one waiter go without the others, and aborts the load with the last", async () => {
    const loader = new Loader();
    const memo = new Memo<string>();
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [memo.get("a", loader.load, first.signal), memo.get("a", loader.load, second.signal)];

    first.abort(new Error("enough"));
    await expect(waiting[0]).rejects.toThrow("enough");
    expect(loader.aborted).toBe(0);

    second.abort(new Error("me too"));
    await expect(waiting[1]).rejects.toThrow("me too");
    expect(loader.aborted).toBe(1);
  });

  test("loads again what failed, and what nobody waited for", async () => {
    const loader = new Loader();
    const memo = new Memo<string>();
    const { signal } = new AbortController();
    const failing = memo.get("a", loader.load, signal);
    loader.gate.reject(new Error("no"));
    await expect(failing).rejects.toThrow("no");

    loader.gate = Promise.withResolvers();
    loader.gate.resolve("yes");

    expect(await memo.get("a", loader.load, signal)).toBe("yes");
    expect(loader.begun).toBe(2);
  });

  test("keeps undefined like any other value", async () => {
    let begun = 0;
    const memo = new Memo<undefined>();
    const { signal } = new AbortController();
    const load = async (): Promise<undefined> => void begun++;

    await memo.get("a", load, signal);
    await memo.get("a", load, signal);

    expect(begun).toBe(1);
  });
});
