import type { Container, ContainerStatus, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { podStatusPatch } from "./pod-status-patch.ts";
import { derivePodStatus, endedStatus, rejectedStatus, waitingStatus } from "./pod-status.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";

const nowMs = Date.parse("2026-05-01T12:00:00.750Z");
const now = "2026-05-01T12:00:00Z";
const earlier = "2026-05-01T11:00:00Z";
const hostIPs = ["192.0.2.1"];

function newPod(overrides: { spec?: Partial<Pod["spec"]>; status?: PodStatus; metadata?: Pod["metadata"] } = {}): Pod {
  return {
    metadata: { name: "web", namespace: "default", uid: "uid-1", generation: 3, ...overrides.metadata },
    spec: { nodeName: "vk", containers: [container("app")], ...overrides.spec },
    status: { phase: "Pending", qosClass: "BestEffort", ...overrides.status },
  };
}

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: `${name}:1`, ...more };
}

function running(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: `${name}:1`, imageID: "", ready: true, restartCount: 0, state: { running: { startedAt: earlier } }, ...more };
}

function exited(name: string, exitCode: number, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name,
    image: `${name}:1`,
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode, finishedAt: earlier } },
    ...more,
  };
}

function derive(pod: Pod, reported: ProviderPodStatus): PodStatus {
  return derivePodStatus({ pod, reported, hostIPs, nowMs });
}

