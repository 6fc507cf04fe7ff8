import type { ProviderPodStatus } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { endedStatusOf, withReason } from "./ended-status.ts";

const endedMs = Date.parse("2026-01-01T00:05:00Z");
const pod = { metadata: { namespace: "vk", name: "web-1" } };
const main = { name: "main", image: "i", imageID: "", ready: true, restartCount: 1, containerID: "containerd://1" };
const running: ProviderPodStatus = {
  phase: "Running",
  podIP: "10.2.0.1",
  containerStatuses: [{ ...main, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } }],
  initContainerStatuses: [{ ...main, name: "init", ready: true, state: { terminated: { exitCode: 0 } } }],
  endsWhenGone: true,
};

test("a pod that somebody deleted in the far cluster has Failed, and its containers have ended", () => {
  const status = endedStatusOf(running, pod, { nowMs: endedMs });
  const message = "the far pod vk/web-1 was deleted in the far cluster, and not by its virtual node";

  expect(status).toMatchObject({ phase: "Failed", reason: "FarPodDeleted", message, podIP: "10.2.0.1", endsWhenGone: true });
  expect(status.containerStatuses?.[0]).toMatchObject({
    ready: false,
    restartCount: 1,
    state: {
      terminated: {
        exitCode: 137,
        reason: "ContainerStatusUnknown",
        containerID: "containerd://1",
        startedAt: "2026-01-01T00:00:00Z",
        finishedAt: "2026-01-01T00:05:00Z",
      },
    },
  });
  expect(status.initContainerStatuses).toEqual(running.initContainerStatuses);
});

test("its containers have not ended before they started, although the far cluster's clock is ahead", () => {
  const status = endedStatusOf(running, pod, { nowMs: Date.parse("2025-12-31T23:50:00Z") });

  expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:00:00Z",
  });
});

test.each(["PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC"])(
  "a pod that Kubernetes ended there has its reason: %s",
  (reason) => {
    const conditions = [{ type: "DisruptionTarget", status: "True", reason, message: "for a more important pod" }];

    expect(endedStatusOf({ ...running, conditions }, pod, { nowMs: endedMs })).toMatchObject({
      phase: "Failed",
      reason,
      message: "for a more important pod",
    });
  },
);

test("a disruption that was called off is no reason", () => {
  const conditions = [{ type: "DisruptionTarget", status: "False", reason: "PreemptionByScheduler" }];

  expect(endedStatusOf({ ...running, conditions }, pod, { nowMs: endedMs }).reason).toBe("FarPodDeleted");
});

test("a container that never ran keeps waiting", () => {
  const waiting = { ...main, ready: false, state: { waiting: { reason: "ImagePullBackOff" } } };

  expect(endedStatusOf({ phase: "Pending", containerStatuses: [waiting] }, pod, { nowMs: endedMs }).containerStatuses).toEqual([waiting]);
});

test.each(["Succeeded", "Failed"])("a pod that had ended before stays as it was: %s", (phase) => {
  const status = { ...running, phase, reason: "Evicted", message: "the node was low on memory" };

  expect(endedStatusOf(status, pod, { nowMs: endedMs })).toEqual(status);
});

test("a pod that restarts its containers has Failed, although they ended with code 0 when they were told to", () => {
  const restarts = { ...pod, spec: { restartPolicy: "Always", containers: [] } };
  const completed = { ...main, ready: false, state: { terminated: { exitCode: 0, reason: "Completed" } } };

  const status = endedStatusOf({ phase: "Succeeded", containerStatuses: [completed] }, restarts, { nowMs: endedMs });

  expect(status).toMatchObject({ phase: "Failed", reason: "FarPodDeleted", containerStatuses: [completed] });
});

test("a pod that has Failed without a reason of its own has that of its disruption", () => {
  const conditions = [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: "memory pressure" }];

  expect(withReason({ phase: "Failed", conditions })).toMatchObject({ reason: "TerminationByKubelet", message: "memory pressure" });
  expect(withReason({ phase: "Running", conditions }).reason).toBeUndefined();
  expect(withReason({ phase: "Failed", reason: "Evicted", conditions }).reason).toBe("Evicted");
});
