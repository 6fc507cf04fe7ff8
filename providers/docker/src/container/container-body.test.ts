import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { ContainerCreateOptions } from "dockerode";
import { expect, test } from "vitest";
import { containerSpec, podWith } from "../test-support/specs.ts";
import { containerBody, logConfig, type ContainerBodyOptions } from "./container-body.ts";

const options: ContainerBodyOptions = {
  sandboxId: "s1",
  engine: { apiVersion: "1.41", hasAppArmor: true, isPodman: false },
  gpus: [],
  devices: [],
  canLowerOomScore: true,
  log: { maxSize: "10m", maxFiles: 5 },
};

function body(
  pod: Parameters<typeof podWith>[0],
  container: Parameters<typeof podWith>[1] = {},
  more: Partial<ContainerBodyOptions> = {},
): ContainerCreateOptions {
  return containerBody(containerSpec(podWith(pod, container)), { ...options, ...more });
}

test("a plain container joins its sandbox, and leaves restarts, checks and first processes to us", () => {
  expect(body({})).toEqual({
    Image: "app@sha256:1",
    Env: [],
    Labels: {
      "io.kubernetes.container.name": "app",
      "io.kubernetes.pod.name": "web",
      "io.kubernetes.pod.namespace": "shop",
      "io.kubernetes.pod.uid": "u1",
      "io.kubernetes.sandbox.id": "s1",
      "virtual-kubelet.io/attempt": "0",
      "virtual-kubelet.io/cluster": "cluster",
      // An image may have labels of these names.
      "virtual-kubelet.io/gpus": "",
      "virtual-kubelet.io/lifecycle": "",
      "virtual-kubelet.io/resources": "",
      "virtual-kubelet.io/image": "app:1",
      "virtual-kubelet.io/image-id": "app@sha256:1",
      "virtual-kubelet.io/node": "node",
      "virtual-kubelet.io/spec-hash": "h",
    },
    Tty: false,
    OpenStdin: false,
    StdinOnce: false,
    AttachStdin: false,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      NetworkMode: "container:s1",
      IpcMode: "container:s1",
      PidMode: "",
      RestartPolicy: { Name: "no" },
      Init: false,
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "5" } },
      OomScoreAdj: 1000,
      Privileged: false,
      CapAdd: [],
      CapDrop: [],
      SecurityOpt: [],
      ReadonlyRootfs: false,
      Mounts: [],
      GroupAdd: [],
    },
  });
});

test.for<[what: string, command: string[], args: string[], body: object]>([
  ["neither", [], [], {}],
  ["arguments alone, after the image's command", [], ["a"], { Cmd: ["a"] }],
  ["a command alone, without the image's arguments", ["c"], [], { Entrypoint: ["c"], Cmd: [] }],
  ["both", ["c"], ["a"], { Entrypoint: ["c"], Cmd: ["a"] }],
])("command line: %s", ([, command, args, expected]) => {
  const { Entrypoint, Cmd } = containerBody(containerSpec(podWith(), { command, args }), options);

  expect({ ...(Entrypoint && { Entrypoint }), ...(Cmd && { Cmd }) }).toEqual(expected);
});

test("environment, working folder, terminal and stop signal are the container's", () => {
  const pod = podWith({}, { workingDir: "/w", tty: true, stdin: true, stdinOnce: true, lifecycle: { stopSignal: "SIGUSR1" } });

  expect(containerBody(containerSpec(pod, { environment: [{ name: "A", value: "b=c" }] }), options)).toMatchObject({
    Env: ["A=b=c"],
    WorkingDir: "/w",
    Tty: true,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    StopSignal: "SIGUSR1",
  });
});

test("limits are shares, quota and memory without swap, and never NanoCpus", () => {
  const limits = { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 64 * 1024 * 1024 };
  const { HostConfig } = containerBody(containerSpec(podWith(), { limits }), { ...options, pidsLimit: 100 });

  expect(HostConfig).toMatchObject({
    CpuShares: 512,
    CpuPeriod: 100_000,
    CpuQuota: 50_000,
    Memory: 67_108_864,
    MemorySwap: 67_108_864,
    PidsLimit: 100,
  });
  expect(HostConfig).not.toHaveProperty("NanoCpus");
});

test("an OOM score under 0 is given where the engine can, else 0", () => {
  const spec = containerSpec(podWith(), { oomScoreAdjustment: -997 });

  expect(containerBody(spec, options).HostConfig?.OomScoreAdj).toBe(-997);
  expect(containerBody(spec, { ...options, canLowerOomScore: false }).HostConfig?.OomScoreAdj).toBe(0);
});

