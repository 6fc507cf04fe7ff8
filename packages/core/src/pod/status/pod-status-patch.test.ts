import { ConflictError, InvalidInputError } from "@virtual-kubelet/errdefs";
import { ApiError, type Pod, type PodStatus } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { isOtherPod, podStatusPatch } from "./pod-status-patch.ts";

const earlier = "2026-05-01T11:00:00Z";
const later = "2026-05-01T12:00:00Z";

function stored(status: PodStatus): Pod {
  return { metadata: { name: "web", namespace: "default", uid: "uid-1", resourceVersion: "7" }, status };
}

describe("podStatusPatch", () => {
  test("holds the pod's UID and only the fields that differ", () => {
    const pod = stored({ phase: "Running", qosClass: "BestEffort", startTime: earlier });

    expect(podStatusPatch(pod, { phase: "Running", podIP: "10.0.0.1", startTime: earlier })).toEqual({
      metadata: { uid: "uid-1" },
      status: { podIP: "10.0.0.1" },
    });
  });

  test("binds a new phase to the version that it replaces", () => {
    const pod = stored({ phase: "Pending", startTime: earlier });

    expect(podStatusPatch(pod, { phase: "Running", startTime: earlier })).toEqual({
      metadata: { uid: "uid-1", resourceVersion: "7" },
      status: { phase: "Running" },
    });
  });

  test("is nothing when nothing differs: absent, null and empty are alike, and so are two ways to write a time", () => {
    const conditions = [{ type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: earlier }];
    const pod = stored(
      JSON.parse(JSON.stringify({ phase: "Running", startTime: "2026-05-01T13:00:00+02:00", reason: null, conditions, podIPs: [] })),
    );

    expect(
      podStatusPatch(pod, {
        phase: "Running",
        startTime: earlier,
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: earlier }],
      }),
    ).toBeUndefined();
  });

  test("removes fields of ours that vanished, and leaves those of others alone", () => {
    const pod = stored({
      phase: "Pending",
      reason: "ProviderFailed",
      message: "no",
      hostIP: "192.0.2.1",
      hostIPs: [{ ip: "192.0.2.1" }],
      nominatedNodeName: "other",
    });

    expect(podStatusPatch(pod, { phase: "Pending" })?.["status"]).toEqual({ reason: null, message: null, hostIP: null, hostIPs: null });
  });

  test("sends of the pod's resources what changed, and null for what vanished", () => {
    const pod = stored({ resources: { requests: { cpu: "1" }, limits: { cpu: "2", memory: "1Gi" } }, allocatedResources: { cpu: "1" } });
    const wanted = { resources: { requests: { cpu: "1" }, limits: { cpu: "3" } }, allocatedResources: { memory: "1Gi" } };

    expect(podStatusPatch(pod, wanted)?.["status"]).toEqual({
      resources: { limits: { cpu: "3", memory: null } },
      allocatedResources: { cpu: null, memory: "1Gi" },
    });
    expect(podStatusPatch(pod, { ...pod.status, resources: undefined })?.["status"]).toEqual({ resources: null });
  });

  test("sends of a condition what changed, null for what vanished, and the order", () => {
    const pod = stored({
      conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady", message: "x", lastTransitionTime: earlier }],
    });
    const wanted = {
      conditions: [
        { type: "Initialized", status: "True" },
        { type: "Ready", status: "True", lastTransitionTime: later },
      ],
    };

    expect(podStatusPatch(pod, wanted)?.["status"]).toEqual({
      conditions: [
        { type: "Initialized", status: "True" },
        { type: "Ready", status: "True", reason: null, message: null, lastTransitionTime: later },
      ],
      "$setElementOrder/conditions": [{ type: "Initialized" }, { type: "Ready" }],
    });
  });

  test("deletes vanished conditions of ours and no others", () => {
    const pod = stored({
      conditions: [
        { type: "PodScheduled", status: "True" },
        { type: "example.com/x", status: "True" },
      ],
    });

    expect(podStatusPatch(pod, { conditions: [] })?.["status"]).toMatchObject({ conditions: [{ $patch: "delete", type: "PodScheduled" }] });
  });

  test("replaces addresses by key, and can change nothing but their order", () => {
    const pod = stored({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] });

    expect(podStatusPatch(pod, { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }, { ip: "fd00::1" }] })?.["status"]).toEqual({
      podIP: "10.0.0.2",
      podIPs: [{ ip: "10.0.0.2" }, { $patch: "delete", ip: "10.0.0.1" }],
      "$setElementOrder/podIPs": [{ ip: "10.0.0.2" }, { ip: "fd00::1" }],
    });
    expect(podStatusPatch(pod, { podIP: "fd00::1", podIPs: [{ ip: "fd00::1" }, { ip: "10.0.0.1" }] })?.["status"]).toEqual({
      podIP: "fd00::1",
      podIPs: [],
      "$setElementOrder/podIPs": [{ ip: "fd00::1" }, { ip: "10.0.0.1" }],
    });
  });

  test("sends a list of container statuses whole, as the server takes it", () => {
    const status = { name: "app", image: "app:1", imageID: "", ready: true, restartCount: 0 };
    const pod = stored({ containerStatuses: [status, { ...status, name: "b" }] });

    expect(
      podStatusPatch(pod, {
        containerStatuses: [
          { ...status, restartCount: 1 },
          { ...status, name: "b" },
        ],
      })?.["status"],
    ).toEqual({
      containerStatuses: [
        { ...status, restartCount: 1 },
        { ...status, name: "b" },
      ],
    });
  });
});

