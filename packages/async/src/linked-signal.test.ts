import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { LinkedSignal } from "./linked-signal.ts";

test("it aborts with the first of its sources, for its reason", () => {
  const sources = [new AbortController(), new AbortController()] as const;
  using linked = new LinkedSignal(sources[0].signal, sources[1].signal);
  expect(linked.signal.aborted).toBe(false);

  sources[1].abort("second");
  sources[0].abort("first");

  expect(linked.signal.reason).toBe("second");
});

test("it aborts with a source that has already, and by itself", () => {
  using early = new LinkedSignal(AbortSignal.abort("early"));
  using alone = new LinkedSignal(new AbortController().signal);
  alone.abort("alone");

  expect([early.signal.reason, alone.signal.reason]).toEqual(["early", "alone"]);
});

test("it lets go of its sources", () => {
  const source = new AbortController();
  const linked = new LinkedSignal(source.signal);
  expect(getEventListeners(source.signal, "abort")).toHaveLength(1);

  linked[Symbol.dispose]();
  source.abort("late");

  expect(getEventListeners(source.signal, "abort")).toHaveLength(0);
  expect(linked.signal.aborted).toBe(false);
});

test("many that have the same source all abort with it, except those that have let go; the source has one listener", () => {
  const source = new AbortController();
  const linked = Array.from({ length: 1_000 }, () => new LinkedSignal(source.signal));
  for (const each of linked.slice(500)) each[Symbol.dispose]();
  expect(getEventListeners(source.signal, "abort")).toHaveLength(1);

  source.abort("over");

  expect(linked.filter(({ signal }) => signal.reason === "over")).toEqual(linked.slice(0, 500));
});

test("a source that was let go of can be linked again", () => {
  const source = new AbortController();
  new LinkedSignal(source.signal)[Symbol.dispose]();
  using again = new LinkedSignal(source.signal);

  source.abort("over");

  expect(again.signal.reason).toBe("over");
});
