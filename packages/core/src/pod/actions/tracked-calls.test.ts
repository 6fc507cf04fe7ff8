import { Semaphore } from "@virtual-kubelet/async";
import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { TrackedCalls } from "./tracked-calls.ts";

const never = new AbortController().signal;

/** One permit for each kind of call, and what the calls told, as `uid event` and as reasons of events. */
function rig(): { readonly clock: VirtualClock; readonly told: string[]; call(kind: "start" | "delete", uid: string, ms: number): void } {
  const clock = new VirtualClock();
  const told: string[] = [];
  const calls = new TrackedCalls({
    registry: {
      dispatch: (uid, { kind }) => {
        told.push(`${uid} ${kind}`);
        return undefined;
      },
    },
    permits: { start: new Semaphore(1), end: new Semaphore(1) },
    enqueueStatus: (uid) => void told.push(`${uid} status`),
    onSlow: ({ metadata }, reason) => void told.push(`${metadata?.name} ${reason}`),
    clock,
  });
  const call = (kind: "start" | "delete", uid: string, ms: number): void =>
    void calls.call(kind, uid, { pod: { metadata: { name: uid } }, signal: never, classify: () => "failed" }, () => clock.sleep(ms));
  return { clock, told, call };
}

test("a call waits for the permit of the call before it, and is dispatched as it goes", async () => {
  const { clock, told, call } = rig();
  call("start", "a", 1_000);
  call("start", "b", 1_000);
  await clock.advance(999);
  expect(told).toEqual(["a called", "b queued"]);

  await clock.advance(1);
  expect(told.slice(2)).toEqual(["a returned", "b called"]);
});

test("a call that takes longer than five seconds continues without its permit, which is released once", async () => {
  const { clock, told, call } = rig();
  call("start", "slow", 7_000);
  call("start", "next", 4_000);
  call("start", "last", 1_000);
  await clock.advance(5_000);
  expect(told.at(-1)).toBe("next called");

  // The slow call returns and releases nothing: the permit belongs to the next call by now.
  await clock.advance(2_000);
  expect(told.at(-1)).toBe("slow returned");
  await clock.advance(2_000);
  expect(told.slice(-2)).toEqual(["next returned", "last called"]);
});

test("deletions do not wait for starts", async () => {
  const { clock, told, call } = rig();
  call("start", "a", 1_000);
  call("delete", "b", 1_000);
  await clock.advance(0);

  expect(told).toEqual(["a called", "b called"]);
});

test("an event reports a pod that has waited 30 seconds for a permit, and one whose call has not returned", async () => {
  const { clock, told, call } = rig();
  for (let index = 0; index < 8; index++) call("start", `p${index}`, 100_000);
  await clock.advance(29_999);
  expect(told.filter((each) => each.includes("Provider"))).toEqual([]);

  await clock.advance(1);
  expect(told.filter((each) => each.includes("Provider"))).toEqual(["p0 ProviderNotResponding", "p6 ProviderBusy", "p7 ProviderBusy"]);
});

test("calls that return in time leave no timer behind", async () => {
  const { clock, call } = rig();
  call("start", "a", 1_500);
  call("start", "b", 1_500);
  await clock.advance(3_000);

  expect(clock.pending).toBe(0);
});
