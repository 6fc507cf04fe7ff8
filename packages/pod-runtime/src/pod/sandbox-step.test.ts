import type { Container, Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import type { PodEvent } from "./pod-event.ts";

const init = (name: string): Container => ({ name, image: "app:1" });
const sidecar = (name: string): Container => ({ ...init(name), restartPolicy: "Always" });

function runningRig(pod: Pod = podWith({})): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

/** Checks that these events do not change the pod's state. */
function expectNoChange(rig: PodRig, ...events: readonly PodEvent[]): void {
  for (const event of events) {
    const [state, asked, told, removed] = [rig.state, [...rig.asked], [...rig.events], [...rig.removed]];
    rig.send(event);
    expect([rig.state, rig.asked, rig.events, rig.removed], event.kind).toEqual([state, asked, told, removed]);
  }
}

describe("making a sandbox", () => {
  const failed = (rig: PodRig, reason: "FailedMount" | "FailedCreatePodSandBox" | undefined): void =>
    rig.send({ kind: "sandboxFailed", attempt: rig.take("createSandbox").attempt, reason, message: "no" });

  test("is retried after 10, 20, 40 and at most 60 seconds if the runtime failed", () => {
    const rig = new PodRig(podWith({}));
    for (const seconds of [10, 20, 40, 60, 60]) {
      failed(rig, "FailedCreatePodSandBox");
      rig.pass(seconds * 1000 - 1);
      expect(rig.open, `${seconds} s`).toEqual([]);
      rig.pass(1);
      expect(rig.open, `${seconds} s`).toEqual(["createSandbox"]);
    }
  });

  test("is retried after 1, 2, 4, 8 and at most 10 seconds if volumes could not be filled", () => {
    const rig = new PodRig(podWith({}));
    for (const seconds of [1, 2, 4, 8, 10, 10]) {
      failed(rig, "FailedMount");
      rig.pass(seconds * 1000 - 1);
      expect(rig.open, `${seconds} s`).toEqual([]);
      rig.pass(1);
      expect(rig.open, `${seconds} s`).toEqual(["createSandbox"]);
    }
  });

  test("counts its attempts, and a success resets the delays", () => {
    const rig = new PodRig(podWith({}));
    failed(rig, "FailedCreatePodSandBox");
    rig.pass(10_000);
    expect(rig.asked).toEqual([{ kind: "createSandbox", attempt: 1 }]);
    rig.answerAll();
    rig.send({ kind: "sandboxStopped", sandboxId: "s1" });
    expect(rig.asked).toEqual([{ kind: "createSandbox", attempt: 2 }]);

    failed(rig, "FailedCreatePodSandBox");
    rig.pass(10_000);

    expect(rig.asked).toEqual([{ kind: "createSandbox", attempt: 3 }]);
  });

  test("records a failure with its reason as a warning, unless it was recorded already", () => {
    const rig = new PodRig(podWith({}));
    failed(rig, "FailedMount");
    rig.pass(1_000);
    failed(rig, undefined);
    rig.pass(2_000);

    expect(rig.notices).toEqual([{ kind: "event", type: "Warning", reason: "FailedMount", message: "no" }]);
    expect(rig.open).toEqual(["createSandbox"]);
  });

  test("is not retried earlier when a secret changes if the runtime failed", () => {
    const rig = new PodRig(podWith({}));
    rig.send({ kind: "configChanged" });

    failed(rig, "FailedCreatePodSandBox");

    expect(rig.open).toEqual([]);
    rig.send({ kind: "configChanged" });
    expect(rig.open).toEqual([]);
  });

  test("after the pod has stopped waiting for it ends with a stop of the new sandbox", () => {
    const rig = new PodRig(podWith({}));
    rig.take("createSandbox");

    rig.send({ kind: "sandboxCreated", attempt: 7, sandboxId: "other", ips: [] });

    expect(rig.asked).toEqual([{ kind: "stopSandbox", sandboxId: "other" }]);
    expect(rig.state.stage.kind).toBe("creatingSandbox");
  });

  test("changes nothing if it is reported twice", () => {
    expectNoChange(
      runningRig(),
      { kind: "sandboxCreated", attempt: 0, sandboxId: "s0", ips: ["10.0.0.9"] },
      { kind: "sandboxFailed", attempt: 0, reason: "FailedMount", message: "late" },
    );
  });

  test("with a failure of another attempt changes nothing", () => {
    expectNoChange(new PodRig(podWith({})), { kind: "sandboxFailed", attempt: 3, reason: "FailedMount", message: "late" });
  });

  test("of a pod that ends in the meantime is awaited, and the sandbox is then stopped", () => {
    const rig = new PodRig(podWith({}));
    const { attempt } = rig.take("createSandbox");
    rig.send({ kind: "deleted", graceMs: 0 });
    expect(rig.open).toEqual([]);

    rig.send({ kind: "sandboxCreated", attempt, sandboxId: "s0", ips: [] });

    expect(rig.open).toEqual(["stopSandbox"]);
    rig.answerAll();
    expect(rig.state.stage).toEqual({ kind: "gone" });
  });

  test("is given up if the pod ends while it waits for a retry", () => {
    const rig = new PodRig(podWith({}));
    failed(rig, "FailedCreatePodSandBox");

    rig.send({ kind: "deleted", graceMs: 0 });

    expect(rig.open).toEqual(["removeAll"]);
    rig.pass(60_000);
    expect(rig.open).toEqual(["removeAll"]);
  });
});

describe("a sandbox that is lost", () => {
  test("is recorded as an event, and kept until the next one is up, so that processes left in it are stopped first", () => {
    const rig = runningRig();

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });

    expect(rig.notices.at(-1)).toEqual({
      kind: "event",
      type: "Normal",
      reason: "SandboxChanged",
      message: "Pod sandbox changed, it will be killed and re-created.",
    });
    expect(rig.state).toMatchObject({ deadSandboxes: ["s0"], stage: { kind: "creatingSandbox", attempt: 1 } });
    expect(rig.report).toMatchObject({ podIP: undefined, podIPs: [] });
    rig.answer(rig.take("createSandbox"));
    expect(rig.state).toMatchObject({ deadSandboxes: [], stage: { kind: "up", sandboxId: "s1" } });
  });

  test("ends the containers that ran in it, and their status says so", () => {
    const rig = runningRig();
    const startedAt = rig.status("app").state?.running?.startedAt;
    rig.pass(5_000);

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });

    expect(rig.status("app").state?.terminated ?? rig.status("app").lastState?.terminated).toEqual({
      exitCode: 137,
      reason: "ContainerStatusUnknown",
      message: "The container was lost with the pod's sandbox",
      startedAt,
      finishedAt: "2026-01-01T00:00:05Z",
      containerID: "fake://c1",
    });
  });

  test("repeats pulls and starts that were in progress, as the same attempt", () => {
    for (const kinds of [["createSandbox"], ["createSandbox", "ensureImage"]] as const) {
      const rig = new PodRig(podWith({}));
      for (const kind of kinds) rig.answer(rig.take(kind));
      rig.asked = [];

      rig.send({ kind: "sandboxStopped", sandboxId: "s0" });
      rig.answerAll();

      expect(rig.status("app"), kinds.join()).toMatchObject({ ready: true, lastState: {} });
    }
  });

  test.for([
    ["does not count", 0, undefined],
    ["counts", 1, new Map([["app", 0]])],
  ] as const)("%s an unclear start in it, as reported by the runtime", ([, attempt, begun]) => {
    const rig = new PodRig(podWith({}));
    for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));
    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerError", message: "no answer" });

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });
    rig.pass(10_000);
    rig.send({ kind: "sandboxCreated", attempt: rig.take("createSandbox").attempt, sandboxId: "s1", ips: [], begun });
    rig.pass(10_000);
    rig.answer(rig.take("ensureImage"));

    expect(rig.take("startContainer")).toMatchObject({ sandboxId: "s1", attempt });
  });

  test("runs init containers and sidecars again, and then the main containers", () => {
    const rig = runningRig(podWith({ restartPolicy: "OnFailure", initContainers: [init("one"), sidecar("proxy")] }));
    rig.exit("one", 0);
    rig.answerAll();
    expect(rig.status("app").ready).toBe(true);

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });
    rig.answer(rig.take("createSandbox"));
    expect(rig.open).toEqual(["ensureImage one"]);
    rig.answerAll();
    rig.exit("one", 0);
    rig.answerAll();

    expect([rig.status("proxy").restartCount, rig.status("app").restartCount]).toEqual([1, 1]);
    expect(rig.status("app").ready).toBe(true);
  });

  test("does not affect a main container that has ended for good", () => {
    const rig = runningRig(podWith({ restartPolicy: "OnFailure", containers: [init("done"), init("app")] }));
    rig.exit("done", 0);

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });
    rig.answerAll();

    expect(rig.status("done")).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
    expect(rig.status("app")).toMatchObject({ restartCount: 1, ready: true });
  });

  test("in an ending pod causes no event, and nothing is restarted", () => {
    const rig = runningRig(podWith({ initContainers: [init("one"), sidecar("proxy")] }));
    rig.exit("one", 0);
    rig.answerAll();
    rig.send({ kind: "deleted", graceMs: 30_000 });
    rig.asked = [];

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });

    expect(rig.events.filter((event) => event.startsWith("SandboxChanged"))).toEqual([]);
    expect(rig.status("one").ready, "it has succeeded").toBe(true);
    expect(rig.open).toEqual(["stopSandbox"]);
    expect(rig.report.phase, "processes in a dead sandbox are stopped first").toBe("Running");
    rig.answer(rig.take("stopSandbox"));
    rig.answer(rig.take("removeAll"));
    expect(rig.state.stage).toEqual({ kind: "gone" });
  });

  test("of another pod changes nothing", () => {
    expectNoChange(runningRig(), { kind: "sandboxStopped", sandboxId: "other" }, { kind: "sandboxStopFailed", sandboxId: "s0" });
    expectNoChange(new PodRig(podWith({})), { kind: "sandboxStopped", sandboxId: "s0" });
  });
});

