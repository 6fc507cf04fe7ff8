import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { ReviewCache } from "./review-cache.ts";

const { signal } = new AbortController();

function rig({ capacity = 10, maxPending = 10 } = {}) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const cache = new ReviewCache<string>({ capacity, maxPending, clock, lifetime: new AbortController().signal });
  const ask = (key: string, ttlMs = 1000) => {
    return cache.get(
      key,
      async () => {
        asked.push(key);
        return { answer: `${key}!`, ttlMs };
      },
      signal,
    );
  };
  return { clock, asked, cache, ask };
}

test("an answer is cached for the time that it specifies, and no longer", async () => {
  const { clock, asked, ask } = rig();

  expect(await ask("a")).toBe("a!");
  await clock.advance(999);
  expect(await ask("a")).toBe("a!");
  expect(asked).toEqual(["a"]);
  await clock.advance(1);
  await ask("a");

  expect(asked).toEqual(["a", "a"]);
});

test("changes of the wall clock do not affect the cache", async () => {
  const { clock, asked, ask } = rig();
  await ask("a");

  clock.jump(-3_600_000);
  await clock.advance(1000);
  await ask("a");

  expect(asked).toEqual(["a", "a"]);
});

test("concurrent calls for the same key share one request", async () => {
  const { asked, ask } = rig();

  expect(await Promise.all([ask("a"), ask("a"), ask("b")])).toEqual(["a!", "a!", "b!"]);

  expect(asked).toEqual(["a", "b"]);
});

test("an answer that must not be cached is requested each time", async () => {
  const { asked, ask, cache } = rig();

  await ask("a", 0);
  await ask("a", 0);

  expect(asked).toEqual(["a", "a"]);
  expect(cache.size).toBe(0);
});

test("an answer with a lifetime of one millisecond is cached for one", async () => {
  const { asked, ask } = rig();

  await ask("a", 1);
  await ask("a", 1);

  expect(asked).toEqual(["a"]);
});

test("an error is passed to all waiting callers, and is not cached", async () => {
  const { ask, cache } = rig();
  const fail = () => cache.get("a", () => Promise.reject(new Error("down")), signal);

  await expect(Promise.all([fail(), fail()])).rejects.toThrow("down");

  expect(await ask("a")).toBe("a!");
});

test("if there are too many answers, the least recently used ones are evicted", async () => {
  const { asked, ask, cache } = rig({ capacity: 2 });

  for (const key of ["a", "b", "a", "c", "a", "b"]) await ask(key);

  expect(asked).toEqual(["a", "b", "c", "b"]);
  expect(cache.size).toBe(2);
});

test("a call beyond the limit of calls in progress is refused at once", async () => {
  const { cache } = rig({ maxPending: 1 });
  const never = new Promise<never>(() => {});
  void cache.get("a", () => never, signal);

  await expect(cache.get("b", () => never, signal)).rejects.toThrow("1 reviews are in progress already");
});

test("a caller that gives up gets its signal's reason, and the answer is still cached for the next one", async () => {
  const { cache } = rig();
  const gate = Promise.withResolvers<{ answer: string; ttlMs: number }>();
  const gone = new AbortController();
  const first = cache.get("a", () => gate.promise, gone.signal);

  gone.abort(new Error("client is gone"));
  await expect(first).rejects.toThrow("client is gone");
  gate.resolve({ answer: "late", ttlMs: 1000 });

  expect(await cache.get("a", () => Promise.reject(new Error("asked again")), signal)).toBe("late");
});

test("has() reports whether an unexpired answer is cached", async () => {
  const { clock, ask, cache } = rig();
  expect(cache.has("a")).toBe(false);

  await ask("a");
  expect([cache.has("a"), cache.has("b")]).toEqual([true, false]);
  await clock.advance(999);
  expect(cache.has("a")).toBe(true);
  await clock.advance(1);

  expect(cache.has("a")).toBe(false);
  expect(cache.size).toBe(1);
});

test("an expired answer is evicted before others", async () => {
  const { clock, asked, ask, cache } = rig({ capacity: 2 });
  await ask("a", 500);
  await ask("b", 5_000);
  await clock.advance(500);

  await expect(cache.get("a", () => Promise.reject(new Error("down")), signal)).rejects.toThrow("down");
  expect(cache.size).toBe(1);
  await ask("c");
  await ask("b");

  expect(asked).toEqual(["a", "b", "c"]);
});

test("a failed call makes room for another one", async () => {
  const { cache, ask } = rig({ maxPending: 1 });

  await expect(cache.get("a", () => Promise.reject(new Error("down")), signal)).rejects.toThrow("down");

  expect(await ask("b")).toBe("b!");
});

test("a call with an aborted signal requests nothing, whatever is cached", async () => {
  const { asked, ask, cache } = rig();
  await ask("a");
  const gone = AbortSignal.abort(new Error("gone"));

  for (const key of ["a", "b"]) await expect(cache.get(key, () => Promise.reject(new Error("asked")), gone)).rejects.toThrow("gone");
  expect(asked).toEqual(["a"]);
});
