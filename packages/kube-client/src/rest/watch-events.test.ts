import { expect, test } from "vitest";
import { DecodeError } from "../errors/decode-error.ts";
import type { WatchEvent } from "./client.ts";
import { watchEvents } from "./watch-events.ts";

type Named = WatchEvent<{ readonly name: string }>;

/** Gives these lines in these turns, and tells whether it was left. */
function source(...turns: readonly (readonly string[])[]): {
  readonly left: boolean;
  readonly lines: AsyncGenerator<readonly string[], void>;
} {
  let left = false;
  async function* lines(): AsyncGenerator<readonly string[], void> {
    try {
      yield* turns;
    } finally {
      left = true;
    }
  }
  return {
    lines: lines(),
    get left() {
      return left;
    },
  };
}

function read(line: string): Named {
  if (line === "bad") throw new DecodeError("a bad line");
  return { type: "ADDED", object: { name: line } };
}

function nameOf(event: Named | undefined): unknown {
  return event?.type === "ADDED" ? event.object.name : undefined;
}

test("all events of a turn are there when its first one is, and those of the next turn are not", async () => {
  const events = watchEvents(source(["a", "b"], ["c"]).lines, read);
  expect(events.arrived()).toBeUndefined();

  const first = await events.next();

  expect([first.value ?? undefined, events.arrived(), events.arrived()].map(nameOf)).toEqual(["a", "b", undefined]);
  expect(nameOf((await events.next()).value ?? undefined)).toBe("c");
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

test("who waits for each event gets all of them in order", async () => {
  const names: unknown[] = [];
  for await (const event of watchEvents(source(["a", "b"], ["c"]).lines, read)) names.push(nameOf(event));

  expect(names).toEqual(["a", "b", "c"]);
});

test("a line that cannot be read is an error for both kinds of readers, and the lines are left", async () => {
  const waited = source(["bad", "b"]);
  await expect(watchEvents(waited.lines, read).next()).rejects.toThrow("a bad line");

  const taken = source(["a", "bad", "b"]);
  const events = watchEvents(taken.lines, read);
  await events.next();
  expect(() => events.arrived()).toThrow("a bad line");
  expect(events.arrived()).toBeUndefined();
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(taken.left).toBe(true);
});

test("leaving the events leaves the lines", async () => {
  const from = source(["a", "b"]);
  for await (const _event of watchEvents(from.lines, read)) break;

  expect(from.left).toBe(true);
});

test("who asks for several events at once gets all of them in order", async () => {
  const events = watchEvents(source(["a", "b", "c"], ["d"]).lines, read);

  const results = await Promise.all(Array.from({ length: 5 }, () => events.next()));

  expect(results.map(({ value }) => nameOf(value ?? undefined))).toEqual(["a", "b", "c", "d", undefined]);
  expect(results.map(({ done }) => done)).toEqual([false, false, false, false, true]);
});
