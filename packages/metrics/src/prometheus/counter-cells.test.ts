import fc from "fast-check";
import { Counter, Registry, type Metric } from "prom-client";
import { expect, test } from "vitest";
import { CounterCells } from "./counter-cells.ts";

test("its text is that of prom-client's own counter, whatever is counted", async () => {
  const labels = fc.record({ zone: fc.constantFrom("a", "b"), code: fc.constantFrom("OK", "x y", 'a"b') });
  const value = fc.oneof(fc.nat(), fc.constantFrom(0, 0.5, 1e21));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(labels, value), { maxLength: 20 }), async (counted) => {
      const head = { name: "a_total", help: "a", labelNames: ["zone", "code"] };
      const [ours, theirs] = [new Registry(), new Registry()];
      const cells = new CounterCells(head.name, head.labelNames);
      ours.registerMetric({ ...head, get: async () => ({ ...head, type: "counter", values: cells.lines() }) } as unknown as Metric);
      const counter = new Counter({ ...head, registers: [theirs] });
      for (const [at, more] of counted) {
        cells.add(at, more);
        counter.inc(at, more);
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }),
  );
});

test("a label that the counter does not have, and what cannot be added, are refused", () => {
  const cells = new CounterCells("a_total", ["zone"]);
  cells.add({ zone: "a" }, 1);

  expect(() => cells.add({ zone: "a", other: "b" }, 1)).toThrow("a_total: there is no label other");
  expect(() => cells.add({ zone: "a" }, -1)).toThrow("a_total: -1 cannot be added to a counter");
  expect(() => cells.add({ zone: "a" }, Number.NaN)).toThrow("a_total: NaN cannot be added to a counter");
  expect(cells.lines()).toEqual([{ labels: { zone: "a" }, value: 1 }]);
});