function conditionOf(status: PodStatus, type: string): { status: string; reason?: string; message?: string } {
  const { status: holds, reason, message } = status.conditions?.find((condition) => condition.type === type) ?? { status: "absent" };
  return { status: holds, ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}

describe("what a Job's failure policy reads of a pod that has Failed", () => {
  const disruption = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" };
  const pod = newPod({
    spec: { containers: [container("app"), container("side")], restartPolicy: "Never" },
    status: { phase: "Running", conditions: [disruption] },
  });
  const reported: ProviderPodStatus = { containerStatuses: [exited("app", 42), exited("side", 0)] };
  const context = { hostIPs, nowMs };

  test.each<[string, PodStatus]>([
    ["by its containers", derive(pod, reported)],
    ["by the provider's word", derive(pod, { ...reported, phase: "Failed" })],
    ["by its end at the provider", endedStatus(pod, { ...context, reported })],
    ["by its deadline", endedStatus(pod, { ...context, reported, reason: "DeadlineExceeded", phase: "Failed" })],
    ["and is derived once more", derive({ ...pod, status: derive(pod, reported) }, {})],
  ])("stays as it was: exit codes and DisruptionTarget, %s", (_how, status) => {
    expect(status.phase).toBe("Failed");
    expect(status.containerStatuses?.map(({ name, state }) => [name, state?.terminated?.exitCode])).toEqual([
      ["app", 42],
      ["side", 0],
    ]);
    expect(status.conditions).toContainEqual(disruption);
  });

  test("stays, for a pod that was refused: DisruptionTarget", () => {
    expect(rejectedStatus(pod, { ...context, reason: "OutOfcpu", message: "x" }).conditions).toEqual([disruption]);
  });

  test("is what a provider asserts of it: DisruptionTarget", () => {
    const target = { type: "DisruptionTarget", status: "True" as const, reason: "TerminationByKubelet", message: "spot" };
    const status = derive(newPod(), { ...reported, phase: "Failed", conditions: [target] });

    expect(conditionOf(status, "DisruptionTarget")).toEqual({ status: "True", reason: "TerminationByKubelet", message: "spot" });
  });
});

describe("derivePodStatus", () => {
  test("has the resources of the pod as a whole in the API's form, and leaves them where a provider says nothing", () => {
    const status = derive(newPod(), { resources: { limits: { cpu: "0.5" } }, allocatedResources: { memory: "1024Mi" } });
    expect(status).toMatchObject({ resources: { limits: { cpu: "500m" } }, allocatedResources: { memory: "1Gi" } });

    expect(derive(newPod({ status }), {})).toMatchObject({ resources: { limits: { cpu: "500m" } }, allocatedResources: { memory: "1Gi" } });
  });

  test("takes a provider's word on whether the pod's sandbox is there, and else goes by its address and containers", () => {
    const says = (holds: string): ProviderPodStatus => ({
      podIP: "10.0.0.7",
      conditions: [{ type: "PodReadyToStartContainers", status: holds }],
      containerStatuses: [running("app")],
    });

    expect(conditionOf(derive(newPod(), says("False")), "PodReadyToStartContainers").status).toBe("False");
    expect(conditionOf(derive(newPod(), { containerStatuses: [] }), "PodReadyToStartContainers").status).toBe("False");
    expect(conditionOf(derive(newPod(), says("True")), "PodReadyToStartContainers").status).toBe("True");
    expect(derive(newPod(), says("True")).conditions?.length).toBe(5);
  });

  test("says of a container that it has no resources, by which an API server knows a node that can change them", () => {
    const status = derive(newPod(), { containerStatuses: [running("app", { resources: {} })] });

    expect(JSON.parse(JSON.stringify(status.containerStatuses))).toMatchObject([{ resources: {} }]);
  });

  test("of a running pod is what a kubelet writes", () => {
    const reported = { podIP: "10.0.0.7", containerStatuses: [running("app", { containerID: "vk://1" })] };

    const status = derive(newPod(), reported);

    const condition = (type: string): object => ({ type, status: "True", observedGeneration: 3, lastTransitionTime: now });
    expect(JSON.parse(JSON.stringify(status))).toEqual({
      phase: "Running",
      qosClass: "BestEffort",
      startTime: now,
      observedGeneration: 3,
      podIP: "10.0.0.7",
      podIPs: [{ ip: "10.0.0.7" }],
      hostIP: "192.0.2.1",
      hostIPs: [{ ip: "192.0.2.1" }],
      conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition),
      containerStatuses: [
        {
          name: "app",
          image: "app:1",
          imageID: "",
          containerID: "vk://1",
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: earlier } },
          lastState: {},
        },
      ],
    });
  });

  test("shows a container the report does not name as waiting", () => {
    const pod = newPod({ spec: { containers: [container("b"), container("a")] } });

    const status = derive(pod, { containerStatuses: [running("b")] });

    expect(status.phase).toBe("Pending");
    expect(status.containerStatuses?.map(({ name, state }) => [name, state])).toEqual([
      ["a", { waiting: { reason: "ContainerCreating" } }],
      ["b", { running: { startedAt: earlier } }],
    ]);
    expect(conditionOf(status, "Ready")).toEqual({
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [a]",
    });
  });

  test("drops the statuses of containers the spec does not have", () => {
    const status = derive(newPod(), { containerStatuses: [running("app"), running("stray")] });

    expect(status.containerStatuses?.map(({ name }) => name)).toEqual(["app"]);
  });

  test("keeps init containers in the order of the spec, and lets the others wait for them", () => {
    const pod = newPod({ spec: { initContainers: [container("z"), container("b")], containers: [container("app")] } });

    const status = derive(pod, { initContainerStatuses: [running("b", { ready: false }), exited("z", 0)] });

    expect(status.initContainerStatuses?.map(({ name, ready }) => [name, ready])).toEqual([
      ["z", true],
      ["b", false],
    ]);
    expect(status.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: "PodInitializing" } });
    expect(status.phase).toBe("Pending");
    expect(conditionOf(status, "Initialized")).toEqual({
      status: "False",
      reason: "ContainersNotInitialized",
      message: "containers with incomplete status: [b]",
    });
  });

  test.each([
    ["Always", 0, "Running"],
    ["Always", 1, "Running"],
    ["OnFailure", 0, "Succeeded"],
    ["OnFailure", 1, "Running"],
    ["Never", 0, "Succeeded"],
    ["Never", 1, "Failed"],
  ])("with restart policy %s and exit code %i gives phase %s", (restartPolicy, exitCode, phase) => {
    const status = derive(newPod({ spec: { restartPolicy, containers: [container("app")] } }), {
      containerStatuses: [exited("app", exitCode)],
    });

    expect(status.phase).toBe(phase);
  });

  test("keeps a pod between two runs of its container Running", () => {
    const crashing = running("app", {
      ready: false,
      restartCount: 2,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 1 } },
    });

    const status = derive(newPod(), { podIP: "10.0.0.7", containerStatuses: [crashing] });

    expect(status.phase).toBe("Running");
    expect(status.containerStatuses?.[0]).toMatchObject({
      restartCount: 2,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 1, reason: "Error" } },
    });
  });

  test("ends a deleted pod whose containers have all ended, whatever its restart policy and the phase reported", () => {
    const pod = newPod({ metadata: { name: "web", uid: "uid-1", deletionTimestamp: now } });

    expect(derive(pod, { phase: "Running", containerStatuses: [exited("app", 0)] }).phase).toBe("Succeeded");
    expect(derive(pod, { containerStatuses: [exited("app", 143)] }).phase).toBe("Failed");
    expect(derive(pod, { phase: "Running", containerStatuses: [running("app")] }).phase).toBe("Running");
  });

  test("does not end a deleted pod because a report lacks a container that ran", () => {
    const pod = newPod({
      metadata: { name: "web", uid: "uid-1", deletionTimestamp: now },
      spec: { containers: [container("app"), container("b")] },
      status: { phase: "Running", containerStatuses: [running("app"), running("b")] },
    });

    expect(derive(pod, { containerStatuses: [exited("app", 0)] }).phase).toBe("Running");
  });

  test("does not end a deleted pod whose container waits for its next start: it may yet start", () => {
    const pod = newPod({ metadata: { name: "web", uid: "uid-1", deletionTimestamp: now } });
    const state = { waiting: { reason: "ContainerCreating" } };
    const waiting = { ...exited("app", 1), state, lastState: { terminated: { exitCode: 1, reason: "Error" } } };

    expect(derive(pod, { phase: "Pending", containerStatuses: [waiting] }).phase).toBe("Pending");
    expect(derive(pod, { containerStatuses: [waiting] }).phase).toBe("Running");
  });

  test("holds a computed end back while a sidecar runs", () => {
    const pod = newPod({
      spec: {
        restartPolicy: "Never",
        initContainers: [container("proxy", { restartPolicy: "Always" }), container("setup")],
        containers: [container("app")],
      },
    });
    const reported = { initContainerStatuses: [running("proxy"), exited("setup", 1)] };

    expect(derive(pod, reported).phase).toBe("Pending");
    expect(derive(pod, { initContainerStatuses: [exited("proxy", 0), exited("setup", 1)] }).phase).toBe("Failed");
  });

  test("ends the containers of a pod that the provider calls Failed or Succeeded while it shows them running", () => {
    const failed = derive(newPod(), {
      phase: "Failed",
      reason: "Evicted",
      message: "no room",
      containerStatuses: [running("app", { containerID: "vk://1" })],
    });
    const succeeded = derive(newPod(), { phase: "Succeeded" });

    expect(failed).toMatchObject({ phase: "Failed", reason: "Evicted", message: "no room" });
    expect(failed.containerStatuses?.[0]).toMatchObject({ ready: false, started: false });
    expect(failed.containerStatuses?.[0]?.state).toEqual({
      terminated: {
        exitCode: 137,
        reason: "ContainerStatusUnknown",
        message: "The provider reported the pod as Failed without saying how the container ended",
        startedAt: earlier,
        finishedAt: now,
        containerID: "vk://1",
      },
    });
    expect(succeeded.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 0, reason: "Completed", finishedAt: now } });
    expect(conditionOf(succeeded, "Ready")).toEqual({ status: "False", reason: "PodCompleted" });
    expect(conditionOf(failed, "Ready")).toEqual({ status: "False", reason: "PodFailed" });
  });

  test("never leaves a final phase, nor its reason", () => {
    const pod = newPod({ status: { phase: "Failed", reason: "Evicted", message: "the node was drained" } });

    const status = derive(pod, { phase: "Running", containerStatuses: [running("app")] });

    expect(status).toMatchObject({ phase: "Failed", reason: "Evicted", message: "the node was drained" });
    expect(conditionOf(status, "Ready")).toEqual({ status: "False", reason: "PodFailed" });
  });

  test("shows exactly one state where a provider sets several, and a ready container only if it runs", () => {
    const both = running("app", { state: { running: { startedAt: earlier }, terminated: { exitCode: 0, finishedAt: earlier } } });

    const [status] = derive(newPod(), { containerStatuses: [both] }).containerStatuses ?? [];

    expect(Object.keys(status?.state ?? {})).toEqual(["terminated"]);
    expect(status).toMatchObject({ ready: false, started: false });
  });

  test("keeps a container that may not run again terminated", () => {
    const pod = newPod({
      spec: { restartPolicy: "Never", containers: [container("app")] },
      status: { phase: "Running", containerStatuses: [exited("app", 1)] },
    });

    const status = derive(pod, { containerStatuses: [running("app")] });

    expect(status.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 1 } });
    expect(status.phase).toBe("Failed");
  });

  test("does not declare a container dead that may not run again, because a report lacks it", () => {
    const pod = newPod({
      spec: { restartPolicy: "Never", containers: [container("app")] },
      status: { phase: "Running", containerStatuses: [running("app")] },
    });

    const status = derive(pod, {});

    expect(status.phase).toBe("Running");
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: false, state: { running: {} } });
  });

  test("keeps what the last run ended with, and never lowers the restart count", () => {
    const pod = newPod({ status: { phase: "Running", containerStatuses: [exited("app", 3, { restartCount: 4, containerID: "vk://1" })] } });

    const [status] =
      derive(pod, { containerStatuses: [running("app", { restartCount: 1, containerID: "vk://2" })] }).containerStatuses ?? [];

    expect(status?.restartCount).toBe(4);
    expect(status?.lastState).toMatchObject({ terminated: { exitCode: 3 } });
  });

  test("keeps the transition time of a condition whose status stays", () => {
    const pod = newPod({
      status: {
        conditions: [
          { type: "Ready", status: "True", lastTransitionTime: earlier },
          { type: "ContainersReady", status: "False", lastTransitionTime: earlier },
        ],
      },
    });

    const { conditions } = derive(pod, { containerStatuses: [running("app")] });

    expect(conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime).toBe(earlier);
    expect(conditions?.find(({ type }) => type === "ContainersReady")?.lastTransitionTime).toBe(now);
  });

  test("keeps conditions of others in front, adds the provider's, and waits for readiness gates", () => {
    const gate = "example.com/gate";
    const pod = newPod({
      spec: { containers: [container("app")], readinessGates: [{ conditionType: gate }] },
      status: { conditions: [{ type: "DisruptionTarget", status: "True", reason: "x" }] },
    });
    const containers = [running("app")];

    const without = derive(pod, { containerStatuses: containers });
    const withGate = derive(pod, {
      containerStatuses: containers,
      conditions: [
        { type: gate, status: "True" },
        { type: "Ready", status: "False" },
      ],
    });

    expect(conditionOf(without, "Ready")).toEqual({
      status: "False",
      reason: "ReadinessGatesNotReady",
      message: `corresponding condition of pod readiness gate "${gate}" does not exist.`,
    });
    expect(withGate.conditions?.map(({ type }) => type).slice(0, 3)).toEqual(["DisruptionTarget", gate, "PodReadyToStartContainers"]);
    expect(conditionOf(withGate, "Ready")).toEqual({ status: "True" });
  });

  test("writes observed generations only where the server counts them, and never a lower one", () => {
    const containerStatuses = [running("app")];
    const old = derive(newPod({ metadata: { name: "web", uid: "uid-1", generation: undefined } }), { containerStatuses });
    const ahead = derive(newPod({ status: { observedGeneration: 9 } }), { containerStatuses });

    expect(old.observedGeneration).toBeUndefined();
    expect(old.conditions?.every(({ observedGeneration }) => observedGeneration === undefined)).toBe(true);
    expect(ahead.observedGeneration).toBe(9);
  });

  test("gives a pod on the host's network the node's address, and no pod one the node does not have", () => {
    const onHost = derive(newPod({ spec: { containers: [container("app")], hostNetwork: true } }), { containerStatuses: [running("app")] });
    const nowhere = derivePodStatus({
      pod: newPod({ status: { hostIP: "192.0.2.9", hostIPs: [{ ip: "192.0.2.9" }] } }),
      reported: {},
      hostIPs: [],
      nowMs,
    });

    expect(onHost).toMatchObject({ podIP: "192.0.2.1", podIPs: [{ ip: "192.0.2.1" }] });
    expect(nowhere.hostIP).toBeUndefined();
    expect(nowhere.hostIPs).toBeUndefined();
  });

  test("writes one address a family, the pod's own first, in the shortest form", () => {
    const reported = {
      podIP: "2001:DB8:0::7",
      podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }, { ip: "2001:db8::7" }, { ip: "nonsense" }],
    };

    const status = derive(newPod(), reported);

    expect(status.podIP).toBe("2001:db8::7");
    expect(status.podIPs).toEqual([{ ip: "2001:db8::7" }, { ip: "10.0.0.1" }]);
  });

  test("keeps the address of a pod that has ended", () => {
    const pod = newPod({ status: { podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }] } });

    expect(derive(pod, { phase: "Failed", containerStatuses: [exited("app", 1)] }).podIP).toBe("10.0.0.7");
    expect(derive(pod, { containerStatuses: [running("app")] }).podIP).toBeUndefined();
  });

  test("cuts times to seconds and messages to what a kubelet writes", () => {
    const ended = exited("app", 1, {
      state: { terminated: { exitCode: 1, message: "é".repeat(4000), finishedAt: "2026-05-01T13:00:00.999+01:00" } },
    });

    const status = derive(newPod(), { phase: "Failed", message: "x".repeat(10_000), containerStatuses: [ended] });

    const { terminated } = status.containerStatuses?.[0]?.state ?? {};
    expect(terminated?.finishedAt).toBe(now);
    expect(Buffer.byteLength(terminated?.message ?? "")).toBe(4096);
    expect(status.message).toHaveLength(4096);
  });

  test("sets the start time once", () => {
    expect(derive(newPod({ status: { startTime: earlier } }), {}).startTime).toBe(earlier);
  });

  test("leaves fields that belong to others as they are", () => {
    const status = derive(newPod({ status: { nominatedNodeName: "other", resourceClaimStatuses: [{ name: "gpu" }] } }), {});

    expect(status).toMatchObject({ nominatedNodeName: "other", resourceClaimStatuses: [{ name: "gpu" }], qosClass: "BestEffort" });
  });
});

