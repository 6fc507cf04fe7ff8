import { VirtualClock } from "@virtual-kubelet/clock";
import fc from "fast-check";
import { expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { testSlots } from "../test-support/test-budgets.ts";
import { ThrottledLog } from "../server/throttled-log.ts";
import type { StreamOwner, StreamSlot, StreamSlots } from "./stream-slots.ts";

function owner(user: string, namespace = "default", pod = "web"): StreamOwner {
  return { user: { name: user, groups: [] }, params: { namespace, pod } };
}

const others = { isLog: false };
const logs = { isLog: true };

/** Takes all free slots, for streams that end when they are evicted. */
function takeAll(slots: StreamSlots, who: StreamOwner, kind = others): StreamSlot[] {
  const taken: StreamSlot[] = [];
  for (;;)
    try {
      const slot = slots.take(who, kind);
      slot.signal.addEventListener("abort", () => slot[Symbol.dispose]());
      taken.push(slot);
    } catch {
      return taken;
    }
}

const evicted = (taken: readonly StreamSlot[]): number => taken.filter(({ signal }) => signal.aborted).length;

test("at most as many streams as slots may be open, and disposing a slot twice frees it once", () => {
  const slots = testSlots(2);
  const first = slots.take(owner("a"), logs);
  slots.take(owner("a"), logs);

  expect(() => slots.take(owner("a"), logs)).toThrow("too many streams are open, at most 2");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  slots.take(owner("a"), logs);

  expect(() => slots.take(owner("a"), logs)).toThrow("too many streams");
});

test("a caller who finds no slot is told when to retry", () => {
  expect(() => testSlots(0).take(owner("a"), logs)).toThrow(expect.objectContaining({ status: 503, headers: { "retry-after": "5" } }));
});

test("an eighth of the slots is reserved for logs", () => {
  const slots = testSlots(16);

  expect(takeAll(slots, owner("a"))).toHaveLength(14);
  expect(takeAll(slots, owner("a", "other"), logs)).toHaveLength(2 + 6);
});

test("a user with fewer streams evicts those of the user with most, until both have equally many", () => {
  const slots = testSlots(8, { reservedForLogs: 0 });
  const greedy = takeAll(slots, owner("greedy"));

  const modest = takeAll(slots, owner("modest"));

  expect([evicted(greedy), evicted(modest), modest.length]).toEqual([4, 0, 4]);
});

test.each([
  ["namespace", owner("api", "tenant", "p"), owner("api", "other", "p")],
  ["pod", owner("api", "ns", "greedy"), owner("api", "ns", "modest")],
])("of one user's streams, those of the %s with most are evicted", (_level, greedyOwner, modestOwner) => {
  const slots = testSlots(8, { reservedForLogs: 0 });
  const greedy = takeAll(slots, greedyOwner);

  const modest = takeAll(slots, modestOwner);

  expect([greedy.length, evicted(greedy), modest.length]).toEqual([8, 4, 4]);
});

test("many pods of one namespace count as one against another namespace", () => {
  const slots = testSlots(8, { reservedForLogs: 0 });
  const tenant = Array.from({ length: 8 }, (_, pod) => slots.take(owner("api", "tenant", `pod-${pod}`), others));

  slots.take(owner("api", "other"), others);

  expect(evicted(tenant)).toBe(1);
});

test("the stream that is idle longest is evicted, with a reason for its client and a log line", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
  const slots = testSlots(3, { reservedForLogs: 0, clock, throttledLog: new ThrottledLog({ clock, logger }) });
  const [first, second, third] = [0, 1, 2].map(() => slots.take(owner("api", "tenant"), others));
  await clock.advance(10);
  first?.touch();
  second?.follow(() => 5);

  slots.take(owner("api", "other"), others);

  expect([first, second, third].map((slot) => slot?.signal.aborted)).toEqual([false, false, true]);
  expect(third?.signal.reason).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(/^evicted: 3 streams are open/) });
  expect(logger.warnings).toEqual(["a stream is evicted: too many are open, and its caller has the most"]);
  expect(logger.fields).toEqual([{ limit: "maxStreams", max: 3, user: "api", pod: "tenant/web" }]);
});

test("the caller with most streams is refused, unless one of its own has been idle for a minute", async () => {
  const clock = new VirtualClock();
  const slots = testSlots(2, { reservedForLogs: 0, clock });
  const [first] = [slots.take(owner("a"), others), slots.take(owner("a"), others)];
  await clock.advance(59_999);
  expect(() => slots.take(owner("a"), others)).toThrow("too many streams");

  await clock.advance(1);
  slots.take(owner("a"), others);

  expect(first?.signal.aborted).toBe(true);
});

test("commands cannot evict logs if the rest of the slots is reserved for logs", () => {
  const slots = testSlots(8, { reservedForLogs: 4 });
  const log = [0, 1, 2].map(() => slots.take(owner("a"), logs));
  for (let count = 0; count < 4; count++) slots.take(owner("b"), others);

  expect(() => slots.take(owner("b"), others)).toThrow("too many streams");

  expect(evicted(log)).toBe(0);
});

test("while too many evicted streams have not ended, further evictions happen for logs only", () => {
  const slots = testSlots(16, { reservedForLogs: 0 });
  const greedy = Array.from({ length: 16 }, () => slots.take(owner("greedy"), others));

  slots.take(owner("b"), others);
  slots.take(owner("b"), others);
  expect(() => slots.take(owner("b"), others)).toThrow("too many streams");
  slots.take(owner("b"), logs);
  expect(evicted(greedy)).toBe(3);
  greedy.filter(({ signal }) => signal.aborted).forEach((slot) => slot[Symbol.dispose]());
  slots.take(owner("b"), others);

  expect(evicted(greedy)).toBe(4);
});

test("a caller's first log finds a slot unless every caller holds just one", () => {
  const step = fc.record({ user: fc.constantFrom("a", "b"), pod: fc.constantFrom("p", "q"), isLog: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const slots = testSlots(16);
      for (const { user, pod, isLog } of steps)
        try {
          const slot = slots.take(owner(user, "ns", pod), { isLog });
          slot.signal.addEventListener("abort", () => slot[Symbol.dispose]());
        } catch {
          // Refused, which is allowed here.
        }
      expect(slots.take(owner("new"), logs).signal.aborted).toBe(false);
    }),
  );
});
