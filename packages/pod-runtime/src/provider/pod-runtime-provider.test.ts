import { isNotFound, isUnavailable, UnsupportedError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { labelNames } from "../runtime/labels.ts";
import { FakeResolvedPod } from "../test-support/fake-resolved-pod.ts";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";
import type { PodPreparation } from "../worker/preparation.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };

async function runningRig(pod = podWith({}), ends?: ConstructorParameters<typeof NodeRig>[0]): Promise<NodeRig> {
  const rig = new NodeRig(ends);
  rig.start();
  await rig.create(pod);
  await rig.clock.advance(0);
  return rig;
}

describe("a pod", () => {
  test("is run, reported, listed with its tag, and removed when it is deleted", async () => {
    const rig = await runningRig();
    const { provider, signal } = rig;

    expect(rig.status("u1")).toMatchObject({ phase: "Running", podIP: "10.0.0.1", containerStatuses: [{ ready: true, started: true }] });
    const [listed] = (await provider.getPods(signal)).pods;
    expect(listed).toMatchObject({ ref, owner: { clusterId: "c", nodeName: "n" }, createdAt: "2026-01-01T00:00:00Z" });

    await provider.deletePod(ref, { gracePeriodSeconds: 5 }, signal);
    await rig.clock.advance(0);
    expect(rig.program.updates.at(-1)).toEqual({ ref, gone: true });
    expect(await provider.getPods(signal)).toEqual({ pods: [], complete: true });
    await expect(provider.getPod(ref, signal)).rejects.toSatisfy(isNotFound);
    await expect(provider.deletePod(ref, { gracePeriodSeconds: 5 }, signal)).rejects.toSatisfy(isNotFound);
  });

  test("that waits for a secret is retried when the secret appears", async () => {
    const rig = new NodeRig();
    const missing = new Set(["secret"]);
    const container: PodPreparation["container"] = async (start, signal) => {
      for (const name of missing) throw new Error(`${name} not found`);
      return plainPreparation.container(start, signal);
    };
    rig.start({ preparation: { ...plainPreparation, container } });
    await rig.create(podWith({}));
    await rig.clock.advance(0);
    expect(rig.status("u1")).toMatchObject({ containerStatuses: [{ state: { waiting: { reason: "CreateContainerConfigError" } } }] });

    missing.clear();
    rig.changeConfig({ ...ref, uid: "another" });
    await rig.clock.advance(0);
    expect(rig.runtime.begun).toEqual([]);
    rig.changeConfig(ref);
    await rig.clock.advance(0);

    expect(rig.runtime.begun).toEqual(["app/0"]);
    await rig.provider[Symbol.asyncDispose]();
    expect(rig.configListeners).toBe(0);
  });

  test("among many others waits for its turn to create a sandbox, and the wait does not count for the deadline", async () => {
    const rig = new NodeRig();
    rig.start({ settings: { sandboxesAtOnce: 1, deadlines: { changeMs: 5_000 } } });
    rig.runtime.stuck.add("createSandbox");
    for (const name of ["one", "two"]) await rig.create({ ...podWith({}), metadata: { namespace: "default", name, uid: name } });
    await rig.clock.advance(4_000);
    const made = (): number => rig.runtime.calls.filter((call) => call.startsWith("createSandbox")).length;
    expect(made()).toBe(1);

    rig.runtime.stuck.delete("createSandbox");
    await rig.clock.advance(1_000);

    expect(made()).toBe(2);
    expect(rig.status("two")).toMatchObject({ phase: "Running" });
    expect(rig.status("one")).toMatchObject({ phase: "Pending" });
  });

  test("is created once, however often that is requested", async () => {
    const rig = await runningRig();

    await Promise.all([rig.create(podWith({})), rig.provider.getPods(rig.signal)]);
    await rig.clock.advance(60_000);

    expect(rig.runtime.begun).toEqual(["app/0"]);
  });

  test("that is refused leaves nothing behind, and a running one is not checked again", async () => {
    const rig = new NodeRig();
    const checkPod = (): never => {
      throw new UnsupportedError("spec.hostPID: not allowed");
    };
    rig.start({ checkPod });
    await expect(rig.create(podWith({}))).rejects.toThrow("spec.hostPID: not allowed");
    expect([rig.runtime.sandboxes.size, (await rig.provider.getPods(rig.signal)).pods]).toEqual([0, []]);

    rig.start();
    await rig.create(podWith({}));
    await rig.clock.advance(0);
    rig.program.mortal.kill();
    rig.start({ checkPod });
    await rig.create(podWith({}));
    expect(rig.runtime.begun).toEqual(["app/0"]);
  });

  test("with a rule that restarts all containers is refused, and other restart rules of a container are followed", async () => {
    const rules = (action: string): object => ({
      restartPolicy: "Never",
      restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
    });
    const rig = new NodeRig({ "app/0": { afterMs: 1_000, exitCode: 42 }, "app/1": { afterMs: 1_000, exitCode: 1 } });
    rig.start();
    const refused = podWith({ containers: [{ name: "app", image: "app:1", ...rules("RestartAllContainers") }] });
    await expect(rig.create(refused)).rejects.toThrow("spec.containers[0].restartPolicyRules[0].action: RestartAllContainers");

    await rig.create(podWith({ containers: [{ name: "app", image: "app:1", ...rules("Restart") }] }));
    await rig.clock.advance(60_000);

    expect(rig.runtime.begun).toEqual(["app/0", "app/1"]);
    expect(rig.status("u1")).toMatchObject({ phase: "Failed", containerStatuses: [{ restartCount: 1 }] });
  });

  test("gets a debugging container when it is updated", async () => {
    const rig = await runningRig();

    await rig.update(podWith({ ephemeralContainers: [{ name: "debug", image: "app:1" }] }));
    await rig.clock.advance(0);

    expect(rig.runtime.begun).toEqual(["app/0", "debug/0"]);
    expect(rig.status("u1").ephemeralContainerStatuses).toMatchObject([{ name: "debug", state: { running: {} } }]);
    await expect(rig.provider.updatePod(podWith({}), new FakeResolvedPod(), AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });

  test("that is deleted again with less grace gets less", async () => {
    const rig = await runningRig();
    rig.runtime.stuck.add("stopContainer");

    await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 }, rig.signal);
    await rig.clock.advance(1_000);
    rig.runtime.stuck.clear();
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 4 }, rig.signal);
    await rig.clock.advance(0);

    expect(rig.runtime.calls.filter((call) => call.startsWith("stopContainer"))).toEqual([
      "stopContainer c2 30000",
      "stopContainer c2 4000",
    ]);
    expect(rig.program.updates.at(-1)).toEqual({ ref, gone: true });
  });

  test("that is evicted fails, and its logs stay", async () => {
    const rig = await runningRig();

    rig.provider.evictPod(ref, { message: 'Usage of EmptyDir volume "data" exceeds the limit "1Mi".' });
    await rig.clock.advance(0);

    expect(rig.status("u1")).toMatchObject({ phase: "Failed", reason: "Evicted", containerStatuses: [{ state: { terminated: {} } }] });
    expect([rig.runtime.containers.size, rig.events.at(-2)]).toEqual([1, expect.stringContaining("Evicted: Usage of EmptyDir")]);
  });
});

