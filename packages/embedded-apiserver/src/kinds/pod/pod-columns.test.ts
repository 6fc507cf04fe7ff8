import { describe, expect, test } from "vitest";
import type { ApiObject } from "../kind.ts";
import { podColumns, summarizePod } from "./pod-columns.ts";
import type { ContainerState, ContainerStatus, PodSpec, PodStatus } from "./pod-fields.ts";

const nowMs = Date.UTC(2026, 0, 1, 12);
const finishedAt = "2026-01-01T11:59:30Z";
const running: ContainerState = { running: { startedAt: "2026-01-01T11:00:00Z" } };
const ready = { type: "Ready", status: "True" };

function pod(status: PodStatus, spec: Partial<PodSpec> = {}, metadata: object = {}): ApiObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", uid: "1", resourceVersion: "1", creationTimestamp: "2026-01-01T11:50:00Z", ...metadata },
    spec: { containers: [{ name: "main", resources: {} }], ...spec },
    status,
  };
}

function container(state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: "main", state, lastState: {}, ready: state.running !== undefined, restartCount: 0, image: "", imageID: "", ...more };
}

function cells(object: ApiObject): unknown[] {
  return podColumns.map((column) => column.cell(object, nowMs));
}

describe("kubectl get pods", () => {
  test("shows a new pod as Pending", () => {
    expect(cells(pod({ phase: "Pending" }))).toEqual(["web", "0/1", "Pending", "0", "10m", "<none>", "<none>", "<none>", "<none>"]);
  });

  test("shows a running pod with its address, node and gates", () => {
    const status: PodStatus = {
      phase: "Running",
      containerStatuses: [container(running)],
      conditions: [ready, { type: "lb", status: "True" }],
      podIPs: [{ ip: "10.0.0.1" }],
    };

    const object = pod(status, { nodeName: "n1", readinessGates: [{ conditionType: "lb" }, { conditionType: "dns" }] });

    expect(cells(object)).toEqual(["web", "1/1", "Running", "0", "10m", "10.0.0.1", "n1", "<none>", "1/2"]);
  });

  test("shows when the last restart was", () => {
    const lastState = { terminated: { exitCode: 1, finishedAt } };
    const object = pod({
      phase: "Running",
      containerStatuses: [container({ waiting: { reason: "CrashLoopBackOff" } }, { restartCount: 3, lastState })],
    });

    expect(cells(object).slice(1, 4)).toEqual(["0/1", "CrashLoopBackOff", "3 (30s ago)"]);
  });
});

describe("summarizePod", () => {
  const sidecar = { name: "proxy", restartPolicy: "Always", resources: {} };

  test.each<[string, PodStatus, Partial<PodSpec>, string]>([
    [
      "an ended container",
      { phase: "Succeeded", containerStatuses: [container({ terminated: { exitCode: 0, reason: "Completed" } })] },
      {},
      "Completed",
    ],
    [
      "a failed container",
      { phase: "Failed", containerStatuses: [container({ terminated: { exitCode: 1, reason: "Error" } })] },
      {},
      "Error",
    ],
    [
      "an exit code without a reason",
      { phase: "Failed", containerStatuses: [container({ terminated: { exitCode: 7 } })] },
      {},
      "ExitCode:7",
    ],
    [
      "a signal without a reason",
      { phase: "Failed", containerStatuses: [container({ terminated: { exitCode: 137, signal: 9 } })] },
      {},
      "Signal:9",
    ],
    ["an evicted pod", { phase: "Failed", reason: "Evicted" }, {}, "Evicted"],
    [
      "a gated pod",
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
      {},
      "SchedulingGated",
    ],
    [
      "one of two containers at work, pod ready",
      {
        phase: "Running",
        conditions: [ready],
        containerStatuses: [container({ terminated: { exitCode: 0, reason: "Completed" } }), container(running, { name: "b" })],
      },
      {},
      "Running",
    ],
    [
      "one of two containers at work, pod not ready",
      {
        phase: "Running",
        containerStatuses: [container({ terminated: { exitCode: 0, reason: "Completed" } }), container(running, { name: "b" })],
      },
      {},
      "NotReady",
    ],
    [
      "an init container at work",
      {
        phase: "Pending",
        initContainerStatuses: [container(running, { name: "init" })],
        containerStatuses: [container({ waiting: { reason: "PodInitializing" } })],
      },
      { initContainers: [{ name: "init", resources: {} }] },
      "Init:0/1",
    ],
    [
      "a failing init container",
      { phase: "Pending", initContainerStatuses: [container({ waiting: { reason: "CrashLoopBackOff" } }, { name: "init" })] },
      { initContainers: [{ name: "init", resources: {} }] },
      "Init:CrashLoopBackOff",
    ],
    [
      "a failed init container",
      { phase: "Failed", initContainerStatuses: [container({ terminated: { exitCode: 2 } }, { name: "init" })] },
      { initContainers: [{ name: "init", resources: {} }] },
      "Init:ExitCode:2",
    ],
  ])("calls %s by its reason", (_, status, spec, text) => {
    expect(summarizePod(pod(status, spec)).status).toBe(text);
  });

  test("counts sidecars as containers", () => {
    const status: PodStatus = {
      phase: "Running",
      initContainerStatuses: [container(running, { name: "proxy", started: true, restartCount: 2 })],
      containerStatuses: [container(running)],
    };

    expect(summarizePod(pod(status, { initContainers: [sidecar] }))).toMatchObject({ ready: 2, total: 2, status: "Running", restarts: 2 });
  });

  test("shows a deleted pod as Terminating until it has finished", () => {
    const deleted = { deletionTimestamp: "2026-01-01T11:59:00Z" };

    expect(summarizePod(pod({ phase: "Running" }, {}, deleted)).status).toBe("Terminating");
    expect(summarizePod(pod({ phase: "Succeeded" }, {}, deleted)).status).toBe("Succeeded");
    expect(summarizePod(pod({ phase: "Running", reason: "NodeLost" }, {}, deleted)).status).toBe("Unknown");
  });
});
