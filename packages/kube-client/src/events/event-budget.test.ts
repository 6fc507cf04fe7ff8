import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { EventBudget, type EventBudgetMembership, type EventSender } from "./event-budget.ts";

/** Senders on one budget that each have very many events to send. */
class Rig implements Disposable {
  readonly clock = new VirtualClock();
  readonly budget = new EventBudget({ clock: this.clock });
  readonly sent: string[] = [];
  readonly stop = new AbortController();

  start(name: string, sender: Partial<EventSender> = {}): EventBudgetMembership {
    const whole = { waitingWrites: () => 0, isFillingUp: () => false, ...sender };
    const membership = this.budget.join(whole);
    void this.#send(name, whole);
    return membership;
  }

  count(name: string): number {
    return this.sent.filter((sender) => sender === name).length;
  }

  [Symbol.dispose](): void {
    this.stop.abort();
  }

  async #send(name: string, sender: EventSender): Promise<void> {
    const { signal } = this.stop;
    for (;;) {
      await this.budget.take(sender, signal);
      if (signal.aborted) return;
      this.sent.push(name);
    }
  }
}

test("recorders share a kubelet's budget, and take turns", async () => {
  using rig = new Rig();
  for (const name of ["a", "b", "c", "d"]) rig.start(name);
  await rig.clock.advance(0);
  expect(rig.sent.length).toBe(100);

  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBe(600);
  for (const name of ["a", "b", "c", "d"]) expect(rig.count(name)).toBeGreaterThanOrEqual(149);
});

test("the writes that wait count together, so that the events of one node are held back by the pods of another", async () => {
  using rig = new Rig();
  rig.start("a", { waitingWrites: () => 8 });
  const other = rig.start("b", { waitingWrites: () => 8 });
  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBe(51);

  other[Symbol.dispose]();
  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBeGreaterThan(500);
});

test("a recorder whose queue fills up is not held back, and goes before others then, which keep their five a second", async () => {
  using rig = new Rig();
  rig.start("a", { waitingWrites: () => 100 });
  rig.start("b", { isFillingUp: () => true });
  await rig.clock.advance(60_000);
  expect(rig.sent.length).toBe(3_100);
  expect(rig.count("a")).toBeGreaterThan(290);
  expect(rig.count("a")).toBeLessThan(302);
});

test("a sender that is aborted while it waits takes nothing, and the next is served", async () => {
  using rig = new Rig();
  const none = { waitingWrites: () => 0, isFillingUp: () => false };
  for (let index = 0; index < 100; index++) await rig.budget.take(none, rig.stop.signal);
  const stop = new AbortController();
  let ended = 0;
  void rig.budget.take({ ...none }, stop.signal).then(() => ended++);
  void rig.budget.take({ ...none }, rig.stop.signal).then(() => ended++);
  await rig.clock.advance(5);
  expect(ended).toBe(0);

  stop.abort();
  await rig.clock.advance(0);
  expect(ended).toBe(1);
  await rig.clock.advance(15);
  expect(ended).toBe(2);
});

test("at most 20,000 events wait in all queues, and they are not held back for long", async () => {
  using rig = new Rig();
  const first = rig.start("a", { waitingWrites: () => 100 });
  const second = rig.start("b");
  first.addQueued(10_000);
  expect(rig.budget.hasRoom).toBe(true);
  second.addQueued(10_000);
  expect(rig.budget.hasRoom).toBe(false);
  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBeGreaterThan(500);

  first.addQueued(-6_000);
  second.addQueued(-6_000);
  expect(rig.budget.hasRoom).toBe(true);
  rig.sent.length = 0;
  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBeLessThan(60);
});

test("the events of a recorder that has ended take no room, whatever it still tells", () => {
  using rig = new Rig();
  const ended = rig.start("a");
  const lasting = rig.start("b");
  ended.addQueued(15_000);
  lasting.addQueued(5_000);
  expect(rig.budget.hasRoom).toBe(false);

  ended[Symbol.dispose]();
  expect(rig.budget.hasRoom).toBe(true);
  ended[Symbol.dispose]();
  ended.addQueued(20_000);
  expect(rig.budget.hasRoom).toBe(true);
  lasting.addQueued(15_000);
  expect(rig.budget.hasRoom).toBe(false);
});

test("a recorder that cannot say what waits does not keep others from sending", async () => {
  using rig = new Rig();
  const fail = (): never => {
    throw new Error("no answer");
  };
  rig.start("a", { waitingWrites: fail, isFillingUp: fail });
  rig.start("b");
  await rig.clock.advance(10_000);
  expect(rig.sent.length).toBe(600);

  rig.start("c", { waitingWrites: () => 100 });
  rig.start("d", { isFillingUp: () => true });
  rig.sent.length = 0;
  await rig.clock.advance(10_000);
  expect(rig.count("d")).toBeGreaterThan(400);
});

test("of many recorders that end together, eight send at once, and one that is aborted meanwhile sends nothing", async () => {
  const budget = new EventBudget({ clock: new VirtualClock() });
  const stop = new AbortController();
  let sending = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = (): Promise<void> => {
    sending++;
    return promise;
  };
  const flushes = Array.from({ length: 20 }, () => budget.flush(send, stop.signal));
  expect(sending).toBe(8);

  stop.abort(new Error("over"));
  resolve();
  const ends = await Promise.allSettled(flushes);
  expect(ends.filter(({ status }) => status === "rejected").length).toBe(12);
  expect(sending).toBe(8);
});