describe("after a restart of the program", () => {
  test("running pods are adopted unchanged, before anything is requested", async () => {
    const readinessProbe = { exec: { command: ["true"] } };
    const rig = await runningRig(podWith({ containers: [{ name: "app", image: "app:1", readinessProbe }] }));
    await rig.clock.advance(20_000);
    const before = rig.status("u1");
    expect(before.containerStatuses).toMatchObject([{ ready: true }]);

    rig.program.mortal.kill();
    rig.start();
    await rig.clock.advance(0);
    expect((await rig.provider.getPod(ref, rig.signal)).status).toEqual(before);
    await rig.clock.advance(60_000);

    expect([rig.status("u1"), rig.runtime.begun]).toEqual([before, ["app/0"]]);
  });

  test("the containers of a pod that is gone are listed by their labels, and ended in order", async () => {
    const sidecar = { name: "side", image: "app:1", restartPolicy: "Always", lifecycle: { stopSignal: "SIGINT" } };
    const rig = await runningRig(podWith({ initContainers: [sidecar] }));
    rig.program.mortal.kill();
    rig.pods.clear();
    rig.start();
    await rig.clock.advance(0);

    const { pods } = await rig.provider.getPods(rig.signal);
    expect(pods).toMatchObject([
      {
        ref,
        owner: { clusterId: "c", nodeName: "n" },
        status: {
          initContainerStatuses: [{ name: "side", image: "app:1", state: { running: {} } }],
          containerStatuses: [{ name: "app", containerID: "fake://c3", state: { running: {} } }],
        },
      },
    ]);
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 7 }, rig.signal);
    await rig.clock.advance(0);

    const stops = rig.runtime.calls.filter((call) => call.startsWith("stopContainer"));
    expect(stops).toEqual(["stopContainer c3 7000", "stopContainer c2 7000"]);
    expect([rig.runtime.sandboxes.size, rig.runtime.containers.size]).toEqual([0, 0]);
  });

  test("a container that was created for a pod that is gone is removed, and never started", async () => {
    const rig = new NodeRig();
    rig.runtime.stuck.add("startContainer");
    rig.start();
    await rig.create(podWith({}));
    await rig.clock.advance(0);
    rig.program.mortal.kill();
    rig.pods.clear();
    rig.runtime.stuck.clear();

    rig.start();
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal);
    await rig.clock.advance(60_000);

    expect([rig.runtime.begun, rig.runtime.containers.size]).toEqual([[], 0]);
  });

  test("processes in a dead sandbox are ended before another sandbox is created", async () => {
    const rig = await runningRig();
    rig.program.mortal.kill();
    rig.runtime.endSandbox("s1");
    rig.runtime.failNext("stopSandbox");
    expect(rig.runtime.running()).toEqual({ app: "c2" });

    rig.start();
    await rig.clock.advance(0);
    expect(rig.runtime.begun).toEqual(["app/0"]);
    await rig.clock.advance(60_000);

    expect(rig.runtime.begun).toEqual(["app/0", "app/1"]);
    expect(Object.keys(rig.runtime.running())).toEqual(["app"]);
    expect(rig.runtime.containers.get("c2")?.state.kind).not.toBe("running");
  });

  test("volumes of running pods are kept up to date again", async () => {
    const rig = await runningRig();
    rig.program.mortal.kill();
    const storage = new FakeStorage();
    storage.failures.push(new Error("the disk is busy"));

    rig.start({ storage });
    await rig.clock.advance(0);
    expect(storage.prepared).toBe(0);
    await rig.clock.advance(10_000);

    expect([storage.prepared, rig.runtime.begun]).toEqual([1, ["app/0"]]);
  });

  test("containers of a lost pod that had succeeded are not run again", async () => {
    const containers = ["done", "works"].map((name) => ({ name, image: "app:1" }));
    const rig = await runningRig(podWith({ restartPolicy: "OnFailure", containers }), { "done/0": { afterMs: 1_000, exitCode: 0 } });
    await rig.clock.advance(5_000);
    rig.program.mortal.kill();
    rig.runtime.sandboxes.clear();
    rig.runtime.containers.clear();

    rig.start();
    await rig.reconcile();
    await rig.clock.advance(60_000);

    expect(rig.runtime.begun).toEqual(["done/0", "works/0", "works/1"]);
    expect(rig.status("u1")).toMatchObject({ phase: "Running", containerStatuses: [{ state: { terminated: {} } }, { restartCount: 1 }] });
  });

  test("an end that was not observed is reported with the container's termination message", async () => {
    const rig = new NodeRig({ "app/0": { afterMs: 5_000, exitCode: 3 } });
    const storage = new FakeStorage();
    rig.start({ storage });
    await rig.create(podWith({ restartPolicy: "Never" }));
    await rig.clock.advance(1_000);
    rig.program.mortal.kill();
    storage.messages.set("app/0", "disk full");
    await rig.clock.advance(10_000);

    rig.start({ storage });
    await rig.clock.advance(0);

    expect(rig.status("u1")).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 3, message: "disk full", reason: "Error" } } }],
    });
  });
});