describe("isOtherPod", () => {
  test("knows the API server's ways to say that the UID is another", () => {
    const status = { code: 422, reason: "Invalid", details: { causes: [{ field: "metadata.uid", reason: "FieldValueInvalid" }] } };

    expect(isOtherPod(new InvalidInputError("patch", { cause: new ApiError(status) }))).toBe(true);
    expect(isOtherPod(new ConflictError("patch"))).toBe(true);
    expect(
      isOtherPod(new InvalidInputError("patch", { cause: new ApiError({ code: 422, details: { causes: [{ field: "status.podIPs" }] } }) })),
    ).toBe(false);
  });
});

test("resources of which nothing is held are sent whole, and so are limits beside requests", () => {
  const wanted = { resources: { requests: { cpu: "1" }, limits: { cpu: "2" } }, allocatedResources: { cpu: "1" } };

  expect(podStatusPatch(stored({}), wanted)?.["status"]).toEqual(wanted);
  expect(podStatusPatch(stored({ resources: { requests: { cpu: "1" } } }), wanted)?.["status"]).toEqual({
    resources: { limits: { cpu: "2" } },
    allocatedResources: { cpu: "1" },
  });
});

test.each([
  ["startTime", earlier, later],
  ["observedGeneration", 1, 2],
  ["hostIP", "192.0.2.1", "192.0.2.2"],
  ["podIP", "10.0.0.1", "10.0.0.2"],
  ["reason", "A", "B"],
  ["message", "a", "b"],
  ["initContainerStatuses", [{ name: "a" }], [{ name: "b" }]],
  ["containerStatuses", [{ name: "a" }], [{ name: "b" }]],
  ["ephemeralContainerStatuses", [{ name: "a" }], [{ name: "b" }]],
])("%s is ours to change, and to take away", (field, before, after) => {
  expect(podStatusPatch(stored({ [field]: before }), { [field]: after })?.["status"]).toEqual({ [field]: after });
  expect(podStatusPatch(stored({ [field]: before }), {})?.["status"]).toEqual({ [field]: null });
});

test.each([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizePending",
  "PodResizeInProgress",
  "AllContainersRestarting",
  "ProviderUpdateFailed",
])("the condition %s is ours to take away", (type) => {
  expect(podStatusPatch(stored({ conditions: [{ type, status: "True" }] }), {})?.["status"]).toEqual({
    conditions: [{ $patch: "delete", type }],
    "$setElementOrder/conditions": [],
  });
});
