import fc from "fast-check";
import { expect, test } from "vitest";
import { InOrder } from "./in-order.ts";

test("messages come out once each and in order, however they arrive", () => {
  fc.assert(
    fc.property(
      fc
        .nat({ max: 30 })
        .chain((count) =>
          fc.tuple(
            fc.shuffledSubarray([...Array(count).keys()], { minLength: count }),
            fc.array(fc.nat({ max: Math.max(0, count - 1) })),
            fc.constant(count),
          ),
        ),
      ([order, repeated, count]) => {
        const inOrder = new InOrder<{ readonly sequence: number }>();
        const arrivals =
          count === 0 ? [] : [...order, ...repeated].flatMap((sequence, index) => (index % 3 === 0 ? [sequence, sequence] : [sequence]));
        const out = arrivals.flatMap((sequence) => inOrder.take({ sequence }) ?? []);
        expect(out.map(({ sequence }) => sequence)).toEqual([...Array(count).keys()]);
      },
    ),
  );
});

test("an old message is not acknowledged again, an early one is", () => {
  const inOrder = new InOrder<{ readonly sequence: number }>();

  expect(inOrder.take({ sequence: 1 })).toEqual([]);
  expect(inOrder.take({ sequence: 0 })).toEqual([{ sequence: 0 }, { sequence: 1 }]);
  expect(inOrder.take({ sequence: 0 })).toBeUndefined();
});

test("no more than 10,000 early messages are kept", () => {
  const inOrder = new InOrder<{ readonly sequence: number }>();
  for (let sequence = 1; sequence <= 10_000; sequence++) inOrder.take({ sequence });

  expect(inOrder.take({ sequence: 10_001 })).toBeUndefined();
});