describe("a change at the runtime", () => {
  test("is noticed at once by an event", async () => {
    const rig = await runningRig(podWith({}), { "app/0": { afterMs: 5_000, exitCode: 1 } });
    const lists = rig.runtime.calls.filter((call) => call === "list").length;

    await rig.clock.advance(5_000);

    expect(rig.runtime.begun).toEqual(["app/0", "app/1"]);
    expect(rig.runtime.calls.filter((call) => call === "list").length).toBe(lists);
    expect(rig.container("u1", "app")).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 1 } } });
  });

  test("is found within half a minute without an event", async () => {
    const rig = await runningRig();
    const [held] = rig.runtime.containers.values();
    if (held)
      rig.runtime.containers.set(held.id, {
        ...held,
        state: { kind: "exited", exitCode: 9, startedAtMs: 1, finishedAtMs: rig.clock.now() },
      });

    await rig.clock.advance(35_000);

    expect(rig.container("u1", "app")).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 9 } } });
  });

  test("that removes a container or sandbox leads to a new one", async () => {
    const rig = await runningRig();
    rig.runtime.containers.delete("c2");
    rig.runtime.loseEvents();
    await rig.clock.advance(20_000);
    expect(rig.container("u1", "app")).toMatchObject({ restartCount: 1, lastState: { terminated: { reason: "ContainerStatusUnknown" } } });

    rig.runtime.endSandbox("s1");
    await rig.clock.advance(0);
    expect(Object.keys(rig.runtime.running())).toHaveLength(0);
    await rig.clock.advance(60_000);
    expect(rig.events).toContain("SandboxChanged: Pod sandbox changed, it will be killed and re-created.");
    expect([Object.keys(rig.runtime.running()), rig.status("u1").phase]).toEqual([["app"], "Running"]);
    expect([...rig.runtime.sandboxes.values()].filter(({ isReady }) => isReady)).toHaveLength(1);
  });

  test("is not assumed while the runtime is unavailable: no pod is reported dead or missing", async () => {
    const rig = await runningRig();
    const before = rig.status("u1");
    for (const method of ["list", "inspectContainer", "inspectSandbox"]) rig.runtime.failNext(method, 1_000);
    rig.runtime.loseEvents();

    await expect(rig.provider.getPods(rig.signal)).rejects.toSatisfy(isUnavailable);
    await expect(rig.provider.getPod({ ...ref, uid: "other" }, rig.signal)).rejects.toSatisfy(isUnavailable);
    await expect(rig.provider.deletePod({ ...ref, uid: "other" }, { gracePeriodSeconds: 0 }, rig.signal)).rejects.toSatisfy(isUnavailable);
    await rig.clock.advance(120_000);
    expect([rig.status("u1"), (await rig.provider.getPod(ref, rig.signal)).status]).toEqual([before, before]);

    for (const id of rig.runtime.containers.keys()) rig.runtime.containers.delete(id);
    rig.runtime.failures.clear();
    await rig.clock.advance(30_000);
    expect(rig.container("u1", "app")).toMatchObject({ restartCount: 1 });
  });

  test("what earlier attempts have left is removed", async () => {
    const rig = await runningRig();
    const [sandbox] = rig.runtime.sandboxes.values();
    const labels = sandbox?.labels ?? {};
    rig.runtime.sandboxes.set("old", { id: "old", labels, isReady: true, ips: [], createdAtMs: 0 });
    const stale = { ...labels, [labelNames.container]: "app", [labelNames.attempt]: "-3" };
    rig.runtime.containers.set("strange", {
      id: "strange",
      sandboxId: "s1",
      labels: stale,
      image: "",
      imageId: "",
      state: { kind: "created" },
    });

    await rig.clock.advance(70_000);

    expect([[...rig.runtime.sandboxes.keys()], [...rig.runtime.containers.keys()]]).toEqual([["s1"], ["c2", "strange"]]);
  });
});

