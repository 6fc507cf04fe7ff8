import { evictionRules } from "@virtual-kubelet/pod-runtime";
import { expect, test } from "vitest";
import type { EngineFacts } from "../engine/engine-facts.ts";
import { describeNode, nodeResources } from "./node-description.ts";
import { isSameObject, objectName } from "../engine/object-names.ts";
import { containerSpec, sandboxSpec } from "../test-support/specs.ts";

const facts: EngineFacts = {
  id: "e",
  apiVersion: "1.41",
  serverVersion: "20.10.24",
  cpus: 4,
  memoryBytes: 8 * 1024 ** 3,
  architecture: "amd64",
  operatingSystem: "Debian",
  kernelVersion: "6.1",
  rootDirectory: "/var/lib/docker",
  runtimes: ["runc", "io.containerd.runc.v2", "not a label/"],
  cgroupDriver: "systemd",
  cgroupVersion: "2",
  controls: { memory: true, swap: true, cpuQuota: true, cpuShares: true, pids: true },
  hasAppArmor: true,
  hasSeccomp: true,
  isRootless: false,
  isPodman: false,
};

const nothingReserved = { kubeReserved: {}, systemReserved: {} };

const machine = {
  machineID: "m",
  systemUUID: "s",
  bootID: "b",
  hugePages: { "hugepages-1Gi": 0, "hugepages-2Mi": 2 ** 22 },
  maxProcesses: 32_768,
};

test("a node is as large as its machine, with its GPUs, devices and runtimes", () => {
  const config = { ...nothingReserved, capacity: { pods: "20" }, devices: { "example.com/fuse": { paths: ["/dev/fuse"] } } };
  const capacity = {
    cpu: "4",
    memory: "8388608Ki",
    pods: "20",
    "ephemeral-storage": "10485760Ki",
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "4096Ki",
    "nvidia.com/gpu": "2",
    "example.com/fuse": "100",
  };

  const images = [{ names: ["app:1"], sizeBytes: 5 }];

  expect(
    describeNode({ facts, config, gpus: ["a", "b"], diskBytes: 10 * 1024 ** 3, machine, images, thresholds: [], conditions: [] }),
  ).toEqual({
    capacity,
    allocatable: capacity,
    conditions: [],
    operatingSystem: "linux",
    architecture: "amd64",
    labels: { "runtime.docker.virtual-kubelet.io/runc": "true", "runtime.docker.virtual-kubelet.io/io.containerd.runc.v2": "true" },
    declaredFeatures: ["InPlacePodLevelResourcesVerticalScaling"],
    containerRuntimeVersion: "docker://20.10.24",
    osImage: facts.operatingSystem,
    kernelVersion: facts.kernelVersion,
    machineID: "m",
    systemUUID: "s",
    bootID: "b",
    images,
  });
});

const none = { machineID: "", systemUUID: "", bootID: "", hugePages: {}, maxProcesses: undefined };

test("without GPUs, devices and a disk that can be seen the node has none", () => {
  expect(
    Object.keys(
      nodeResources({ facts, config: { ...nothingReserved, capacity: {}, devices: {} }, gpus: [], machine: none, thresholds: [] }).capacity,
    ),
  ).toEqual(["cpu", "memory", "pods"]);
});

test("pods may ask for what is neither reserved nor kept free, and use what is not reserved", () => {
  const config = { capacity: {}, devices: {}, kubeReserved: { memory: "1Gi", cpu: "500m" }, systemReserved: { memory: "512Mi", cpu: "1" } };
  const { thresholds } = evictionRules({}, { isAllocatableEnforced: true });

  const found = nodeResources({ facts, config, gpus: [], diskBytes: 10 * 1024 ** 3, machine, thresholds });

  expect(found).toMatchObject({
    allocatable: { cpu: "2500m", memory: "6556Mi", "ephemeral-storage": "9Gi", pods: "110" },
    enforced: { cpu: "2500m", memory: "6656Mi", "ephemeral-storage": "10485760Ki", pods: "110" },
  });
});

test("names tell pod and start, and only the same start of the same container is the same", () => {
  const container = containerSpec().labels;

  expect(objectName(container, "vk")).toBe("vk_app_web_shop_u1_0");
  expect(objectName(sandboxSpec().labels, "vk")).toBe("vk_POD_web_shop_u1_0");
  expect(isSameObject(container, { ...container, "virtual-kubelet.io/spec-hash": "other" })).toBe(true);
  for (const label of ["virtual-kubelet.io/attempt", "virtual-kubelet.io/node", "io.kubernetes.pod.uid", "io.kubernetes.container.name"])
    expect(isSameObject(container, { ...container, [label]: "other" })).toBe(false);
});
