import { expect, test } from "vitest";
import { PullQueue } from "./pull-queue.ts";

/** Works that end when they are told to. */
class Works {
  readonly begun: string[] = [];
  readonly aborted: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();

  of(name: string): (signal: AbortSignal) => Promise<string> {
    return (signal) => {
      this.begun.push(name);
      const end = Promise.withResolvers<string>();
      signal.addEventListener("abort", () => {
        this.aborted.push(name);
        end.reject(signal.reason);
      });
      this.#ends.set(name, end);
      return end.promise;
    };
  }

  end(name: string): void {
    this.#ends.get(name)?.resolve(`${name} done`);
  }
}

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("all who want the same share one work", async () => {
  const works = new Works();
  const queue = new PullQueue<string>(5);
  const both = Promise.all([queue.run("a", works.of("a"), never), queue.run("a", works.of("a"), never)]);
  await turn();
  works.end("a");

  expect(await both).toEqual(["a done", "a done"]);
  expect(works.begun).toEqual(["a"]);
  void queue.run("a", works.of("a"), never);
  await turn();
  expect(works.begun).toEqual(["a", "a"]);
});

test("no more than so many are at work, and the next begins when one ends", async () => {
  const works = new Works();
  const queue = new PullQueue<string>(2);
  const names = ["a", "b", "c"];
  const all = Promise.all(names.map((name) => queue.run(name, works.of(name), never)));
  await turn();
  expect(works.begun).toEqual(["a", "b"]);

  works.end("a");
  await turn();
  expect(works.begun).toEqual(names);
  works.end("b");
  works.end("c");
  expect(await all).toEqual(["a done", "b done", "c done"]);
});

test("one who goes does not disturb the others, the last one ends the work", async () => {
  const works = new Works();
  const queue = new PullQueue<string>(1);
  const [first, second] = [new AbortController(), new AbortController()];
  const one = queue.run("a", works.of("a"), first.signal);
  const other = queue.run("a", works.of("a"), second.signal);
  await turn();

  first.abort(new Error("one goes"));
  await expect(one).rejects.toThrow("one goes");
  expect(works.aborted).toEqual([]);
  second.abort(new Error("other goes"));
  await expect(other).rejects.toThrow("other goes");
  expect(works.aborted).toEqual(["a"]);
});

test("a work that waits its turn and that nobody wants any more is not begun, and lets the next one by", async () => {
  const works = new Works();
  const queue = new PullQueue<string>(1);
  const abort = new AbortController();
  const a = queue.run("a", works.of("a"), never);
  const b = queue.run("b", works.of("b"), abort.signal);
  const c = queue.run("c", works.of("c"), never);
  abort.abort(new Error("no more"));
  await expect(b).rejects.toThrow("no more");
  works.end("a");
  await a;
  await turn();
  works.end("c");

  expect(await c).toBe("c done");
  expect(works.begun).toEqual(["a", "c"]);
});

test("a failure is everybody's, and the next one tries anew", async () => {
  const queue = new PullQueue<string>(1);
  const failing = (): Promise<string> => Promise.reject(new Error("no"));

  await expect(Promise.all([queue.run("a", failing, never), queue.run("a", failing, never)])).rejects.toThrow("no");
  expect(await queue.run("a", () => Promise.resolve("yes"), never)).toBe("yes");
});