describe("a call without an answer", () => {
  test("delays only its own container, which is not started twice", async () => {
    const rig = new NodeRig();
    rig.runtime.stuck.add("startContainer");
    rig.start({ settings: { deadlines: { startMs: 20_000 } } });
    await rig.create(podWith({ containers: [{ name: "one", image: "app:1" }] }));
    await rig.clock.advance(0);
    rig.runtime.stuck.clear();
    await rig.create({ ...podWith({ containers: [{ name: "two", image: "app:1" }] }), metadata: { ...ref, uid: "u2" } });
    await rig.clock.advance(0);
    expect(rig.runtime.begun).toEqual(["two/0"]);

    await rig.clock.advance(20_000);
    expect(rig.container("u1", "one")).toMatchObject({ state: { waiting: { reason: "RunContainerError" } }, restartCount: 0 });
    // The call had reached the runtime.
    await rig.runtime.startContainer("c2");
    await rig.clock.advance(20_000);

    expect(rig.container("u1", "one")).toMatchObject({ state: { running: {} }, restartCount: 0, containerID: "fake://c2" });
    expect(rig.runtime.begun).toEqual(["two/0", "one/0"]);
  });

  test("in a sandbox that dies in the meantime does not block the next sandbox", async () => {
    const rig = await runningRig();
    rig.runtime.failNext("inspectSandbox", 2);
    rig.runtime.endSandbox("s1");
    await rig.clock.advance(0);
    await rig.update(podWith({ containers: [{ name: "app", image: "other:1" }] }));
    await rig.clock.advance(0);
    expect(rig.container("u1", "app")).toMatchObject({ state: { waiting: { reason: "RunContainerError" } } });

    await rig.clock.advance(60_000);

    expect(rig.container("u1", "app")).toMatchObject({ ready: true, restartCount: 1 });
    expect(rig.runtime.begun).toEqual(["app/0", "app/1"]);
  });
});