describe("waitingStatus", () => {
  test("shows a pod that cannot be started as Pending, with the reason on all its containers", () => {
    const pod = newPod({ spec: { initContainers: [container("setup")], containers: [container("app")] } });

    const status = waitingStatus(pod, { reason: "ProviderUnsupported", message: "no volumes", hostIPs, nowMs });

    expect(status).toMatchObject({ phase: "Pending", reason: "ProviderUnsupported", message: "no volumes" });
    expect([...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(({ state }) => state?.waiting)).toEqual([
      { reason: "ProviderUnsupported", message: "no volumes" },
      { reason: "ProviderUnsupported", message: "no volumes" },
    ]);
    expect(conditionOf(status, "PodReadyToStartContainers")).toEqual({ status: "False" });
  });

  test("a pod that is only being made shows a kubelet's words: PodInitializing where it has init containers", () => {
    const why = { reason: "ContainerCreating", message: "", hostIPs, nowMs };
    const plain = newPod({ spec: { containers: [container("app")] } });
    const initialised = newPod({ spec: { initContainers: [container("init")], containers: [container("app")] } });
    const initializing = { state: { waiting: { reason: "PodInitializing" } } };

    expect(waitingStatus(plain, why).containerStatuses).toMatchObject([{ state: { waiting: { reason: "ContainerCreating" } } }]);
    expect(waitingStatus(initialised, why)).toMatchObject({
      phase: "Pending",
      initContainerStatuses: [initializing],
      containerStatuses: [initializing],
    });
  });

  test("leaves a pod that has ended as it is", () => {
    const pod = newPod({ status: { phase: "Failed", reason: "Evicted", containerStatuses: [exited("app", 1)] } });

    expect(waitingStatus(pod, { reason: "ProviderFailed", message: "", hostIPs, nowMs })).toMatchObject({
      phase: "Failed",
      reason: "Evicted",
      containerStatuses: [{ state: { terminated: { exitCode: 1 } } }],
    });
  });
});

describe("rejectedStatus", () => {
  test("is Failed with the reason, without the conditions of a pod that ran", () => {
    const pod = newPod({
      status: {
        conditions: [
          { type: "PodScheduled", status: "True" },
          { type: "example.com/x", status: "True" },
        ],
      },
    });

    const status = rejectedStatus(pod, { reason: "OutOfpods", message: "Pod was rejected: full", nowMs });

    expect(status).toMatchObject({
      phase: "Failed",
      reason: "OutOfpods",
      message: "Pod was rejected: full",
      startTime: now,
      observedGeneration: 3,
    });
    expect(status.conditions?.map(({ type }) => type)).toEqual(["example.com/x"]);
    expect(status.containerStatuses).toBeUndefined();
  });
});

describe("endedStatus", () => {
  test("fails a pod whose running containers are gone, and tells which never started", () => {
    const pod = newPod({
      spec: { containers: [container("app"), container("late")] },
      status: { phase: "Running", containerStatuses: [running("app")] },
    });

    const status = endedStatus(pod, { reason: "ProviderLost", message: "last seen at noon", hostIPs, nowMs });

    expect(status).toMatchObject({ phase: "Failed", reason: "ProviderLost", message: "last seen at noon" });
    expect(status.containerStatuses?.map(({ state }) => state)).toEqual([
      { terminated: { exitCode: 137, reason: "ProviderLost", message: "last seen at noon", startedAt: earlier, finishedAt: now } },
      { waiting: { reason: "ContainerCreating" } },
    ]);
  });

  test("ends a container between two runs as its last run ended", () => {
    const crashing = running("app", {
      ready: false,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 3, finishedAt: earlier } },
    });

    const status = endedStatus(newPod({ status: { phase: "Running", containerStatuses: [crashing] } }), { hostIPs, nowMs });

    expect(status.containerStatuses?.[0]).toMatchObject({ state: { terminated: { exitCode: 3 } }, lastState: {} });
    expect(status.reason).toBeUndefined();
  });

  test("lets a pod succeed whose containers had all ended well", () => {
    const pod = newPod({ status: { phase: "Running", containerStatuses: [running("app")] } });

    expect(endedStatus(pod, { reported: { containerStatuses: [exited("app", 0)] }, hostIPs, nowMs }).phase).toBe("Succeeded");
  });

  test("comes out the same when derived from what was written", () => {
    const pod = newPod({
      status: { phase: "Running", podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }], containerStatuses: [running("app")] },
    });
    const written = endedStatus(pod, { hostIPs, nowMs });

    const again = endedStatus({ ...pod, status: JSON.parse(JSON.stringify(written)) }, { hostIPs, nowMs: nowMs + 60_000 });

    expect(podStatusPatch({ ...pod, status: JSON.parse(JSON.stringify(written)) }, again)).toBeUndefined();
  });
});

