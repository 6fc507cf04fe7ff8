import { expect, test } from "vitest";
import { UsageRates } from "./usage-rates.ts";

const time = "2026-01-01T00:00:00Z";
const used = (usageCoreNanoSeconds: number): { time: string; usageCoreNanoSeconds: number } => ({ time, usageCoreNanoSeconds });

test("a rate is the usage since the previous measurement, per second", () => {
  const rates = new UsageRates();

  expect(rates.complete("c1", used(5e9), 0)?.usageNanoCores).toBeUndefined();
  expect(rates.complete("c1", used(6e9), 2_000)).toEqual({ time, usageCoreNanoSeconds: 6e9, usageNanoCores: 5e8 });
  expect(rates.complete("c1", used(6e9), 4_000)?.usageNanoCores).toBe(0);
});

test("a rate is a whole number", () => {
  const rates = new UsageRates();
  rates.complete("c1", used(0), 0);

  expect(rates.complete("c1", used(10), 3_000)?.usageNanoCores).toBe(3);
});

test("measurements less than a second apart keep the previous rate, and are not compared with later ones", () => {
  const rates = new UsageRates();
  rates.complete("c1", used(0), 0);
  rates.complete("c1", used(1e9), 1_000);

  expect(rates.complete("c1", used(9e9), 1_999)?.usageNanoCores).toBe(1e9);
  expect(rates.complete("c1", used(3e9), 2_000)?.usageNanoCores).toBe(2e9);
});

test("a counter that has decreased belongs to another container, and starts anew", () => {
  const rates = new UsageRates();
  rates.complete("c1", used(5e9), 0);

  expect(rates.complete("c1", used(1e9), 1_000)).toEqual({ time, usageCoreNanoSeconds: 1e9, usageNanoCores: undefined });
  expect(rates.complete("c1", used(2e9), 2_000)?.usageNanoCores).toBe(1e9);
});

test("a measurement that already has a rate, or has no usage, is not changed", () => {
  const rates = new UsageRates();
  rates.complete("c1", used(0), 0);

  expect(rates.complete("c1", { ...used(9e9), usageNanoCores: 7 }, 1_000)).toEqual({ ...used(9e9), usageNanoCores: 7 });
  expect(rates.complete("c1", { time }, 2_000)).toEqual({ time });
  expect(rates.complete("c1", undefined, 3_000)).toBeUndefined();
  expect(rates.complete("c1", used(4e9), 4_000)?.usageNanoCores, "compared with the first").toBe(1e9);
});

test("each key has its own rate, and other keys are forgotten", () => {
  const rates = new UsageRates();
  for (const key of ["c1", "c2"]) rates.complete(key, used(0), 0);

  rates.keep(new Set(["c1", "c3"]));

  expect(rates.complete("c1", used(1e9), 1_000)?.usageNanoCores).toBe(1e9);
  expect(rates.complete("c2", used(1e9), 1_000)?.usageNanoCores).toBeUndefined();
});