describe("a runtime that restarts", () => {
  test("has each container restarted once, in a live sandbox, whatever is noticed first", async () => {
    for (const heard of ["its end", "nothing"]) {
      const rig = await runningRig();
      // Containers end first, and their sandbox is dead when it is inspected.
      rig.runtime.isMute = heard === "nothing";
      rig.runtime.end(rig.runtime.running()["app"] ?? "", 137);
      const sandbox = await rig.runtime.inspectSandbox("s1");
      rig.runtime.sandboxes.set("s1", { ...sandbox, isReady: false });
      rig.runtime.isMute = false;
      rig.runtime.loseEvents();
      await rig.clock.advance(60_000);

      expect(rig.container("u1", "app"), heard).toMatchObject({ ready: true, restartCount: 1 });
      expect(rig.runtime.begun, heard).toEqual(["app/0", "app/1"]);
      expect(
        rig.runtime.calls.filter((call) => call === "createContainer s1"),
        heard,
      ).toHaveLength(1);
    }
  });

  test("leaves its containers undisturbed while it does not answer, even if nothing has reported its absence", async () => {
    const rig = new NodeRig();
    rig.start();
    const livenessProbe = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1 };
    await rig.create(podWith({ containers: [{ name: "app", image: "app:1", livenessProbe }] }));
    await rig.clock.advance(0);
    rig.runtime.stuck.add("exec").add("ping");
    await rig.clock.advance(20_000);
    expect(rig.container("u1", "app")?.restartCount).toBe(0);
    expect(rig.events.filter((event) => event.startsWith("Unhealthy"))).toEqual([]);

    rig.runtime.stuck.delete("ping");
    await rig.clock.advance(20_000);
    expect(rig.container("u1", "app")?.restartCount).toBeGreaterThan(0);
  });

  test("gets no start before it is back, and results of its commands do not count", async () => {
    const rig = new NodeRig();
    rig.start();
    const livenessProbe = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1 };
    await rig.create(
      podWith({
        containers: [
          { name: "app", image: "app:1", livenessProbe },
          { name: "done", image: "app:1" },
        ],
      }),
    );
    await rig.clock.advance(0);
    const [begun, calls] = [rig.runtime.begun.length, rig.runtime.calls.length];
    rig.runtime.leave();
    rig.runtime.execExitCode = 137;
    rig.runtime.end(rig.runtime.running()["done"] ?? "", 1);
    await rig.clock.advance(20_000);
    expect(rig.runtime.begun.length).toBe(begun);
    expect(rig.runtime.calls.slice(calls).filter((call) => !/^(exec|ping|inspectContainer|list)/.test(call))).toEqual([]);

    rig.runtime.execExitCode = 0;
    rig.runtime.loseEvents();
    await rig.clock.advance(20_000);
    expect([rig.container("u1", "app")?.restartCount, rig.container("u1", "done")?.restartCount]).toEqual([0, 1]);
    expect(rig.events.filter((event) => event.startsWith("Unhealthy"))).toEqual([]);
    rig.runtime.execExitCode = 1;
    await rig.clock.advance(5_000);
    expect(rig.container("u1", "app")?.restartCount).toBeGreaterThan(0);
  });
});

