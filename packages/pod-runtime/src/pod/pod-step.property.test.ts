import { computePhase, isTerminalPhase, type ContainerStatus, type DeepReadonly, type Pod, type StatusByName } from "@virtual-kubelet/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isLive } from "./container-life.ts";
import type { PodEffect } from "./pod-effect.ts";
import { settle } from "./settle.ts";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

type Move =
  | { readonly kind: "answer"; readonly pick: number; readonly isGood: boolean }
  | { readonly kind: "exit"; readonly pick: number; readonly exitCode: number }
  | { readonly kind: "probe"; readonly pick: number; readonly probe: "startup" | "liveness" | "readiness"; readonly isSuccess: boolean }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "stale"; readonly pick: number }
  | { readonly kind: "sandboxLost" }
  | { readonly kind: "delete"; readonly graceMs: number };

const pick = fc.nat(7);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant("answer" as const), pick, isGood: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("answer" as const), pick, isGood: fc.constant(true) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("exit" as const), pick, exitCode: fc.constantFrom(0, 1, 137) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("probe" as const),
      pick,
      probe: fc.constantFrom("startup" as const, "liveness" as const, "readiness" as const),
      isSuccess: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1, 2_000, 10_000, 400_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stale" as const), pick }) },
  { weight: 1, arbitrary: fc.constant({ kind: "sandboxLost" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), graceMs: fc.constantFrom(0, 3_000, 30_000) }) },
);

const probe = fc.option(fc.constant<{ exec: { command: string[] } }>({ exec: { command: ["true"] } }), { nil: undefined });
const hook = (command: string): { exec: { command: string[] } } => ({ exec: { command: [command] } });
const lifecycle = fc.option(fc.constant({ postStart: hook("a"), preStop: hook("b") }), { nil: undefined });
const pods: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: fc.constantFrom("Always", "OnFailure", "Never"),
    inits: fc.array(fc.record({ isSidecar: fc.boolean(), startupProbe: probe }), { maxLength: 3 }),
    mains: fc.array(fc.record({ lifecycle, startupProbe: probe, readinessProbe: probe }), { minLength: 1, maxLength: 2 }),
    activeDeadlineSeconds: fc.option(fc.constant(300), { nil: undefined, freq: 5 }),
  })
  .map(({ restartPolicy, inits, mains, activeDeadlineSeconds }) =>
    podWith({
      restartPolicy,
      activeDeadlineSeconds,
      initContainers: inits.map(({ isSidecar, startupProbe }, index) => ({
        name: `i${index}`,
        image: "app:1",
        ...(isSidecar ? { restartPolicy: "Always", startupProbe } : {}),
      })),
      containers: mains.map((main, index) => ({ name: `m${index}`, image: "app:1", ...main })),
    }),
  );

function fail(rig: PodRig, effect: PodEffect): void {
  switch (effect.kind) {
    case "createSandbox":
      return rig.send({ kind: "sandboxFailed", attempt: effect.attempt, message: "no" });
    case "stopSandbox":
      return rig.send({ kind: "sandboxStopFailed", sandboxId: effect.sandboxId });
    case "removeAll":
      return rig.send({ kind: "removeFailed" });
    case "growPod":
    case "fitPod":
      return rig.send({ ...effect, kind: "podFitFailed", message: "no" });
    case "ensureImage":
      return rig.send({ ...effect, kind: "imageFailed", reason: "ErrImagePull", message: "no" });
    case "startContainer":
      return rig.send({
        ...effect,
        kind: "startFailed",
        reason: effect.attempt % 2 ? "RunContainerError" : "CreateContainerError",
        message: "no",
      });
    case "stopContainer":
      return rig.send({ ...effect, kind: "stopFailed" });
    case "runHook":
      return rig.send({ ...effect, kind: "hookEnded", error: "no" });
    default:
      return undefined;
  }
}