test.for<[what: string, pod: object, target: string | undefined, modes: object]>([
  ["its own processes", {}, undefined, { PidMode: "" }],
  ["the pod's processes", { shareProcessNamespace: true }, undefined, { PidMode: "container:s1" }],
  ["the host's processes and memory", { hostPID: true, hostIPC: true }, undefined, { PidMode: "host", IpcMode: "host" }],
  ["another container's processes", {}, "c9", { PidMode: "container:c9" }],
])("a container sees %s", ([, pod, targetContainerId, modes]) => {
  expect(containerBody(containerSpec(podWith(pod), { targetContainerId }), options).HostConfig).toMatchObject(modes);
});

test.for<[what: string, podContext: object, context: object, hostConfig: object]>([
  ["privileges", {}, { privileged: true }, { Privileged: true }],
  [
    "capabilities with and without prefix",
    {},
    { capabilities: { add: ["CAP_NET_ADMIN", "CHOWN"], drop: ["ALL"] } },
    { CapAdd: ["NET_ADMIN", "CHOWN"], CapDrop: ["ALL"] },
  ],
  ["no escalation", {}, { allowPrivilegeEscalation: false }, { SecurityOpt: ["no-new-privileges:true"] }],
  ["the engine's own seccomp profile", {}, { seccompProfile: { type: "RuntimeDefault" } }, { SecurityOpt: [] }],
  ["no seccomp, by the pod", { seccompProfile: { type: "Unconfined" } }, {}, { SecurityOpt: ["seccomp=unconfined"] }],
  [
    "seccomp by the container over the pod's",
    { seccompProfile: { type: "Unconfined" } },
    { seccompProfile: { type: "RuntimeDefault" } },
    { SecurityOpt: [] },
  ],
  [
    "an AppArmor profile",
    {},
    { appArmorProfile: { type: "Localhost", localhostProfile: "k8s-web" } },
    { SecurityOpt: ["apparmor=k8s-web"] },
  ],
  ["no AppArmor", {}, { appArmorProfile: { type: "Unconfined" } }, { SecurityOpt: ["apparmor=unconfined"] }],
  [
    "SELinux options",
    {},
    { seLinuxOptions: { user: "u", role: "r", type: "t", level: "s0" } },
    { SecurityOpt: ["label=user:u", "label=role:r", "label=type:t", "label=level:s0"] },
  ],
  ["a read-only root", {}, { readOnlyRootFilesystem: true }, { ReadonlyRootfs: true }],
  ["an unmasked /proc", {}, { procMount: "Unmasked" }, { MaskedPaths: [], ReadonlyPaths: [] }],
  ["groups besides", { fsGroup: 5, supplementalGroups: [7, 5] }, {}, { GroupAdd: ["5", "7"] }],
])("security context: %s", ([, securityContext, context, hostConfig]) => {
  expect(body({ securityContext }, { securityContext: context }).HostConfig).toMatchObject(hostConfig);
});

test("a seccomp profile of the node is given by its content", () => {
  const securityContext = { seccompProfile: { type: "Localhost", localhostProfile: "p.json" } };

  expect(body({}, { securityContext }, { seccompProfile: "{}" }).HostConfig?.SecurityOpt).toEqual(["seccomp={}"]);
});

test("an AppArmor profile that cannot be applied is refused, and no profile is no harm", () => {
  const engine = { ...options.engine, hasAppArmor: false };
  const context = (type: string) => ({ securityContext: { appArmorProfile: { type, localhostProfile: "p" } } });

  expect(() => body({}, context("Localhost"), { engine })).toThrow("the Docker engine has no AppArmor");
  expect(body({}, context("Unconfined"), { engine }).HostConfig?.SecurityOpt).toEqual([]);
});

test.for<[what: string, podContext: object, context: object, imageUser: string, user: string | undefined]>([
  ["the image's", {}, {}, "app", undefined],
  ["a number alone, with the image's groups", { runAsUser: 1000 }, {}, "", "1000"],
  ["the container's over the pod's", { runAsUser: 1000, runAsGroup: 5 }, { runAsUser: 0 }, "", "0:5"],
  ["a group of root", {}, { runAsGroup: 5 }, "", "0:5"],
  ["a group of the image's user", {}, { runAsGroup: 5 }, "1001:1001", "1001:5"],
])("user: %s", ([, securityContext, context, imageUser, user]) => {
  expect(body({ securityContext }, { securityContext: context }, { imageUser }).User).toBe(user);
});

test("groups that cannot be kept to are refused", () => {
  const named = (): unknown => body({}, { securityContext: { runAsGroup: 5 } }, { imageUser: "app" });
  const strict = (): unknown => body({ securityContext: { supplementalGroupsPolicy: "Strict", runAsUser: 5 } });

  for (const refused of [named, strict]) {
    let error: unknown;
    try {
      refused();
    } catch (thrown) {
      error = thrown;
    }
    expect(isInvalidInput(error)).toBe(true);
  }
});