describe("users are informed", () => {
  test("of a start, in a kubelet's words", async () => {
    const rig = await runningRig(podWith({ containers: [{ name: "app", image: "app:1", imagePullPolicy: "Always" }] }));

    expect(rig.events).toEqual([
      'Pulling: Pulling image "app:1"',
      'Pulled: Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 1 bytes.',
      "Created: Container created",
      "Started: Container started",
    ]);
  });

  test("of volumes that cannot be prepared, until they are", async () => {
    const rig = new NodeRig();
    const storage = new FakeStorage();
    storage.failures.push(new Error('MountVolume.SetUp failed for volume "data" : no such folder'));
    storage.failures.push(Object.assign(new Error("told by another"), { waitingReason: "ContainerCreating" }));
    rig.start({ storage });
    await rig.create(podWith({}));
    await rig.clock.advance(0);
    expect(rig.container("u1", "app")).toMatchObject({ state: { waiting: { reason: "ContainerCreating" } } });

    await rig.clock.advance(60_000);
    expect(rig.events).toEqual([
      'FailedMount: MountVolume.SetUp failed for volume "data" : no such folder',
      'Pulled: Container image "app:1" already present on machine and can be accessed by the pod',
      "Created: Container created",
      "Started: Container started",
    ]);
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 1 }, rig.signal);
    await rig.clock.advance(0);
    expect(storage.pods.size).toBe(0);
  });

  test("of a container's termination message, or of the end of its log", async () => {
    const rig = new NodeRig({ "app/0": { afterMs: 5_000, exitCode: 1 } });
    rig.start();
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join("");
    const container = { name: "app", image: "app:1", terminationMessagePolicy: "FallbackToLogsOnError" };
    await rig.create(podWith({ restartPolicy: "Never", containers: [container] }));
    await rig.clock.advance(0);
    rig.runtime.outputs.set("c2", lines);

    await rig.clock.advance(5_000);

    const message = rig.container("u1", "app")?.state?.terminated?.message ?? "";
    expect([message.startsWith("line 20\n"), message.endsWith("line 99\n")]).toEqual([true, true]);
  });
});

test("isKnown returns true for every pod before the runtime was asked", async () => {
  const rig = new NodeRig();
  rig.start();
  expect(rig.provider.isKnown("u1")).toBe(true);

  await rig.create(podWith({}));
  await rig.provider.getPods(rig.signal);

  expect([rig.provider.isKnown("u1"), rig.provider.isKnown("u2")]).toEqual([true, false]);
});

test("a disposed provider has released everything, and its pods continue to run", async () => {
  const rig = await runningRig();
  await rig.clock.advance(1_000);

  await rig.provider[Symbol.asyncDispose]();

  expect([rig.clock.pending, rig.runtime.running()]).toEqual([0, { app: "c2" }]);
});

describe("an eviction", () => {
  test("has the given reason and grace period, and is recorded as a warning", async () => {
    const rig = await runningRig();

    rig.provider.evictPod(ref, { reason: "NodeShutdown", message: "the node ends", graceMs: 4_000 });
    await rig.clock.advance(0);

    expect(rig.runtime.calls).toContain("stopContainer c2 4000");
    expect(rig.status("u1")).toMatchObject({ phase: "Failed", reason: "NodeShutdown", message: "the node ends" });
    expect(rig.events).toContain("NodeShutdown: the node ends");
  });

  test("by default leaves only the time that a kill takes", async () => {
    const rig = await runningRig();

    rig.provider.evictPod(ref, { message: "full" });
    await rig.clock.advance(0);

    expect(rig.runtime.calls).toContain("stopContainer c2 2000");
  });

  test("of a pod that is already ending, or unknown, changes nothing", async () => {
    const rig = await runningRig();
    rig.runtime.stuck.add("stopContainer");
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 }, rig.signal);

    rig.provider.evictPod(ref, { message: "full" });
    rig.provider.evictPod({ ...ref, uid: "u2" }, { message: "full" });
    await rig.clock.advance(0);

    expect(rig.events.filter((event) => event.startsWith("Evicted"))).toEqual([]);
    expect(rig.status("u1").reason).toBeUndefined();
  });
});

