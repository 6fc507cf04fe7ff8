import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const named = (name: string, more: Partial<Container> = {}): Container => ({ name, image: "app:1", ...more });
const sidecar = (name: string, more: Partial<Container> = {}): Container => named(name, { restartPolicy: "Always", ...more });
const lifecycle = { preStop: { exec: { command: ["sleep"] } } };

const podOf = (more: Partial<PodSpec> = {}): Pod => podWith({ containers: [named("app")], ...more });

function runningRig(pod: Pod = podOf()): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

describe("a pod ends by itself", () => {
  test("when all its main containers have ended for good, with its grace period for the sidecars", () => {
    const spec = { restartPolicy: "OnFailure", terminationGracePeriodSeconds: 8, initContainers: [sidecar("proxy")] };
    const rig = runningRig(podOf({ ...spec, containers: [named("a"), named("b")] }));
    rig.exit("a", 0);
    expect(rig.open).toEqual([]);
    rig.exit("b", 0);

    expect(rig.state.ending).toEqual({ why: "finished", deadlineMs: 8_000 });
    expect(rig.take("stopContainer")).toMatchObject({ container: "proxy", graceMs: 8_000 });
    expect(rig.events.at(-1)).toBe("Killing: Stopping container proxy");
  });

  test("not while a main container waits for its restart", () => {
    const rig = runningRig(podOf({ restartPolicy: "OnFailure", containers: [named("a"), named("b")] }));
    rig.exit("a", 0);
    rig.exit("b", 1);

    expect(rig.state.ending).toBeUndefined();
  });

  test("not because an ephemeral container or a sidecar has ended", () => {
    const rig = runningRig(podOf({ initContainers: [sidecar("proxy")], ephemeralContainers: [named("debug")] }));
    rig.exit("debug", 0);
    rig.exit("proxy", 0);

    expect(rig.state.ending).toBeUndefined();
  });

  test("when its deadline is over, to the millisecond, with a normal event", () => {
    const rig = runningRig(podOf({ activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 4 }));
    rig.pass(59_999);
    expect(rig.state.ending).toBeUndefined();
    rig.pass(1);

    const message = "Pod was active on the node longer than the specified deadline";
    expect(rig.state.ending).toEqual({ why: "failed", deadlineMs: 64_000, reason: "DeadlineExceeded", message });
    expect(rig.notices.slice(1)).toMatchObject([
      { type: "Normal", reason: "DeadlineExceeded", message },
      { type: "Normal", reason: "Killing", message: "Stopping container app", container: "app" },
    ]);
  });

  test("and its active deadline does not count any more", () => {
    const rig = runningRig(podOf({ activeDeadlineSeconds: 60 }));
    rig.send({ kind: "deleted", graceMs: 300_000 });

    rig.pass(100_000);

    expect(rig.state.ending).toEqual({ why: "deleted", deadlineMs: 300_000 });
  });
});

