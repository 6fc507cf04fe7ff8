import { expect, test } from "vitest";
import { dockerConfigSchema } from "./config.ts";

test("an empty configuration opens nothing of the machine", () => {
  const parsed = dockerConfigSchema.safeParse(undefined);

  expect(parsed).toMatchObject({
    success: true,
    data: {
      sandboxImage: "registry.k8s.io/pause:3.10",
      rootDirectory: "/var/lib/virtual-kubelet/docker",
      network: "bridge",
      policy: {},
      devices: {},
      gpus: "auto",
      log: { maxSize: "10m", maxFiles: 5 },
      cgroupsPerQOS: true,
      pulls: { parallel: 5, progressTimeoutSeconds: 300 },
    },
  });
  expect(parsed.success && parsed.data.imageCollection).toBeUndefined();
});

test.for<[what: string, config: object, path: string]>([
  ["an engine of another machine", { host: "ssh://me@there" }, "host"],
  ["the host's network as a pod's", { network: "host" }, "network"],
  ["a network of the engine beside network plugins", { cni: {}, network: "shop" }, "network"],
  ["a folder of plugins that is none", { cni: { binDirs: ["plugins"] } }, "cni.binDirs.0"],
  [
    "another container's network",
    { policy: { annotations: { "docker.virtual-kubelet.io/network": ["shop", "container:x"] } } },
    "policy.annotations.docker.virtual-kubelet.io/network.1",
  ],
  ["a cgroup that climbs", { cgroupParent: "/a/../b" }, "cgroupParent"],
  ["a relative folder", { rootDirectory: "data" }, "rootDirectory"],
  ["a folder that climbs", { policy: { hostPaths: ["/srv/../etc"] } }, "policy.hostPaths.0"],
  ["a name of another kubelet's shape", { namePrefix: "k8s_x" }, "namePrefix"],
  ["a log of no size", { log: { maxSize: "0m" } }, "log.maxSize"],
  ["an address that is none", { clusterDNS: ["dns.example"] }, "clusterDNS.0"],
  ["devices without a resource's name", { devices: { fuse: { paths: ["/dev/fuse"] } } }, "devices.fuse"],
  ["thresholds the wrong way round", { imageCollection: { highThresholdPercent: 70 } }, "imageCollection.lowThresholdPercent"],
  ["a signal that a kubelet does not have", { evictionHard: { "disk.available": "10%" } }, "evictionHard"],
  ["a threshold that is no amount", { evictionSoft: { "memory.available": "much" } }, "evictionSoft.memory.available"],
  [
    "a grace period that is no duration",
    { evictionSoftGracePeriod: { "memory.available": "90" } },
    "evictionSoftGracePeriod.memory.available",
  ],
  ["an enforcement that this node does not have", { enforceNodeAllocatable: ["system-reserved"] }, "enforceNodeAllocatable.0"],
  ["what is not a setting", { polcy: {} }, ""],
])("%s is refused, and named", ([, config, path]) => {
  const parsed = dockerConfigSchema.safeParse(config);

  expect(parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join("."))).toEqual([path]);
});

test("quantities may be numbers, and an empty collection takes a kubelet's thresholds", () => {
  expect(dockerConfigSchema.safeParse({ capacity: { pods: 20 }, imageCollection: {} })).toMatchObject({
    success: true,
    data: { capacity: { pods: "20" }, imageCollection: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeSeconds: 120 } },
  });
});
