import { Semaphore } from "@virtual-kubelet/async";
import { expect, test } from "vitest";

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

test("a place can be had without waiting, or not at all, and is free once, for whoever waits", async () => {
  const semaphore = new Semaphore(2);
  const [first, second] = [semaphore.tryAcquire("a"), semaphore.tryAcquire("c")];
  let hasBegun = false;
  const passed = semaphore.run(async () => (hasBegun = true), never);
  await turn();
  expect([semaphore.tryAcquire("b"), hasBegun]).toEqual([undefined, false]);

  first?.[Symbol.dispose]();
  expect(await passed).toBe(true);
  first?.[Symbol.dispose]();
  const third = semaphore.tryAcquire("b");
  expect([third, semaphore.tryAcquire("b")]).toEqual([expect.anything(), undefined]);
  second?.[Symbol.dispose]();
  expect(semaphore.tryAcquire("c")).toEqual(expect.anything());
});

test.each([
  [1, 1, [1, 0, 0]],
  [2, 1, [1, 1, 0]],
  [3, 1, [2, 1, 0]],
  [4, 1, [3, 1, 0]],
  [8, 1, [6, 1, 1]],
  [8, 2, [6, 2, 0]],
  [56, 1, [42, 1, 1]],
  [56, 2, [42, 2, 2]],
])("of %d places that are had without waiting, %d for each group, groups that take all they get have %j", (permits, perGroup, expected) => {
  const semaphore = new Semaphore(permits, { perGroup });
  const countOf = (group: string): number => {
    let count = 0;
    while (semaphore.tryAcquire(group)) count++;
    return count;
  };

  expect(["a", "b", "c"].map(countOf)).toEqual(expected);
});

test("a group that gives a place back may take one again", () => {
  const semaphore = new Semaphore(4);
  const taken = Array.from({ length: 4 }, () => semaphore.tryAcquire("a"));

  expect(taken.map(Boolean)).toEqual([true, true, true, false]);
  taken[0]?.[Symbol.dispose]();
  expect([semaphore.tryAcquire("a"), semaphore.tryAcquire("a")]).toEqual([expect.anything(), undefined]);
  expect(semaphore.tryAcquire("b")).toBeDefined();
});

test("where a permit that is given back makes room for two, both begin", async () => {
  const semaphore = new Semaphore(8);
  const held = Array.from({ length: 5 }, () => semaphore.tryAcquire("a"));
  const last = semaphore.tryAcquire("b");
  const begun: string[] = [];
  const run = (group: string): void => void semaphore.run(() => (begun.push(group), new Promise(() => {})), never, group);
  run("a");
  run("b");
  await turn();
  expect([held.every(Boolean), begun]).toEqual([true, []]);

  last?.[Symbol.dispose]();
  await turn();
  expect(begun).toEqual(["a", "b"]);
});

test("a group whose work never ends leaves a quarter of the permits to others, and has its turn when one of its own has ended", async () => {
  const semaphore = new Semaphore(4);
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

test("work that is aborted just as it has its permit gives that back, and nobody else's turn is lost", async () => {
  const semaphore = new Semaphore(1);
  const free = semaphore.tryAcquire();
  const abort = new AbortController();
  const begun: string[] = [];
  const run = (name: string, signal: AbortSignal): Promise<unknown> =>
    semaphore.run(async () => begun.push(name), signal).catch((error: unknown) => error);
  const first = run("first", abort.signal);
  const second = run("second", never);

  free?.[Symbol.dispose]();
  abort.abort(new Error("given up"));
  await turn();

  expect(begun).toEqual(["second"]);
  expect([await first, await second]).toEqual([new Error("given up"), 1]);
  expect(semaphore.tryAcquire()).toBeDefined();
});

test("a permit is acquired in order of arrival, and released once", async () => {
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const first = await semaphore.acquire(never);
  for (const name of ["second", "third"]) void semaphore.acquire(never).then(() => order.push(name));
  await turn();
  expect([order, semaphore.waiting]).toEqual([[], 2]);

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await turn();

  expect([order, semaphore.waiting]).toEqual([["second"], 1]);
});

test("an aborted request for a permit gets none and takes none from others", async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire(never);
  const abort = new AbortController();
  const waiting = semaphore.acquire(abort.signal);
  abort.abort(new Error("deleted"));
  await expect(waiting).rejects.toThrow("deleted");
  await expect(semaphore.acquire(abort.signal)).rejects.toThrow("deleted");
  expect(semaphore.waiting).toBe(0);

  first[Symbol.dispose]();
  expect(semaphore.tryAcquire()).toBeDefined();
});

test("says how many permits are held", async () => {
  const semaphore = new Semaphore(2);
  using _first = semaphore.tryAcquire();
  const second = semaphore.tryAcquire();
  const waiting = semaphore.acquire(never);

  expect([semaphore.held, semaphore.waiting]).toEqual([2, 1]);
  second?.[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();

  expect([semaphore.held, semaphore.waiting]).toEqual([1, 0]);
});
