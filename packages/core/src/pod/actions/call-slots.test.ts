import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { CallSlots } from "./call-slots.ts";

const never = new AbortController().signal;

function rig(size = 1): { readonly clock: VirtualClock; readonly slots: CallSlots; readonly order: string[]; take(name: string): void } {
  const clock = new VirtualClock();
  const slots = new CallSlots({ size, holdMs: 5_000, clock });
  const order: string[] = [];
  return { clock, slots, order, take: (name) => void slots.acquire(never).then(() => order.push(name)) };
}

test("slots are given in the order in which they were asked for, as they come back", async () => {
  const { clock, slots, order, take } = rig();
  const first = await slots.acquire(never);
  take("second");
  take("third");
  await clock.advance(0);
  expect([order, slots.waiting]).toEqual([[], 2]);

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await clock.advance(0);

  expect([order, slots.waiting]).toEqual([["second"], 1]);
});

test("a call that takes long goes on without its slot", async () => {
  const { clock, slots, order, take } = rig();
  const slow = await slots.acquire(never);
  take("next");

  await clock.advance(5_000);
  expect(order).toEqual(["next"]);

  // Its slot is another's by now, and is not given back twice.
  slow[Symbol.dispose]();
  take("third");
  await clock.advance(0);
  expect(order).toEqual(["next"]);
});

test("who is aborted while waiting gets no slot and loses none", async () => {
  const { clock, slots, order, take } = rig();
  const first = await slots.acquire(never);
  const abort = new AbortController();
  const waiting = slots.acquire(abort.signal);
  abort.abort(new Error("deleted"));
  await expect(waiting).rejects.toThrow("deleted");
  await expect(slots.acquire(abort.signal)).rejects.toThrow("deleted");

  first[Symbol.dispose]();
  take("next");
  await clock.advance(0);

  expect(order).toEqual(["next"]);
});

test("a slot that is free is taken at once, and none where all are held", () => {
  const { slots } = rig();
  const first = slots.tryAcquire();
  expect(first).toBeDefined();
  expect([slots.tryAcquire(), slots.waiting]).toEqual([undefined, 0]);

  first?.[Symbol.dispose]();
  expect(slots.tryAcquire()).toBeDefined();
});