test("GPUs are asked for by id and stand in a label; devices are there under their own names", () => {
  const { HostConfig, Labels } = body({}, {}, { gpus: ["GPU-a", "GPU-b"], devices: ["/dev/fuse"] });

  expect(HostConfig).toMatchObject({
    DeviceRequests: [{ Driver: "nvidia", DeviceIDs: ["GPU-a", "GPU-b"], Capabilities: [["gpu"]] }],
    Devices: [{ PathOnHost: "/dev/fuse", PathInContainer: "/dev/fuse", CgroupPermissions: "rwm" }],
  });
  expect(Labels).toMatchObject({ "virtual-kubelet.io/gpus": "GPU-a,GPU-b" });
});

test("mounts are typed, as private as the engine lets them be unless asked otherwise, and read-only as deep as asked on engines that can", () => {
  const mounts = [
    { hostPath: "/a:b", containerPath: "/c", isReadOnly: false },
    { hostPath: "/d", containerPath: "/e", isReadOnly: true, propagation: "HostToContainer" as const },
    { hostPath: "/f", containerPath: "/g", isReadOnly: true, isRecursivelyReadOnly: true },
  ];
  const spec = containerSpec(podWith(), { mounts });
  const old = containerBody(spec, options).HostConfig?.Mounts;
  const modern = containerBody(spec, { ...options, engine: { ...options.engine, apiVersion: "1.44" } }).HostConfig?.Mounts;

  expect(old).toEqual([
    { Type: "bind", Source: "/a:b", Target: "/c", ReadOnly: false, BindOptions: {} },
    { Type: "bind", Source: "/d", Target: "/e", ReadOnly: true, BindOptions: { Propagation: "rslave" } },
    { Type: "bind", Source: "/f", Target: "/g", ReadOnly: true, BindOptions: {} },
  ]);
  expect(modern?.map(({ BindOptions }) => BindOptions)).toEqual([
    {},
    { Propagation: "rslave", ReadOnlyNonRecursive: true },
    { Propagation: "rprivate", ReadOnlyForceRecursive: true },
  ]);
});

test("an image is mounted by the engine, read-only, all of it or a part, and a label keeps it from being collected", () => {
  const image = { hostPath: "", isReadOnly: true, propagation: "None" as const };
  const mounts = [
    { ...image, image: { id: "sha256:1", subPath: "" }, containerPath: "/all" },
    { ...image, image: { id: "sha256:2", subPath: "models/v2" }, containerPath: "/part" },
  ];
  const engine = { ...options.engine, apiVersion: "1.48" };

  const { Labels, HostConfig } = containerBody(containerSpec(podWith(), { mounts }), {
    ...options,
    engine,
    volumeImages: ["sha256:1", "sha256:2"],
  });

  expect(HostConfig?.Mounts).toEqual([
    { Type: "image", Source: "sha256:1", Target: "/all", ReadOnly: true },
    { Type: "image", Source: "sha256:2", Target: "/part", ReadOnly: true, ImageOptions: { Subpath: "models/v2" } },
  ]);
  expect(Labels).toMatchObject({ "virtual-kubelet.io/volume-images": "sha256:1,sha256:2" });
  expect(body({}, {}).Labels).not.toHaveProperty(["virtual-kubelet.io/volume-images"]);
});

test("nothing that only a sandbox may have is in the body", () => {
  const made = body(
    { hostNetwork: true, hostname: "h", securityContext: { sysctls: [{ name: "net.x", value: "1" }] } },
    { ports: [{ containerPort: 1 }] },
  );

  for (const field of ["Hostname", "Domainname", "ExposedPorts"]) expect(made).not.toHaveProperty(field);
  for (const field of ["Dns", "ExtraHosts", "PortBindings", "Sysctls", "ShmSize"]) expect(made.HostConfig).not.toHaveProperty(field);
});

test("on podman a container joins its sandbox's name, too", () => {
  const engine = { ...options.engine, isPodman: true };

  expect(body({}, {}, { engine }).HostConfig).toMatchObject({ UTSMode: "container:s1" });
});

test("the engine's own setting for the compression of rotated logs counts, except where nothing is rotated", () => {
  expect(logConfig({ maxSize: "10m", maxFiles: 2 }).Config).toEqual({ "max-size": "10m", "max-file": "2" });
  expect(logConfig({ maxSize: "10m", maxFiles: 1 }).Config).toEqual({ "max-size": "10m", "max-file": "1", compress: "false" });
});