function play(rig: PodRig, step: Move): void {
  const { containers } = rig.state.desired;
  switch (step.kind) {
    case "answer": {
      const [effect] = rig.asked.splice(step.pick % Math.max(1, rig.asked.length), 1);
      if (!effect) return;
      return step.isGood ? rig.answer(effect) : fail(rig, effect);
    }
    case "exit": {
      const running = containers.filter(({ name }) => rig.idOf(name) !== "none");
      const chosen = running[step.pick % Math.max(1, running.length)];
      return chosen ? rig.exit(chosen.name, step.exitCode) : undefined;
    }
    case "probe": {
      const name = containers[step.pick % containers.length]?.name ?? "";
      return rig.send({ kind: "probed", container: name, id: rig.idOf(name), probe: step.probe, isSuccess: step.isSuccess });
    }
    case "pass":
      return rig.pass(step.ms);
    case "stale": {
      const name = containers[step.pick % containers.length]?.name ?? "";
      rig.exit(name, 1, "c-unknown");
      return rig.send({ kind: "started", container: name, attempt: 99, id: "c-stale", startedAtMs: 0 });
    }
    case "sandboxLost":
      return rig.state.stage.kind === "up" ? rig.send({ kind: "sandboxStopped", sandboxId: rig.state.stage.sandboxId }) : undefined;
    case "delete":
      return rig.send({ kind: "deleted", graceMs: step.graceMs });
    default:
      step satisfies never;
      return undefined;
  }
}

function statuses(rig: PodRig): StatusByName {
  return new Map(rig.state.desired.containers.map(({ name }) => [name, rig.status(name)]));
}

/** Invariants between two successive reports. */
function checkStatus(before: DeepReadonly<ContainerStatus> | undefined, after: DeepReadonly<ContainerStatus>): void {
  if (!before) return;
  expect(after.restartCount).toBeGreaterThanOrEqual(before.restartCount);
  // After its end a container runs again only as a restart.
  if (before.state?.terminated && after.state?.running) expect(after.restartCount).toBeGreaterThan(before.restartCount);
  if (after.ready && !after.state?.terminated) expect(after.started).toBe(true);
}

function checkOrder(rig: PodRig): void {
  let isBlocked = false;
  for (const { name, role } of rig.state.desired.containers) {
    const record = rig.state.containers.get(name);
    const isBegun = record?.life.kind === "pulling" || (record !== undefined && isLive(record.life));
    if (isBlocked) expect(isBegun, `${name} has started before its turn`).toBe(false);
    if (role !== "main" && record?.isInitialized !== true) isBlocked = true;
  }
}

test("after any sequence of events, start order, restart counts and phases are valid", () => {
  fc.assert(
    fc.property(pods, fc.array(move, { maxLength: 60 }), (pod, moves) => {
      const rig = new PodRig(pod);
      let before = statuses(rig);
      let final: string | undefined;
      let wasRunning = false;
      // In a new sandbox the init containers run again. A kubelet reports the pod as Pending then, too.
      let isAgain = false;
      for (const step of moves) {
        play(rig, step);
        const after = statuses(rig);
        for (const [name, status] of after) checkStatus(before.get(name), status);
        checkOrder(rig);
        expect(settle(rig.state, rig.now).effects, "settling twice has an effect").toEqual([]);
        const phase = rig.report.phase ?? computePhase(pod, after, rig.state.isDeleted);
        const hasEnded = [...rig.state.containers.values()].every(({ life }) => !isLive(life));
        if (final !== undefined) expect(phase).toBe(final);
        if (wasRunning && step.kind !== "sandboxLost" && !isAgain) expect(phase, "the phase fell back").not.toBe("Pending");
        isAgain ||= step.kind === "sandboxLost";
        wasRunning = phase === "Running";
        if (isTerminalPhase(phase) && hasEnded) final = phase;
        before = after;
      }
    }),
    { numRuns: 150 },
  );
});

test("a deleted pod is gone after the runtime has answered all effects", () => {
  fc.assert(
    fc.property(pods, fc.array(move, { maxLength: 30 }), (pod, moves) => {
      const rig = new PodRig(pod);
      for (const step of moves) play(rig, step);
      rig.send({ kind: "deleted", graceMs: 30_000 });
      for (let round = 0; round < 8 && rig.state.stage.kind !== "gone"; round++) {
        rig.answerAll();
        rig.pass(30_000);
      }

      expect(rig.state.stage.kind).toBe("gone");
    }),
    { numRuns: 100 },
  );
});
