import type { ContainerStatus, PodCondition } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ProviderPodStatus } from "../provider/pod-lifecycle.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { running } from "../test-support/scripted-provider.ts";

const pending = { type: "PodResizePending", status: "True", reason: "Deferred", message: "the machine is full" };

/** What a kubelet writes of a container, with every field. */
const whole: ContainerStatus = {
  name: "main",
  image: "docker.io/library/busybox:1.37",
  imageID: "docker.io/library/busybox@sha256:1",
  containerID: "containerd://1",
  ready: true,
  started: true,
  restartCount: 4,
  state: { running: { startedAt: "2026-01-01T00:05:00Z" } },
  lastState: {
    terminated: {
      exitCode: 1,
      reason: "Error",
      message: "it crashed",
      startedAt: "2026-01-01T00:00:00Z",
      finishedAt: "2026-01-01T00:04:00Z",
      containerID: "containerd://0",
    },
  },
  resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" }, claims: [{ name: "gpu", request: "one" }] },
  allocatedResources: { cpu: "500m", memory: "1Gi" },
  allocatedResourcesStatus: [{ name: "claim:gpu/one", resources: [{ resourceID: "gpu-1", health: "Unhealthy", message: "hot" }] }],
  volumeMounts: [
    { name: "data", mountPath: "/data" },
    { name: "kube-api-access-x7b2k", mountPath: "/token", readOnly: true, recursiveReadOnly: "Disabled" },
  ],
  user: { linux: { uid: 0, gid: 0, supplementalGroups: [0, 10] } },
  stopSignal: "SIGTERM",
};

test("every field of a container's status that a kubelet behind the provider wrote is shown, and written once", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web", (pod) => {
    for (const container of pod.spec?.containers ?? []) container.resources = { claims: [{ name: "gpu", request: "one" }] };
  });
  rig.provider.report(ref, { ...running(["main"]), containerStatuses: [whole] });
  await rig.settle(2_000);

  expect(rig.pod("web")?.status?.containerStatuses).toEqual([whole]);
  expect(rig.warnings).toEqual([]);
  const patches = rig.client.callsOf("patch", "pods", "status").length;
  rig.provider.report(ref, { ...running(["main"]), containerStatuses: [whole] });
  await rig.settle(600_000);
  expect(rig.client.callsOf("patch", "pods", "status").length).toBe(patches);
});

test("a claim that only the pod at the back end has does not cost the pod its status, and is logged once", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web");
  for (const restartCount of [4, 5]) rig.provider.report(ref, { ...running(["main"]), containerStatuses: [{ ...whole, restartCount }] });
  await rig.settle(2_000);

  const { allocatedResourcesStatus: _, ...shown } = whole;
  expect(rig.pod("web")?.status?.containerStatuses).toEqual([{ ...shown, restartCount: 5 }]);
  expect(rig.warnings).toEqual(["provider reported values that the API server would refuse; they are left out of the pod's status"]);
});

test("times and the address of the other machine are shown", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web");
  const ready: PodCondition = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:05:10Z" };
  rig.provider.report(ref, { ...running(["main"]), hostIP: "198.51.100.7", hostIPs: [{ ip: "198.51.100.7" }], conditions: [ready] });
  await rig.settle(2_000);

  const { hostIP, conditions } = rig.pod("web")?.status ?? {};
  expect(hostIP).toBe("198.51.100.7");
  expect(conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime).toBe("2026-01-01T00:05:10Z");
});

describe("a pod with restartPolicy Always that others ended at the back end", () => {
  const evicted: ProviderPodStatus = {
    ...running(["main"]),
    phase: "Failed",
    reason: "Evicted",
    message: "The node was low on resource: memory.",
    conditions: [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: "low on memory" }],
    endsWhenGone: true,
  };

  test("has Failed with their reason, and is not created again when the back end has removed it", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", (pod) => {
      if (pod.spec) pod.spec.restartPolicy = "Always";
    });
    rig.provider.report(ref, evicted);
    rig.provider.lose(ref);
    await rig.settle(600_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." });
    expect(rig.pod("web")?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", reason: "TerminationByKubelet" }),
    );
    expect(rig.provider.given).toHaveLength(1);
  });

  test("stays Failed when the program starts again and the back end lacks it", async () => {
    const before = await new NodeRig().start();
    const ref = await before.createPod("web", (pod) => {
      if (pod.spec) pod.spec.restartPolicy = "Always";
    });
    before.provider.report(ref, evicted);
    await before.settle(2_000);
    before.abort.abort();
    await before.settle(5_000);
    before.provider.held.clear();
    await using rig = await new NodeRig({ after: before }).start();
    await rig.settle(600_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted" });
    expect(rig.provider.given).toHaveLength(1);
  });
});

describe("a resize that waits at the back end", () => {
  const resizes = (rig: NodeRig): string[] =>
    (rig.pod("web")?.status?.conditions ?? [])
      .filter(({ type }) => type.startsWith("PodResize"))
      .map(({ type, reason, message }) => `${type} ${reason} ${message}`);

  test("is shown as the back end says, while it says so", async () => {
    await using rig = await new NodeRig({ capabilities: { restarts: true, resize: true } }).start();
    const ref = await rig.createPod("web");
    rig.provider.report(ref, { ...running(["main"]), conditions: [pending] });
    await rig.settle(2_000);
    expect(resizes(rig)).toEqual(["PodResizePending Deferred the machine is full"]);

    rig.provider.report(ref, { ...running(["main"]), conditions: [{ ...pending, reason: "Infeasible" }] });
    await rig.settle(2_000);
    expect(resizes(rig)).toEqual(["PodResizePending Infeasible the machine is full"]);

    rig.provider.report(ref, running(["main"]));
    await rig.settle(2_000);
    expect(resizes(rig)).toEqual([]);
  });

  test("is told to the provider once more after a restart of the program, and stays shown", async () => {
    const resources = { requests: { cpu: "1" }, limits: { cpu: "1" } };
    const status = { ...running(["main"]), conditions: [pending] };
    const containerStatuses = (status.containerStatuses ?? []).map((each) => ({ ...each, resources }));
    const rigOptions = { capabilities: { restarts: true, resize: true } };
    const before = await new NodeRig(rigOptions).start();
    const ref = await before.createPod("web", (pod) => {
      for (const container of pod.spec?.containers ?? []) container.resources = { requests: { cpu: "2" }, limits: { cpu: "2" } };
    });
    before.provider.report(ref, { ...status, containerStatuses });
    await before.settle(2_000);
    before.abort.abort();
    await before.settle(5_000);
    await using rig = await new NodeRig({ ...rigOptions, after: before }).start();
    await rig.settle(600_000);

    expect(rig.provider.calls.filter((call) => call.startsWith("updatePod"))).toEqual(["updatePod web"]);
    expect(resizes(rig)).toEqual(["PodResizePending Deferred the machine is full"]);
  });
});
