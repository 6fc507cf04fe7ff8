import type { PodSpec } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { listedAmounts, requestedAmounts } from "./requested-amounts.ts";

const asking = (cpu: string): PodSpec => ({ containers: [{ name: "main", resources: { requests: { cpu } } }] });

test("a spec is read once, and an equal one of another pod for itself", () => {
  const spec = asking("500m");

  expect(requestedAmounts(spec)).toEqual(new Map([["cpu", 500n]]));
  expect(requestedAmounts(spec)).toBe(requestedAmounts(spec));
  expect(requestedAmounts(asking("2"))).toEqual(new Map([["cpu", 2000n]]));
});

test("a node's list is read once", () => {
  const list = { cpu: "4", pods: "110" };

  expect(listedAmounts(list)).toEqual(
    new Map([
      ["cpu", 4000n],
      ["pods", 110n],
    ]),
  );
  expect(listedAmounts(list)).toBe(listedAmounts(list));
});

test("no spec and no list are no amounts", () => {
  expect([requestedAmounts(undefined).size, listedAmounts(undefined).size]).toEqual([0, 0]);
});

test("a quantity that cannot be read is refused each time", () => {
  const spec = asking("many");

  expect(() => requestedAmounts(spec)).toThrow('read quantity "many"');
  expect(() => requestedAmounts(spec)).toThrow('read quantity "many"');
});