describe("in an ending pod", () => {
  test("containers that were not started yet, or wait, are never started", () => {
    const idle = runningRig(podOf({ initContainers: [named("init")] }));
    const pulling = new PodRig(podOf());
    pulling.answer(pulling.take("createSandbox"));
    const waiting = runningRig();
    waiting.exit("app", 1);
    waiting.answerAll();
    waiting.exit("app", 1);

    for (const rig of [idle, pulling, waiting]) {
      rig.send({ kind: "deleted", graceMs: 30_000 });
      rig.pass(60_000);
      expect(rig.state.containers.get("app")?.life).toEqual({ kind: "ended" });
      expect(rig.events.filter((event) => event.startsWith("Back"))).toHaveLength(rig === waiting ? 1 : 0);
    }
    expect(pulling.open).toEqual(["ensureImage app", "stopSandbox"]);
  });

  test("a container that failed for good keeps its termination, and one that ends by itself is not restarted", () => {
    const rig = runningRig(podOf({ containers: [named("app", { lifecycle })] }));
    rig.send({ kind: "deleted", graceMs: 30_000 });

    rig.exit("app", 1);

    expect(rig.status("app")).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 1 } } });
    expect(rig.open).toEqual(["runHook app", "stopSandbox"]);
  });

  test("resources are no longer changed", () => {
    const withCpu = (cpu: string): Pod => podOf({ containers: [named("app", { resources: { limits: { cpu } }, lifecycle })] });
    const rig = runningRig(withCpu("1"));
    rig.send({ kind: "deleted", graceMs: 30_000 });

    rig.send({ kind: "updated", pod: withCpu("2") });

    expect(rig.open).toEqual(["runHook app"]);
  });

  test("a container that is being stopped for its probe has no more time than the pod", () => {
    const livenessProbe = { exec: { command: ["true"] } };
    const rig = runningRig(podOf({ containers: [named("app", { livenessProbe, lifecycle })] }));
    rig.send({ kind: "probed", container: "app", id: "c1", probe: "liveness", isSuccess: false });
    expect(rig.open).toEqual(["runHook app"]);

    rig.send({ kind: "deleted", graceMs: 5_000 });
    rig.pass(4_999);
    expect(rig.open).toEqual(["runHook app"]);
    rig.pass(1);

    expect(rig.open).toEqual(["runHook app", "stopContainer app"]);
    expect(rig.take("stopContainer").graceMs).toBe(2_000);
    rig.exit("app", 0);
    expect(rig.status("app").restartCount).toBe(0);
  });

  test("a failed stop is retried once with the rest of the grace period", () => {
    const rig = runningRig();
    rig.send({ kind: "deleted", graceMs: 60_000 });
    rig.send({ ...rig.take("stopContainer"), kind: "stopFailed" });
    rig.pass(9_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);

    expect(rig.asked).toEqual([{ kind: "stopContainer", container: "app", id: "c1", graceMs: 50_000 }]);
    rig.pass(40_000);
    expect(rig.open).toEqual(["stopContainer app"]);
  });

  test("the last sidecar is stopped after the main containers, and each other one after the sidecars that follow it", () => {
    const rig = runningRig(podOf({ initContainers: [sidecar("a"), sidecar("b")] }));
    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["stopContainer app"]);

    rig.exit("app", 0);
    expect(rig.open).toContain("stopContainer b");
    expect(rig.open).not.toContain("stopContainer a");
    rig.exit("b", 0);

    expect(rig.open).toContain("stopContainer a");
  });

  test("a sidecar that crashes before its turn is not restarted", () => {
    const rig = runningRig(podOf({ initContainers: [sidecar("a"), sidecar("b")] }));
    rig.send({ kind: "deleted", graceMs: 30_000 });

    rig.exit("b", 1);

    expect(rig.status("b")).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 1 } } });
    expect(rig.open).toEqual(["stopContainer app"]);
  });
});

describe("settle starts", () => {
  test("no container in a pod that has ended", () => {
    const rig = runningRig(podOf({ restartPolicy: "Never" }));
    rig.exit("app", 0);
    rig.answerAll();

    rig.send({ kind: "updated", pod: podOf({ restartPolicy: "Never", ephemeralContainers: [named("debug")] }) });

    expect(rig.open).toEqual([]);
  });

  test("ephemeral containers while the init containers still run", () => {
    const rig = runningRig(podOf({ initContainers: [named("init")] }));

    rig.send({ kind: "updated", pod: podOf({ initContainers: [named("init")], ephemeralContainers: [named("debug")] }) });

    expect(rig.open).toEqual(["ensureImage debug"]);
  });

  test("an init container that has failed again, before those after it", () => {
    const rig = runningRig(podOf({ initContainers: [named("one"), named("two")] }));
    rig.exit("one", 1);
    expect(rig.open).toEqual(["ensureImage one"]);
    rig.answerAll();
    rig.exit("one", 0);

    expect(rig.open).toEqual(["ensureImage two"]);
    expect(rig.status("one")).toMatchObject({ restartCount: 1, ready: true });
  });

  test("no init container that has succeeded", () => {
    const rig = runningRig(podOf({ initContainers: [named("one")] }));
    rig.exit("one", 0);
    rig.answerAll();
    rig.exit("app", 1);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("a main container while the one before it is being stopped for a failed probe, but not for a failed postStart hook", () => {
    const livenessProbe = { exec: { command: ["true"] } };
    const rig = runningRig(podOf({ containers: [named("first", { livenessProbe }), named("second")] }));
    rig.send({ kind: "probed", container: "first", id: rig.idOf("first"), probe: "liveness", isSuccess: false });
    rig.asked = [];

    rig.exit("second", 1);

    expect(rig.open).toEqual(["ensureImage second"]);
  });
});

test("nothing is started twice at the same moment", () => {
  const rig = runningRig(podOf({ initContainers: [sidecar("proxy")], containers: [named("app", { lifecycle })] }));
  const steps: (() => void)[] = [
    () => rig.send({ kind: "deleted", graceMs: 30_000 }),
    () => rig.answer(rig.take("runHook")),
    () => rig.answer(rig.take("stopContainer", "app")),
    () => rig.answer(rig.take("stopContainer", "proxy")),
    () => rig.answer(rig.take("stopSandbox")),
    () => rig.answer(rig.take("removeAll")),
  ];
  for (const step of steps) {
    step();
    const [state, asked] = [rig.state, [...rig.asked]];
    rig.send({ kind: "tick" });
    expect([rig.state, rig.asked]).toEqual([state, asked]);
  }
  expect(rig.state.stage).toEqual({ kind: "gone" });
});
