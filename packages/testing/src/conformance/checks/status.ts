import assert from "node:assert/strict";
import { PassThrough, type Duplex } from "node:stream";
import { podRef, type PodRef, type ProviderPodStatus } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { textOf } from "../suite-host.ts";

/** What statuses of pods contain, and what they must not contain. */
export const statusChecks: readonly Check[] = [
  check("status", "every report has a status for each container", async (rig) => {
    const ended = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 1, afterSeconds: 0 } }] });
    const ref = await rig.create();
    const first = await rig.status(ref);
    assert.ok(first.containerStatuses?.length, "the status that follows createPod has no container statuses");
    await rig.run();
    await rig.untilEnded(ended);
    await rig.delete(ref, 5);
    await rig.untilGone(ref);
    assert.deepEqual(rig.problems(), []);
  }),
  check("status", "the status of an ended pod does not change any more", async (rig) => {
    const ref = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 5, afterSeconds: 0 } }] });
    const { phase, containerStatuses } = await rig.untilEnded(ref);
    await rig.clock.sleep(300);
    const later = await rig.status(ref);
    assert.deepEqual([later.phase, later.containerStatuses], [phase, containerStatuses]);
    assert.deepEqual((await rig.provider.getPod(ref, rig.signal)).status.containerStatuses, containerStatuses);
  }),
  check("status", "getPod, getPodStatus and getPods agree on a pod, while it runs and after its end", async (rig) => {
    const running = await rig.run();
    const ended = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 5, afterSeconds: 0 } }] });
    await rig.untilEnded(ended);
    for (const ref of [running, ended])
      await rig.eventually(
        async () => {
          const expected = summaryOf(await rig.status(ref));
          const pod = await rig.provider.getPod(ref, rig.signal);
          assert.deepEqual(summaryOf(pod.status), expected, "getPod and getPodStatus differ");
          const listed = (await rig.provider.getPods(rig.signal)).pods.find(({ ref: { uid } }) => uid === ref.uid);
          assert.ok(listed, "getPods lacks the pod");
          assert.deepEqual(summaryOf(listed.status), expected, "getPods and getPodStatus differ");
        },
        { timeoutMs: rig.timeouts.startMs },
      );
  }),
  check("status", "getPodStatus returns a status or NotFound during another call for the pod", async (rig) => {
    const pod = rig.plan();
    const ref = podRef(pod);
    await answersDuring(rig, ref, rig.create(pod));
    const stubborn = await rig.runStubborn();
    await answersDuring(rig, stubborn, rig.delete(stubborn, 2));
    await rig.untilGone(stubborn, 2000 + rig.timeouts.endMs);
  }),
  check("status", "a returned status belongs to the core: the provider's next one is another object", async (rig) => {
    const ref = await rig.run();
    const status = await rig.status(ref);
    Object.assign(status, { phase: "Failed" });
    assert.equal((await rig.status(ref)).phase, "Running", "what the core does to a status changes the provider's own");
  }),
  check("notifications", "a pod that starts and ends by itself is reported without a question", async (rig) => {
    const ref = await rig.create({ containers: [{ program: { kind: "exit", exitCode: 2, afterSeconds: 1 } }] });
    await rig.eventually(
      () => {
        const update = rig.told(ref).at(-1);
        const status = update && "status" in update ? update.status : undefined;
        const ended = status?.containerStatuses?.[0]?.state?.terminated;
        assert.ok(ended, "its end was not told");
        // The phase may be reported later than the container's end, when nothing is left of the pod.
        assert.deepEqual([status.phase, ended.exitCode], ["Failed", 2]);
      },
      { timeoutMs: rig.timeouts.startMs + rig.timeouts.endMs },
    );
  }),
  check("notifications", "the end of a deleted pod is reported, by its containers' states or as gone", async (rig) => {
    const ref = await rig.run();
    await rig.delete(ref, 5);
    await rig.eventually(
      () => {
        const last = rig.told(ref).at(-1);
        assert.ok(last, "nothing was told");
        assert.ok(
          "gone" in last || last.status.containerStatuses?.every(({ state }) => state?.terminated),
          `last told: ${JSON.stringify(last)}`,
        );
      },
      { timeoutMs: rig.timeouts.endMs },
    );
  }),
  check("notifications", "after many changes at once the last status of each pod arrives, and is true", async (rig) => {
    const count = 25;
    const refs = await Promise.all(Array.from({ length: count }, () => rig.run()));
    for (const ref of refs)
      await rig.eventually(
        async () => {
          const last = rig.told(ref).at(-1);
          assert.ok(last && "status" in last, "nothing was told");
          assert.equal(last.status.phase, (await rig.status(ref)).phase);
        },
        { timeoutMs: rig.timeouts.startMs },
      );
    await Promise.all(refs.map((ref) => rig.delete(ref, 5)));
    await Promise.all(refs.map((ref) => rig.untilGone(ref)));
    await rig.eventually(
      () => {
        const open = refs.filter((ref) => {
          const last = rig.told(ref).at(-1);
          return !last || ("status" in last && !last.status.containerStatuses?.every(({ state }) => state?.terminated));
        });
        assert.equal(open.length, 0, `${open.length} of ${count} pods are gone, and their end was not told`);
      },
      { timeoutMs: rig.timeouts.endMs },
    );
  }),
  check("notifications", "a provider reports nothing after it is disposed", async (rig) => {
    await rig.run();
    const before = rig.provider;
    await rig.restart();
    assert.notEqual(rig.provider, before);
    const heard = rig.updates.length;
    const fresh = await rig.create();
    await rig.delete(fresh, 0);
    await rig.untilGone(fresh);
    await rig.eventually(
      () => {
        const told = rig.updates.slice(heard).filter(({ ref }) => ref.uid === fresh.uid);
        assert.ok(told.length > 0, "the provider that was made anew reports nothing");
      },
      { timeoutMs: rig.timeouts.endMs },
    );
  }),
  check("secrets", "the values of a pod's secrets are in no log, status, list or error", async (rig) => {
    const shown: string[] = [];
    const env = [
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "confidential", key: "password" } } },
      { name: "PLAIN", value: rig.canary },
    ];
    for (const exitCode of [0, 9]) {
      const planned = { containers: [{ program: { kind: "exit", exitCode, afterSeconds: 1 }, env }] } as const;
      const pod = rig.plan({ containers: planned.containers.map((each) => ({ ...each, env: [...each.env] })) });
      const ref = await rig.create(pod);
      await rig.create(pod);
      shown.push(textOf(await rig.untilEnded(ref)));
      shown.push(textOf(await rig.provider.getPods(rig.signal)), textOf(await rig.provider.getPod(ref, rig.signal)));
      for (const failing of [
        () => rig.provider.getContainerLogs?.(ref, "no-such-container", { follow: false, previous: true, timestamps: false }, rig.signal),
        () => rig.provider.portForward?.(ref, 1, noStream(), rig.signal),
      ])
        await failing()?.catch((error: unknown) => shown.push(textOf(error)));
    }
    assert.ok(!shown.some((text) => text.includes(rig.canary)), "a secret's value can be read in what the provider returned or threw");
    assert.deepEqual(rig.problems(), []);
  }),
];

function noStream(): Duplex {
  return new PassThrough();
}

/** Part of a status that must be the same from every method. */
function summaryOf({ phase, podIP, containerStatuses = [] }: ProviderPodStatus): unknown {
  const containers = containerStatuses.map(({ name, containerID, restartCount, state }) => ({
    name,
    containerID,
    restartCount,
    state: Object.keys(state ?? {}).find((key) => state?.[key as keyof typeof state] !== undefined),
    exitCode: state?.terminated?.exitCode,
  }));
  return { phase, podIP, containers };
}

/** Reads the pod's status repeatedly from the start of the call until it has returned, and once more. */
async function answersDuring(rig: ProviderRig, ref: PodRef, call: Promise<unknown>): Promise<void> {
  let isOver = false;
  const ended = call.finally(() => (isOver = true));
  ended.catch(() => {});
  for (let wasOver = false; !wasOver;) {
    wasOver = isOver;
    await rig.status(ref).catch((error: unknown) => {
      assert.ok(isNotFound(error), `getPodStatus must answer, or throw NotFoundError, and threw ${String(error)}`);
    });
    // A provider that answers from memory would otherwise never let the call continue.
    await rig.clock.sleep(20);
  }
  await ended;
}
