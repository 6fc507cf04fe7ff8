import { expect, test } from "vitest";
import { SettledMembers } from "./settled-members.ts";

test("members count when they have stayed the same for a moment", () => {
  const members = new SettledMembers({ settleMs: 100, maxSettleMs: 400 });

  expect([members.observe(["a"], 0), members.observe(["a", "b"], 90), members.observe(["a", "b"], 180)]).toEqual([false, false, false]);
  expect(members.current).toBeUndefined();
  expect(members.observe(["a", "b"], 190)).toBe(true);
  expect(members.current).toEqual(["a", "b"]);
  expect(members.observe(["a", "b"], 1_000)).toBe(false);
});

test("a member that is missed for less than that changes nothing", () => {
  const members = new SettledMembers({ settleMs: 100, maxSettleMs: 400 });
  members.observe(["a", "b"], 0);
  members.observe(["a", "b"], 100);

  expect([members.observe(["a"], 200), members.observe(["a", "b"], 290), members.observe(["a"], 350), members.observe(["a"], 440)]).toEqual(
    [false, false, false, false],
  );
  expect(members.observe(["a"], 450)).toBe(true);
});

test("members that change all the time count at the latest after the maximum", () => {
  const members = new SettledMembers({ settleMs: 100, maxSettleMs: 400 });
  const outcomes = Array.from({ length: 9 }, (_, turn) => members.observe(turn % 2 === 0 ? ["a"] : ["a", "b"], turn * 50));

  expect(outcomes.indexOf(true)).toBe(8);
});
