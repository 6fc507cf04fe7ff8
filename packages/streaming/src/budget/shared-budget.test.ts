import fc from "fast-check";
import { expect, test } from "vitest";
import { SharedBudget } from "./shared-budget.ts";

test("one caller gets half, and the next one a half of what is left", () => {
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

test("what is given back is free for all", () => {
  const budget = new SharedBudget(4);
  const first = budget.share("first");
  first.add(4);
  expect([first.isOver, budget.share("second").tryTake(1)]).toEqual([true, false]);

  first.add(-4);

  expect([first.isOver, budget.used, budget.share("second").tryTake(2)]).toEqual([false, 0, true]);
});

test("two shares of one caller are one", () => {
  const budget = new SharedBudget(4);

  expect([budget.share("a").tryTake(2), budget.share("a").tryTake(1)]).toEqual([true, false]);
});

test("however much callers take, a new one finds room for its first, and all together never hold more than there is", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 50 })), { maxLength: 200 }), (takes) => {
      const budget = new SharedBudget(100);
      for (const [caller, amount] of takes) budget.share(caller).tryTake(amount);
      expect(budget.used).toBeLessThan(100);
      expect(budget.share("new").tryTake(1)).toBe(true);
    }),
  );
});
