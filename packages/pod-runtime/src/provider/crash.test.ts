import type { Pod } from "@virtual-kubelet/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NodeRig, type ProcessEnd } from "../test-support/node-rig.ts";
import type { Moment } from "../test-support/mortal-runtime.ts";
import { podWith } from "../test-support/pod-rig.ts";

/** Observed duration of each life, in milliseconds of the fake clock. */
const lifeMs = 100_000;
const stepMs = 1_000;
/** Time after a deletion within which everything must be gone. */
const settledMs = 10_000;
/** Interval of core's complete checks. */
const reconcileMs = 10_000;

/** A pod's life, with the changes from outside. */
interface Life {
  readonly pod: Pod;
  readonly ends: Readonly<Record<string, ProcessEnd>>;
  /** Time of an update, and the new spec. */
  readonly updated?: { readonly atMs: number; readonly pod: Pod };
  readonly deletedAtMs: number;
  readonly graceMs: number;
}

const hook = { exec: { command: ["true"] } };

const lives: Readonly<Record<string, Life>> = {
  "a job with an init container, a sidecar and hooks": {
    pod: podWith({
      restartPolicy: "Never",
      initContainers: [
        { name: "init", image: "app:1" },
        { name: "side", image: "app:1", restartPolicy: "Always", lifecycle: { preStop: hook } },
      ],
      containers: [{ name: "main", image: "app:1", lifecycle: { postStart: hook, preStop: hook } }],
    }),
    ends: { "init/0": { afterMs: 2_000, exitCode: 0 }, "main/0": { afterMs: 10_000, exitCode: 3 } },
    deletedAtMs: 60_000,
    graceMs: 5_000,
  },
  "a server of two containers, one of which crashes, and is given another image": {
    pod: podWith({
      containers: [
        { name: "web", image: "web:1" },
        { name: "log", image: "app:1" },
      ],
    }),
    ends: { "web/0": { afterMs: 5_000, exitCode: 1 } },
    updated: {
      atMs: 20_000,
      pod: podWith({
        containers: [
          { name: "web", image: "web:2" },
          { name: "log", image: "app:1" },
        ],
      }),
    },
    deletedAtMs: 60_000,
    graceMs: 5_000,
  },
  "a pod that is deleted while it starts": {
    pod: podWith({ initContainers: [{ name: "init", image: "app:1" }] }),
    ends: { "init/0": { afterMs: 30_000, exitCode: 0 } },
    deletedAtMs: 3_000,
    graceMs: 5_000,
  },
};

/** Result of a life. */
interface Account {
  /** Started processes, in order. */
  readonly begun: readonly string[];
  /** Status of the pod before its deletion. */
  readonly before: unknown;
  /** Number of objects that the runtime holds at the end. */
  readonly left: number;
  readonly isGone: boolean;
  readonly calls: number;
}

/** Runs a life. The program is killed at these moments, each counted from its start, and started again. */
async function live(life: Life, deaths: readonly Moment[] = [], kills: readonly number[] = []): Promise<Account> {
  const rig = new NodeRig(life.ends);
  const toCome = [...deaths];
  rig.start({}, toCome.shift());
  rig.pods.set("u1", life.pod);
  let before: unknown;
  let calls = 0;
  for (let atMs = 0; atMs < lifeMs; atMs += stepMs) {
    if (kills.includes(atMs)) rig.program.mortal.kill();
    const isNew = rig.program.mortal.isDead;
    if (isNew) rig.start({}, toCome.shift());
    if (atMs === life.deletedAtMs) {
      before = summaryOf(rig);
      rig.markDeleted("u1", life.graceMs);
    }
    if (atMs === life.updated?.atMs) void rig.update(life.updated.pod).catch(() => {});
    if (isNew || atMs === life.deletedAtMs || atMs % reconcileMs === 0) void rig.reconcile().catch(() => {});
    await rig.clock.advance(stepMs);
    calls = Math.max(calls, rig.program.mortal.calls);
    if (atMs > life.deletedAtMs + settledMs && !rig.pods.has("u1") && rig.runtime.sandboxes.size === 0) break;
  }
  await rig.provider[Symbol.asyncDispose]();
  const { begun, sandboxes, containers } = rig.runtime;
  return { begun: begun.toSorted(), before, left: sandboxes.size + containers.size, isGone: !rig.pods.has("u1"), calls };
}

/** The part of the status that must be the same, however often the program has died. */
function summaryOf(rig: NodeRig): unknown {
  const { phase, initContainerStatuses, containerStatuses } = rig.status("u1");
  const containers = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].map(
    ({ name, restartCount, ready, state, lastState }) => ({
      name,
      restartCount,
      ready,
      is: Object.keys(state ?? {}),
      exitCodes: [state?.terminated?.exitCode, lastState?.terminated?.exitCode],
    }),
  );
  return { phase, containers };
}

describe.each(Object.entries(lives))("%s", { timeout: 300_000 }, (_name, life) => {
  test("lives to its end", async () => {
    const account = await live(life);

    expect([account.left, account.isGone]).toEqual([0, true]);
    expect(new Set(account.begun).size).toBe(account.begun.length);
  });

  test("has the same result, at whatever call the program dies", async () => {
    const undisturbed = await live(life);

    for (let call = 1; call <= undisturbed.calls; call++) {
      for (const when of ["before", "after", "late"] as const) {
        const { begun, before, left, isGone } = await live(life, [{ call, when }]);
        expect({ call, when, begun, before, left, isGone }).toEqual({
          call,
          when,
          begun: undisturbed.begun,
          before: undisturbed.before,
          left: 0,
          isGone: true,
        });
      }
    }
  });
});

/** Lives that are long enough for several programs that die one after another. */
const longLives = Object.entries(lives).filter(([, { deletedAtMs }]) => deletedAtMs > 30_000);

test.each(longLives)("%s has the same result, however often the program dies", { timeout: 300_000 }, async (_name, life) => {
  const undisturbed = await live(life);
  const death = fc.record({ call: fc.integer({ min: 1, max: undisturbed.calls }), when: fc.constantFrom("before", "after", "late") });
  const kill = fc.integer({ min: 1, max: 80 }).map((seconds) => seconds * 1_000);

  await fc.assert(
    fc.asyncProperty(fc.array(death, { maxLength: 4 }), fc.array(kill, { maxLength: 4 }), async (deaths, kills) => {
      const { begun, before, left, isGone } = await live(life, deaths, kills);
      expect({ begun, before, left, isGone }).toEqual({ begun: undisturbed.begun, before: undisturbed.before, left: 0, isGone: true });
    }),
    { numRuns: 30 },
  );
});