describe("ports of the node", () => {
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  const second = { ...podWith({ containers: [{ name: "app", image: "app:1", ports }] }), metadata: { ...ref, name: "two", uid: "u2" } };
  const first = podWith({ restartPolicy: "Never", containers: [{ name: "app", image: "app:1", ports }] });

  test("of another pod are refused to a new one, as by a kubelet", async () => {
    const rig = await runningRig(first);

    await expect(rig.create(second)).rejects.toMatchObject({ code: "VK_TERMINAL", reason: "NodePorts" });
    expect(rig.runtime.sandboxes.size).toBe(1);
  });

  test("are free again after that pod has ended", async () => {
    const rig = await runningRig(first, { "app/0": { afterMs: 1_000, exitCode: 0 } });
    await rig.clock.advance(2_000);

    await rig.create(second);
    await rig.clock.advance(0);

    expect(rig.status("u2").phase).toBe("Running");
  });
});

describe("a pod with unsupported fields", () => {
  test("is refused if the runtime cannot mount its image volumes", async () => {
    const rig = new NodeRig();
    rig.runtime.canMountImages = false;
    rig.start();

    await expect(rig.create(podWith({ volumes: [{ name: "data", image: { reference: "data:1" } }] }))).rejects.toMatchObject({
      code: "VK_UNSUPPORTED",
      fieldPath: "spec.volumes[0].image",
    });
  });
});

describe("a call with an aborted signal", () => {
  test("starts nothing", async () => {
    const rig = await runningRig();
    const signal = AbortSignal.abort(new Error("over"));
    const before = rig.runtime.calls.length;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => rig.provider.createPod(podWith({}), new FakeResolvedPod(), signal),
      () => rig.provider.updatePod(podWith({}), new FakeResolvedPod(), signal),
      () => rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal),
      () => rig.provider.getPod(ref, signal),
      () => rig.provider.getPodStatus(ref, signal),
      () => rig.provider.getPods(signal),
    ];

    for (const call of calls) await expect(call()).rejects.toThrow("over");
    await rig.clock.advance(0);

    expect([rig.runtime.calls.slice(before), rig.runtime.running()]).toEqual([[], { app: "c2" }]);
  });
});