test("a pod that waits is Pending, whatever its containers did before", () => {
  const pod = newPod({ status: { phase: "Running", containerStatuses: [running("app")] } });

  expect(waitingStatus(pod, { reason: "ProviderFailed", message: "m", hostIPs, nowMs }).phase).toBe("Pending");
});

test("a pod of which nobody says anything has a status all the same", () => {
  const why = { reason: "ProviderFailed", message: "m", hostIPs: [], nowMs };

  expect(waitingStatus({}, why)).toMatchObject({ phase: "Pending", reason: "ProviderFailed", message: "m", startTime: now });
  expect(derivePodStatus({ pod: {}, reported: {}, hostIPs: [], nowMs })).toMatchObject({ phase: "Pending", startTime: now });
  expect(rejectedStatus({}, why)).toMatchObject({ phase: "Failed", conditions: [] });
  expect(endedStatus({}, { hostIPs: [], nowMs }).phase).toBe("Succeeded");
});

test("a pod that had ended keeps phase, reason and message when it is rejected", () => {
  const status = rejectedStatus(newPod({ status: { phase: "Succeeded", reason: "Done", message: "well", startTime: earlier } }), {
    reason: "OutOfcpu",
    message: "no",
    nowMs,
  });

  expect(status).toMatchObject({ phase: "Succeeded", reason: "Done", message: "well", startTime: earlier });
});

