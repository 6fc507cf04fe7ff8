import type { ContainerStatus, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { DroppedFields } from "./dropped-fields.ts";

const base = { name: "app", image: "", imageID: "", ready: true, restartCount: 0, state: { running: {} } };
const device = { resourceID: "gpu-1", health: "Unhealthy" };
const mount = { name: "data", mountPath: "/data" };
const container: ContainerStatus = {
  ...base,
  allocatedResourcesStatus: [{ name: "example.com/gpu", resources: [{ ...device, message: "hot" }] }],
  volumeMounts: [{ ...mount, volumeStatus: { image: { imageRef: "image@sha256:1" } } }],
};
const lists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] as const;
const inLists = (status: ContainerStatus): PodStatus => Object.fromEntries(lists.map((list) => [list, [status]]));
const wanted: PodStatus = {
  phase: "Running",
  ...inLists(container),
  resources: { limits: { cpu: "1" } },
  allocatedResources: { cpu: "1" },
};

const { allocatedResourcesStatus: _devices, ...withoutDevices } = container;
const { resources: _resources, allocatedResources: _allocated, ...withoutPodLevel } = wanted;

/** Returns the status as JSON, as the API server would store it. */
function read(status: unknown): unknown {
  return JSON.parse(JSON.stringify(status));
}

test.each<[string, PodStatus, readonly string[]]>([
  ["pod-level resources", withoutPodLevel, ["resources", "allocatedResources"]],
  [
    "the health of devices",
    { ...wanted, ...inLists(withoutDevices) },
    ["containerStatuses.allocatedResourcesStatus", "containerStatuses.allocatedResourcesStatus.resources.message"],
  ],
  [
    "messages on the health of devices",
    { ...wanted, ...inLists({ ...container, allocatedResourcesStatus: [{ name: "example.com/gpu", resources: [device] }] }) },
    ["containerStatuses.allocatedResourcesStatus.resources.message"],
  ],
  [
    "images of volumes",
    { ...wanted, ...inLists({ ...container, volumeMounts: [mount] }) },
    ["containerStatuses.volumeMounts.volumeStatus"],
  ],
])("an API server that drops %s is recognized, and they are no longer wanted", (_what, status, fields) => {
  const dropped = new DroppedFields();
  const stored: Pod = { status };

  expect(dropped.strip(wanted)).toBe(wanted);
  expect(dropped.learn(stored, wanted)).toEqual(fields);
  expect(read(dropped.strip(wanted))).toEqual(read(status));
  expect(dropped.strip(undefined)).toBeUndefined();

  dropped.forget();
  expect(dropped.strip(wanted)).toBe(wanted);
});

test("fields that the API server has elsewhere are not dropped, and neither is what others change", () => {
  const dropped = new DroppedFields();

  expect(dropped.learn({ status: { ...wanted, phase: "Pending" } }, wanted)).toEqual([]);
  expect(dropped.learn({ status: { ...withoutPodLevel, phase: "Pending" } }, wanted)).toEqual([]);
  expect(dropped.learn({ status: { ...wanted, containerStatuses: [withoutDevices] } }, wanted)).toEqual([]);
  expect(dropped.strip(wanted)).toBe(wanted);
});
