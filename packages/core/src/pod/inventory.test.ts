import { UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { Inventory } from "./inventory.ts";

test("the first inventory is in within ten seconds of the back end's return, however long it was away", async () => {
  const clock = new FakeClock();
  let isUp = false;
  const loaded: number[] = [];
  const inventory = new Inventory({
    getPods: async () => {
      if (!isUp) throw new UnavailableError("the back end is away");
      return { pods: [], complete: true };
    },
    onList: () => loaded.push(clock.monotonic()),
    intervalMs: 300_000,
    clock,
    random: new SeededRandom(1),
    logger: silentLogger,
  });

  const loading = inventory.load(new AbortController().signal);
  await clock.advance(600_000);
  isUp = true;
  await clock.advance(10_000);
  await loading;

  expect(loaded).toEqual([expect.toSatisfy((atMs: number) => atMs <= 610_000)]);
});
