import type { Lease } from "@virtual-kubelet/kube-client";
import { isConflict } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import {
  decideClaim,
  instanceAnnotation,
  isOurs,
  NodeHeldError,
  startIdAnnotation,
  type Claim,
  type LeaseObservation,
} from "./instance.ts";

const instance = { nodeName: "vk", identity: "me", startId: "start-1" };

function lease(identity: string | undefined, renewTime = "2026-01-01T00:00:00.000000Z", startId = "start-9"): Lease {
  const annotations = identity === undefined ? {} : { [instanceAnnotation]: identity, [startIdAnnotation]: startId };
  return { metadata: { name: "vk", uid: "lease-1", annotations }, spec: { holderIdentity: "vk", leaseDurationSeconds: 40, renewTime } };
}

function decide(found: Lease | undefined, previous: LeaseObservation | undefined, nowMs: number): Claim {
  return decideClaim({ lease: found, instance, previous, nowMs, durationMs: 40_000 });
}

describe("decideClaim", () => {
  test("creates the Lease where there is none", () => {
    expect(decide(undefined, undefined, 0)).toEqual({ kind: "create" });
  });

  test("takes a Lease of the same identity at once", () => {
    expect(decide(lease("me"), undefined, 0)).toEqual({ kind: "take" });
  });

  test("watches another's Lease for its duration, on our own clock, and takes it if it stood still", () => {
    const ancient = lease("other", "2001-01-01T00:00:00.000000Z");

    const first = decide(ancient, undefined, 1_000);
    const observation = first.kind === "watch" ? first.observation : undefined;

    expect(first).toMatchObject({ kind: "watch", remainingMs: 40_000 });
    expect(decide(ancient, observation, 40_999)).toMatchObject({ kind: "watch", remainingMs: 1 });
    expect(decide(ancient, observation, 41_000)).toEqual({ kind: "take" });
  });

  test("finds the node held as soon as the Lease moves", () => {
    const first = decide(lease("other"), undefined, 0);
    const observation = first.kind === "watch" ? first.observation : undefined;

    expect(decide(lease("other", "2026-01-01T00:00:10.000000Z"), observation, 10_000)).toMatchObject({
      kind: "held",
      observation: { sinceMs: 10_000 },
    });
  });

  test("takes a Lease made anew for one that moved", () => {
    const first = decide(lease("other"), undefined, 0);
    const again = lease("other");
    again.metadata!.uid = "lease-2";

    expect(decide(again, first.kind === "watch" ? first.observation : undefined, 10_000).kind).toBe("held");
  });

  test("leaves the holder of a Lease that was deleted two renewals' time to make it again", () => {
    const first = decide(lease("other"), undefined, 0);
    const gone = decide(undefined, "observation" in first ? first.observation : undefined, 5_000);
    const observation = "observation" in gone ? gone.observation : undefined;

    expect(gone).toMatchObject({ kind: "watch", remainingMs: 20_000 });
    expect(decide(undefined, observation, 24_999)).toMatchObject({ kind: "watch", remainingMs: 1 });
    expect(decide(undefined, observation, 25_000)).toEqual({ kind: "create" });
    expect(decide(lease("other"), observation, 15_000).kind).toBe("held");
  });

  test("does not take the Lease of a kubelet without an identity for its own", () => {
    expect(decide(lease(undefined), undefined, 0).kind).toBe("watch");
  });

  test.each([
    [15, 15_000],
    [undefined, 40_000],
  ])("waits as long as the holder's Lease lasts: %s s", (leaseDurationSeconds, remainingMs) => {
    const found = lease("other");
    found.spec = { ...found.spec, leaseDurationSeconds };

    expect(decide(found, undefined, 0)).toMatchObject({ kind: "watch", remainingMs });
  });
});

describe("isOurs", () => {
  test.each([
    ["our start id", lease("me", "t", "start-1"), true],
    ["another copy's start id", lease("me", "t", "start-2"), false],
    ["another instance's", lease("other"), false],
    ["annotations removed", lease(undefined), true],
    ["only our identity left", { metadata: { annotations: { [instanceAnnotation]: "me" } } }, true],
    ["only another's identity left", { metadata: { annotations: { [instanceAnnotation]: "other" } } }, false],
  ])("%s", (_what, found, expected) => {
    expect(isOurs(found, instance)).toBe(expected);
  });
});

describe("NodeHeldError", () => {
  test("names the node, both instances and what to do, and is a conflict", () => {
    const error = new NodeHeldError(instance, lease("other"), "it renewed the lease while this instance watched");

    expect(error).toMatchObject({ nodeName: "vk", holder: "other", name: "NodeHeldError" });
    expect(isConflict(error)).toBe(true);
    expect(error.message).toContain('run node vk as instance "me": it is held by instance "other"');
    expect(error.message).toMatch(/kube-node-lease\/vk.*stop that one.*stand by/);
  });

  test("says when the holder is a copy of ourselves, or nobody we know", () => {
    expect(new NodeHeldError(instance, lease("me"), "r").message).toContain('another copy of "me"');
    expect(new NodeHeldError(instance, lease(undefined), "r")).toMatchObject({
      holder: undefined,
      message: expect.stringContaining("a kubelet that gives no instance identity"),
    });
  });
});
