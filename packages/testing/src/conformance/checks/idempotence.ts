import { podRef } from "@virtual-kubelet/core";
import assert from "node:assert/strict";
import { check, type Check } from "../check.ts";
import type { ProviderRig } from "../provider-rig.ts";

/** Milliseconds until a call is aborted: before it has an effect, during it, and after it. */
const abortAfterMs = [0, 1, 5, 20, 100] as const;

const adoptable = ({ podsOutliveProgram = true }: { readonly podsOutliveProgram?: boolean | undefined }): string | undefined =>
  podsOutliveProgram ? undefined : "the provider's pods end with the program";

/** Identity of the container's only instance, which must not change. */
async function instanceOf(rig: ProviderRig, ref: Parameters<ProviderRig["status"]>[0]): Promise<unknown> {
  const { containerStatuses = [] } = await rig.status(ref);
  return containerStatuses.map(({ containerID, restartCount, state }) => ({
    containerID,
    restartCount,
    startedAt: state?.running?.startedAt,
  }));
}

/** Repeated calls, calls with an unknown outcome, and restarts of the program. */
export const idempotenceChecks: readonly Check[] = [
  check("idempotence", "a pod that is created twice runs once", async (rig) => {
    const pod = rig.plan();
    const ref = await rig.run(pod);
    const before = await instanceOf(rig, ref);
    await rig.create(pod);
    await rig.run(pod);
    assert.deepEqual(await instanceOf(rig, ref), before, "the second create made another instance");
    const { uids } = await rig.inventory();
    assert.equal(uids.filter((uid) => uid === ref.uid).length, 1, "the pod is in the inventory more than once");
  }),
  check("idempotence", "a pod can be deleted two or three times", async (rig) => {
    const ref = await rig.run();
    await rig.delete(ref, 30);
    await rig.delete(ref, 30);
    await rig.untilGone(ref);
    await rig.delete(ref, 0);
  }),
  check("idempotence", "a create with an unknown outcome can be repeated, and one pod runs", async (rig) => {
    for (const ms of abortAfterMs) {
      const pod = rig.plan();
      const ref = podRef(pod);
      const controller = new AbortController();
      const first = rig.create(pod, controller.signal).catch(() => undefined);
      if (ms > 0) await rig.clock.sleep(ms);
      controller.abort(new Error("the deadline of createPod has passed"));
      await first;
      await rig.run(pod);
      const { uids } = await rig.inventory();
      assert.equal(uids.filter((uid) => uid === ref.uid).length, 1, `aborted after ${ms} ms, then made again: the pod is not there once`);
      await rig.delete(ref, 0);
      await rig.untilGone(ref);
    }
  }),
  check("idempotence", "a delete with an unknown outcome can be repeated", async (rig) => {
    for (const ms of abortAfterMs) {
      const ref = await rig.run();
      const controller = new AbortController();
      const first = rig.delete(ref, 30, controller.signal).catch(() => undefined);
      if (ms > 0) await rig.clock.sleep(ms);
      controller.abort(new Error("the deadline of deletePod has passed"));
      await first;
      await rig.delete(ref, 30);
      await rig.untilGone(ref);
    }
  }),
  check(
    "adoption",
    "a pod runs on while the program is stopped, and is then found with its tag, as the same instance",
    async (rig) => {
      const ref = await rig.run();
      const before = await instanceOf(rig, ref);
      const owner = (await rig.provider.getPod(ref, rig.signal)).owner;
      await rig.restart();
      // A pod that ends with the program needs a moment to end.
      await rig.clock.sleep(500);
      const { pods } = await rig.provider.getPods(rig.signal);
      const found = pods.find((pod) => pod.ref.uid === ref.uid);
      assert.ok(found, "the pod is not in the inventory after a restart of the program");
      assert.deepEqual([found.ref, found.owner], [ref, owner]);
      assert.deepEqual(await instanceOf(rig, ref), before, "the restart of the program restarted the pod");
    },
    adoptable,
  ),
  check(
    "adoption",
    "a create after a restart adopts the existing pod",
    async (rig) => {
      const pod = rig.plan();
      const ref = await rig.run(pod);
      const before = await instanceOf(rig, ref);
      await rig.restart();
      await rig.create(pod);
      assert.deepEqual(await instanceOf(rig, ref), before);
    },
    adoptable,
  ),
  check(
    "adoption",
    "a pod that was created before a restart can be deleted after it",
    async (rig) => {
      const ref = await rig.run();
      await rig.restart();
      await rig.delete(ref, 10);
      await rig.untilGone(ref);
    },
    adoptable,
  ),
  check(
    "adoption",
    "a pod that ended while the program was stopped is reported with its end",
    async (rig) => {
      const ref = await rig.start({ containers: [{ program: { kind: "exit", exitCode: 3, afterSeconds: 2 } }] });
      await rig.provider[Symbol.asyncDispose]?.();
      await rig.clock.sleep(3000);
      await rig.restart();
      const { phase, containerStatuses } = await rig.untilEnded(ref);
      assert.deepEqual([phase, containerStatuses?.[0]?.state?.terminated?.exitCode], ["Failed", 3]);
    },
    adoptable,
  ),
];