test("the core's own conditions are shown beside the provider's", () => {
  const status = derivePodStatus({
    pod: newPod(),
    reported: { conditions: [{ type: "x/theirs", status: "True" }] },
    conditions: [{ type: "ProviderUpdateFailed", status: "True" }],
    hostIPs,
    nowMs,
  });

  expect(status.conditions?.map(({ type }) => type).slice(0, 2)).toEqual(["x/theirs", "ProviderUpdateFailed"]);
});

test("an init container that waits with its pod has the pod's reason, and an ephemeral one as well", () => {
  const pod = newPod({ spec: { containers: [container("app")], ephemeralContainers: [container("debug")] } });

  expect(waitingStatus(pod, { reason: "ProviderFailed", message: "m", hostIPs, nowMs }).ephemeralContainerStatuses).toMatchObject([
    { name: "debug", ready: false, restartCount: 0, state: { waiting: { reason: "ProviderFailed", message: "m" } } },
  ]);
});

test("a pod that is running but whose end is computed stays Running if it was, and else is Pending", () => {
  const spec = {
    restartPolicy: "Never",
    initContainers: [container("proxy", { restartPolicy: "Always" }), container("setup")],
    containers: [container("app")],
  };
  const reported = { initContainerStatuses: [running("proxy"), exited("setup", 1)] };

  expect(derive(newPod({ spec, status: { phase: "Running" } }), reported).phase).toBe("Running");
  expect(derive(newPod({ spec }), reported).phase).toBe("Pending");
});

test.each([
  ["an init container that runs", { initContainerStatuses: [running("setup")] }, "True"],
  ["a container that has ended", { containerStatuses: [exited("app", 1)] }, "True"],
  [
    "a container that waits for its next run",
    { containerStatuses: [running("app", { state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } })] },
    "True",
  ],
  ["an address", { podIP: "10.0.0.7" }, "True"],
  ["nothing yet", {}, "False"],
])("the pod's sandbox is taken to be there or not by %s", (_what, reported, expected) => {
  const pod = newPod({ spec: { initContainers: [container("setup")], containers: [container("app")] } });

  expect(conditionOf(derive(pod, reported), "PodReadyToStartContainers").status).toBe(expected);
});

test("a container that ran when its pod was lost has ended without anybody knowing how, unless a reason is given", () => {
  const pod = newPod({ status: { phase: "Running", containerStatuses: [running("app")] } });

  expect(endedStatus(pod, { hostIPs, nowMs }).containerStatuses?.[0]?.state?.terminated).toMatchObject({
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was terminated",
  });
});

test("a pod without a status yet is told which generation was acted on", () => {
  expect(derivePodStatus({ pod: { metadata: { generation: 2 } }, reported: {}, hostIPs, nowMs }).observedGeneration).toBe(2);
});
