import type { Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { addressMap } from "./address-map.ts";
import { podStatusOf, type StatusView } from "./pod-status.ts";

const same: StatusView = { addresses: addressMap("same"), hostIPs: "node" };

function statusOf(status: NonNullable<Pod["status"]>, view: Partial<StatusView> = {}) {
  return podStatusOf({ status }, { ...same, ...view });
}

test("what the far kubelet says of containers comes back whole", () => {
  const status = {
    name: "main",
    image: "registry.example/main:1",
    imageID: "sha256:1",
    containerID: "containerd://1",
    ready: true,
    started: true,
    restartCount: 3,
    state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    lastState: { terminated: { exitCode: 137, reason: "OOMKilled", containerID: "containerd://0" } },
    resources: { requests: { cpu: "100m" } },
    allocatedResources: { cpu: "100m" },
    user: { linux: { uid: 1000, gid: 1000 } },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  const lists = { containerStatuses: [status], initContainerStatuses: [status], ephemeralContainerStatuses: [status] };
  const resources = { resources: { requests: { cpu: "100m" } }, allocatedResources: { cpu: "100m" } };

  expect(statusOf({ phase: "Running", ...lists, ...resources })).toMatchObject({ phase: "Running", ...lists, ...resources });
});

test("a deleted pod stays until the far cluster has freed what it used", () => {
  expect(statusOf({ phase: "Running" }).endsWhenGone).toBe(true);
});

test("what concerns the place in the far cluster stays there", () => {
  const status = statusOf({ phase: "Pending", qosClass: "Burstable", nominatedNodeName: "far-node-7", observedGeneration: 4 });

  expect(Object.keys(status)).not.toEqual(expect.arrayContaining(["qosClass"]));
  expect(JSON.stringify(status)).not.toMatch(/Burstable|far-node-7|observedGeneration/);
});

describe("a pod that the far scheduler has not placed", () => {
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 2,
  };

  test("shows why, as the pod's reason and as a condition of its own type", () => {
    const status = statusOf({ phase: "Pending", conditions: [condition] });

    expect(status).toMatchObject({ phase: "Pending", reason: "Unschedulable", message: `far cluster: ${condition.message}` });
    expect(status.conditions).toEqual([
      {
        type: "virtual-kubelet.io/FarScheduled",
        status: "False",
        reason: "Unschedulable",
        message: condition.message,
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ]);
  });

  test("has no such reason any more once it is placed", () => {
    const status = statusOf({ phase: "Running", conditions: [{ type: "PodScheduled", status: "True" }] });

    expect(status).toMatchObject({ reason: undefined, message: undefined });
    expect(status.conditions).toEqual([{ type: "virtual-kubelet.io/FarScheduled", status: "True" }]);
  });

  test("keeps a reason that the far kubelet gave", () => {
    expect(statusOf({ phase: "Pending", reason: "NodeLost", conditions: [condition] }).reason).toBe("NodeLost");
  });
});

test("conditions of kubelets, of controllers and of the far cluster's own software come back", () => {
  const types = ["PodReadyToStartContainers", "DisruptionTarget", "PodResizeInProgress", "example.com/gate"];
  const conditions = types.map((type) => ({ type, status: "True" }));

  expect(statusOf({ conditions }).conditions).toEqual(conditions);
});

test("a pod whose far node does not answer is not ready, and says so", () => {
  const conditions = [
    { type: "ContainersReady", status: "True" },
    { type: "Ready", status: "False" },
  ];

  expect(statusOf({ phase: "Running", conditions }).conditions).toContainEqual({
    type: "Ready",
    status: "False",
    reason: "FarNodeLost",
    message: expect.stringContaining("does not answer"),
  });
});

describe("addresses", () => {
  const status = {
    podIP: "10.2.3.4",
    podIPs: [{ ip: "10.2.3.4" }, { ip: "fd00:2::4" }],
    hostIP: "10.0.0.7",
    hostIPs: [{ ip: "10.0.0.7" }],
  };

  test("of one network come back as they are, with the virtual node's as the host's", () => {
    expect(statusOf(status)).toMatchObject({ podIP: "10.2.3.4", podIPs: status.podIPs });
    expect(statusOf(status)).not.toHaveProperty("hostIP");
  });

  test("are translated by the ranges of a NAT, and one that has none is left out", () => {
    const addresses = addressMap([{ far: "fd00:2::/64", home: "fd00:99::/64" }]);

    expect(statusOf(status, { addresses })).toMatchObject({ podIP: "fd00:99::4", podIPs: [{ ip: "fd00:99::4" }] });
  });

  test("that home cannot reach are left out", () => {
    expect(statusOf(status, { addresses: addressMap("none") })).toMatchObject({ podIP: undefined, podIPs: undefined });
  });

  test("of the far node are the host's if that is configured", () => {
    expect(statusOf(status, { hostIPs: "far" })).toMatchObject({ hostIP: "10.0.0.7", hostIPs: [{ ip: "10.0.0.7" }] });
  });

  test("of an old kubelet, which has only one, come back too", () => {
    expect(statusOf({ podIP: "10.2.3.4" })).toMatchObject({ podIP: "10.2.3.4", podIPs: [{ ip: "10.2.3.4" }] });
  });
});

test("a far pod without a status has none here", () => {
  expect(podStatusOf({}, same)).toMatchObject({ phase: undefined, conditions: [], endsWhenGone: true });
});