describe("ending a sandbox", () => {
  function ending(): PodRig {
    const rig = runningRig();
    rig.send({ kind: "deleted", graceMs: 0 });
    rig.answer(rig.take("stopContainer"));
    return rig;
  }

  test("is retried ten seconds after a failure, and not earlier", () => {
    const rig = ending();
    rig.send({ ...rig.take("stopSandbox"), kind: "sandboxStopFailed" });
    rig.pass(9_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);

    expect(rig.open).toEqual(["stopSandbox"]);
    rig.pass(60_000);
    expect(rig.open, "once").toEqual(["stopSandbox"]);
  });

  test("is not affected by answers about another sandbox", () => {
    const rig = ending();

    expectNoChange(rig, { kind: "sandboxStopFailed", sandboxId: "other" }, { kind: "sandboxStopped", sandboxId: "other" });
  });

  test("comes before the removal of the remains, which is retried ten seconds after a failure", () => {
    const rig = ending();
    rig.answer(rig.take("stopSandbox"));
    expect(rig.open).toEqual(["removeAll"]);

    rig.take("removeAll");
    rig.send({ kind: "removeFailed" });
    rig.pass(9_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);
    rig.answer(rig.take("removeAll"));

    expect(rig.state.stage).toEqual({ kind: "gone" });
  });

  test("a pod that is not being removed ignores answers about a removal", () => {
    expectNoChange(runningRig(), { kind: "removed" }, { kind: "removeFailed" });
  });
});
