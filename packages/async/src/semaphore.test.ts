import { expect, test } from "vitest";
import { Semaphore } from "./semaphore.ts";

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("as many works as there are permits run at once, the others in the order they came, also after one that failed or was aborted", async () => {
  const semaphore = new Semaphore(2);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const run = (name: string, signal = never): Promise<unknown> =>
    semaphore
      .run(() => {
        begun.push(name);
        const end = Promise.withResolvers<void>();
        ends.set(name, end);
        return end.promise;
      }, signal)
      .catch((error: unknown) => error);
  const abort = new AbortController();
  const results = [run("a"), run("b"), run("c", abort.signal), run("d"), run("e")];
  await turn();
  expect(begun).toEqual(["a", "b"]);

  abort.abort(new Error("given up"));
  expect(await results[2]).toEqual(new Error("given up"));
  ends.get("a")?.reject(new Error("failed"));
  await turn();
  expect(begun).toEqual(["a", "b", "d"]);
  for (const name of ["b", "d"]) ends.get(name)?.resolve();
  await turn();
  ends.get("e")?.resolve();

  expect([begun, await results[0]]).toEqual([["a", "b", "d", "e"], new Error("failed")]);
});

<<<<<<< HEAD:packages/pod-runtime/src/provider/turnstile.test.ts
test("a place can be had without waiting, or not at all, and is free once, for whoever waits", async () => {
  const turnstile = new Turnstile(2);
  const [first, second] = [turnstile.tryTake("a"), turnstile.tryTake("a")];
  let hasBegun = false;
  const passed = turnstile.pass(async () => (hasBegun = true), never);
  await turn();
  expect([turnstile.tryTake("b"), hasBegun]).toEqual([undefined, false]);

  first?.();
  expect(await passed).toBe(true);
  first?.();
  const third = turnstile.tryTake("b");
  expect([third, turnstile.tryTake("b")]).toEqual([expect.any(Function), undefined]);
  second?.();
  expect(turnstile.tryTake("c")).toEqual(expect.any(Function));
});

test("of places that are had without waiting, a group has three quarters", () => {
  const turnstile = new Turnstile(4);
  const taken = Array.from({ length: 4 }, () => turnstile.tryTake("a"));

  expect(taken.map(Boolean)).toEqual([true, true, true, false]);
  expect(turnstile.tryTake("b")).toBeDefined();
  taken[0]?.();
  expect(turnstile.tryTake("a")).toBeDefined();
});

test("a group whose work never ends leaves a quarter of the places to others, and has its turn when one of its own has ended", async () => {
  const turnstile = new Turnstile(4);
=======
test("a group whose work never ends leaves a quarter of the permits to others, and has its turn when one of its own has ended", async () => {
  const semaphore = new Semaphore(4);
>>>>>>> 9b68e78 (Single flight, keyed mutex, semaphore and signals are a leaf package, @virtual-kubelet/async, that providers may import):packages/async/src/semaphore.test.ts
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (group: string): void =>
    void semaphore.run(() => (begun.push(group), new Promise<void>((resolve) => ends.push(resolve))), never, group);
  for (const group of ["a", "a", "a", "a", "a", "b", "b"]) run(group);
  await turn();
  expect(begun).toEqual(["a", "a", "a", "b"]);

  ends[3]?.();
  await turn();
  expect(begun).toEqual(["a", "a", "a", "b", "b"]);
  ends[4]?.();
  await turn();
  ends[0]?.();
  await turn();
  expect(begun).toEqual(["a", "a", "a", "b", "b", "a"]);
});