describe("a pod without a worker", () => {
  test("has a status from the runtime's objects, and reading it changes nothing", async () => {
    const rig = await runningRig();
    rig.program.mortal.kill();
    rig.pods.clear();
    rig.start();

    const { status, owner, createdAt } = await rig.provider.getPod(ref, rig.signal);

    expect(status).toMatchObject({ phase: "Running", containerStatuses: [{ containerID: "fake://c2" }] });
    expect(await rig.provider.getPodStatus(ref, rig.signal)).toEqual(status);
    expect([owner, createdAt]).toEqual([{ clusterId: "c", nodeName: "n" }, "2026-01-01T00:00:00Z"]);
    expect(rig.runtime.begun).toEqual(["app/0"]);
  });

  test("and without objects at the runtime has its data on the disk removed when it is deleted", async () => {
    const rig = new NodeRig();
    const storage = new FakeStorage();
    storage.pods.add("u1");
    rig.start({ storage });

    await expect(rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal)).rejects.toMatchObject({
      code: "VK_NOT_FOUND",
      message: "find pod default/web: the container runtime has nothing with UID u1",
    });
    expect(storage.pods.size).toBe(0);
  });

  test("is adopted when it is updated if the runtime holds it, and is otherwise not found", async () => {
    const rig = await runningRig();
    rig.program.mortal.kill();
    rig.start();
    const stranger = { ...podWith({}), metadata: { ...ref, uid: "u9" } };

    await expect(rig.provider.updatePod(stranger, new FakeResolvedPod(), rig.signal)).rejects.toSatisfy(isNotFound);
    await rig.update(podWith({ ephemeralContainers: [{ name: "debug", image: "app:1" }] }));
    await rig.clock.advance(0);

    expect(rig.runtime.begun).toEqual(["app/0", "debug/0"]);
  });

  test.for(["update", "create"] as const)("that a list is just adopting gets the spec of a concurrent %s", async (how) => {
    const containers = ["done", "app"].map((name) => ({ name, image: "app:1" }));
    const spec = { restartPolicy: "OnFailure", containers };
    const rig = await runningRig(podWith(spec));
    rig.program.mortal.kill();
    rig.runtime.end("c2", 0);
    const storage = new FakeStorage();
    const read = Promise.withResolvers<string>();
    storage.terminationMessage = () => read.promise;
    rig.start({ storage });
    await rig.clock.advance(0);

    const changed = rig[how](podWith({ ...spec, ephemeralContainers: [{ name: "debug", image: "app:1" }] }));
    await rig.clock.advance(0);
    read.resolve("");
    await changed;
    await rig.clock.advance(0);

    expect(rig.runtime.begun).toEqual(["done/0", "app/0", "debug/0"]);
  });

  test("is deleted with the given grace period, and waiting containers are never started", async () => {
    const rig = await runningRig(podWith({}), { "app/0": { afterMs: 1_000, exitCode: 1 }, "app/1": { afterMs: 1_000, exitCode: 1 } });
    await rig.clock.advance(5_000);
    expect(rig.container("u1", "app")).toMatchObject({ state: { waiting: { reason: "CrashLoopBackOff" } } });
    rig.program.mortal.kill();
    rig.start();

    await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 }, rig.signal);
    await rig.clock.advance(60_000);

    expect([rig.runtime.begun, rig.runtime.sandboxes.size]).toEqual([["app/0", "app/1"], 0]);
  });
});

test("concurrent adoptions of a pod start a single worker", async () => {
  const rig = await runningRig();
  rig.program.mortal.kill();
  rig.start();

  await Promise.all([rig.provider.getPods(rig.signal), rig.create(podWith({})), rig.provider.getPods(rig.signal)]);
  await rig.clock.advance(60_000);

  expect(rig.runtime.begun).toEqual(["app/0"]);
  expect((await rig.provider.getPods(rig.signal)).pods).toHaveLength(1);
});

test("a list that was requested before a pod ended does not bring it back", async () => {
  const rig = await runningRig();
  const list = rig.runtime.list.bind(rig.runtime);
  const asked = Promise.withResolvers<void>();
  rig.runtime.list = async (labels) => {
    const held = await list(labels);
    if (!("io.kubernetes.pod.uid" in labels)) await asked.promise;
    return held;
  };
  const listing = rig.provider.getPods(rig.signal);
  await rig.clock.advance(0);
  await rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal);
  await rig.clock.advance(0);
  expect(rig.runtime.sandboxes.size).toBe(0);

  asked.resolve();

  expect(await listing).toEqual({ pods: [], complete: true });
  await rig.clock.advance(0);
  expect(rig.runtime.sandboxes.size).toBe(0);
});

test("listed objects are copies, so that changes by the reader have no effect", async () => {
  const rig = await runningRig();
  const [listed] = (await rig.provider.getPods(rig.signal)).pods;

  expect(listed?.status).not.toBe((await rig.provider.getPod(ref, rig.signal)).status);
  expect(listed?.status).toEqual((await rig.provider.getPod(ref, rig.signal)).status);
});

test("probes are counted until their pod is gone", async () => {
  const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 5 };
  const rig = await runningRig(podWith({ containers: [{ name: "app", image: "app:1", readinessProbe }] }));
  await rig.clock.advance(6_000);

  const [total] = await rig.provider.getMetricsProbes(rig.signal);
  expect(total?.samples).toMatchObject([{ labels: { pod: "web", probe_type: "Readiness", result: "successful" }, value: 2 }]);
  rig.markDeleted("u1", 0);
  await rig.reconcile();
  await rig.clock.advance(60_000);

  expect(await rig.provider.getMetricsProbes(rig.signal)).toEqual([]);
});
