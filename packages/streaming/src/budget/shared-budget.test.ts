import fc from "fast-check";
import { expect, test } from "vitest";
import { SharedBudget } from "./shared-budget.ts";

test("one caller may hold half of the budget, and the next caller half of the rest", () => {
  const budget = new SharedBudget(8);
  const [hog, other] = [budget.share("hog"), budget.share("other")];
  const takeAll = (share: typeof hog): number => {
    let taken = 0;
    while (share.tryTake(1)) taken++;
    return taken;
  };

  expect([takeAll(hog), takeAll(other), takeAll(hog)]).toEqual([4, 2, 0]);
  expect(budget.used).toBe(6);
});

test("an amount that is given back is free for every caller", () => {
  const budget = new SharedBudget(4);
  const first = budget.share("first");
  first.add(4);
  expect([first.isOver, budget.share("second").tryTake(1)]).toEqual([true, false]);

  first.add(-4);

  expect([first.isOver, budget.used, budget.share("second").tryTake(2)]).toEqual([false, 0, true]);
});

test("two shares of the same caller count as one", () => {
  const budget = new SharedBudget(4);

  expect([budget.share("a").tryTake(2), budget.share("a").tryTake(1)]).toEqual([true, false]);
});

test("however much callers take, a new caller finds room for its first amount, and the sum never exceeds the budget", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 50 })), { maxLength: 200 }), (takes) => {
      const budget = new SharedBudget(100);
      for (const [caller, amount] of takes) budget.share(caller).tryTake(amount);
      expect(budget.used).toBeLessThan(100);
      expect(budget.share("new").tryTake(1)).toBe(true);
    }),
  );
});
