import fc from "fast-check";
import { Histogram, Registry, type Metric } from "prom-client";
import { expect, test } from "vitest";
import { HistogramCells } from "./histogram-cells.ts";

/** A registry's text with one histogram in it. */
async function rendered(register: (registry: Registry) => void): Promise<string> {
  const registry = new Registry();
  register(registry);
  return registry.metrics();
}

test("its text is that of prom-client's own histogram, whatever is observed", async () => {
  const labels = fc.record({ zone: fc.constantFrom("a", "b"), code: fc.constantFrom("OK", "x y") });
  const value = fc.oneof(fc.double({ noNaN: true, min: -1, max: 20 }), fc.constantFrom(0, 0.005, 0.5, 10, 1e9));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(labels, value), { maxLength: 20 }),
      fc.constantFrom(undefined, [0.1, 0.5, 2]),
      async (observed, buckets) => {
        const head = { name: "a_seconds", help: "a", labelNames: ["zone", "code"] };
        const cells = new HistogramCells(head.name, head.labelNames, buckets);
        for (const [at, seconds] of observed) cells.observe(at, seconds);
        const ours = await rendered((registry) =>
          registry.registerMetric({
            ...head,
            get: async () => ({ ...head, type: "histogram", values: cells.lines() }),
          } as unknown as Metric),
        );
        const theirs = await rendered((registry) => {
          const histogram = new Histogram({ ...head, ...(buckets && { buckets: [...buckets] }), registers: [registry] });
          for (const [at, seconds] of observed) histogram.observe(at, seconds);
        });
        expect(ours).toBe(theirs);
      },
    ),
  );
});

test("a label that the first observation did not have, and what is no number, are refused", () => {
  const cells = new HistogramCells("a_seconds", ["zone"]);
  cells.observe({ zone: "a" }, 1);
  expect(() => cells.observe({ zone: "a", other: "b" }, 1)).toThrow("a_seconds: there is no label other");
  expect(() => cells.observe({ zone: "a" }, Number.NaN)).toThrow("a_seconds: NaN is not a valid observation");
  expect(cells.lines().at(-1)).toEqual({ metricName: "a_seconds_count", labels: { zone: "a" }, value: 1 });
});
