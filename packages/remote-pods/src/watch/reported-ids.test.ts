import { expect, test } from "vitest";
import { ReportedIds } from "./reported-ids.ts";

test("an id waits for one list, and again when it is reported again", () => {
  const ids = new ReportedIds();
  expect([ids.isWaiting, ids.add("a"), ids.add("b"), ids.add("a"), ids.isWaiting]).toEqual([false, true, true, true, true]);

  expect([ids.take(), ids.isWaiting, ids.take()]).toEqual([["a", "b"], false, []]);
  expect([ids.add("a"), ids.take()]).toEqual([true, ["a"]]);
});

test("an id that is no pod's waits no more, until ten thousand others are remembered", () => {
  const ids = new ReportedIds();
  ids.remember(["a", "b"]);
  expect([ids.add("a"), ids.isWaiting]).toEqual([false, false]);

  ids.remember(Array.from({ length: 9_998 }, (_, index) => `other-${index}`));
  expect(ids.add("a")).toBe(false);
  ids.remember(["one more"]);

  expect([ids.add("a"), ids.add("b"), ids.add("one more")]).toEqual([true, false, false]);
});
