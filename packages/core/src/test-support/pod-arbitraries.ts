import type { Container, ContainerState, ContainerStatus, Pod, PodCondition } from "@virtual-kubelet/kube-client";
import fc from "fast-check";
import type { ProviderPodStatus } from "../provider/pod-lifecycle.ts";

const names = ["app", "b", "side", "setup", "debug"] as const;

/** Times as providers write them: with fractions, in other zones, and now and then nonsense. */
const time: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.date({ min: new Date("2026-01-01"), max: new Date("2026-12-31"), noInvalidDate: true }).map((date) => date.toISOString()),
  },
  fc.constantFrom("2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00.123456789Z", "soon"),
);

const address: fc.Arbitrary<string> = fc.constantFrom("10.0.0.1", "10.0.0.2", "fd00::1", "FD00:0::2", "::ffff:10.0.0.9", "nonsense", "");

const state: fc.Arbitrary<ContainerState> = fc.oneof(
  fc.record({
    waiting: fc.record(
      { reason: fc.constantFrom("CrashLoopBackOff", "ErrImagePull", ""), message: fc.string({ unit: "binary", maxLength: 40 }) },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ running: fc.record({ startedAt: time }, { requiredKeys: [] }) }),
  fc.record({
    terminated: fc.record(
      {
        exitCode: fc.constantFrom(0, 1, 137, 3221225786),
        signal: fc.constantFrom(0, 9),
        reason: fc.constantFrom("", "OOMKilled"),
        message: fc.constantFrom("", "é".repeat(5000)),
        startedAt: time,
        finishedAt: time,
        containerID: fc.constantFrom("vk://1", "vk://2"),
      },
      { requiredKeys: ["exitCode"] },
    ),
  }),
  fc.constant({}),
  fc.constant({ running: {}, terminated: { exitCode: 0 } }),
);

const status: fc.Arbitrary<ContainerStatus> = fc.record(
  {
    name: fc.constantFrom(...names, "stray"),
    image: fc.constantFrom("", "docker.io/library/app@sha256:0"),
    imageID: fc.constantFrom("", "sha256:0"),
    containerID: fc.constantFrom("", "vk://1", "vk://2"),
    ready: fc.boolean(),
    started: fc.boolean(),
    restartCount: fc.constantFrom(0, 1, 5, 2.5, -1),
    state,
    lastState: state,
    resources: fc.constantFrom({}, { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: "0.5" } }),
    allocatedResources: fc.constantFrom({}, { cpu: "0.10", memory: "1e3" }),
    volumeMounts: fc.constantFrom(
      [],
      [
        { name: "v", mountPath: "/v", readOnly: false },
        { name: "w", mountPath: "/w", readOnly: true, recursiveReadOnly: "Disabled" },
        { name: "x", mountPath: "/x", volumeStatus: { image: { imageRef: "a".repeat(257) } } },
      ],
    ),
    user: fc.constantFrom(
      undefined,
      { linux: { uid: 0, gid: 0, supplementalGroups: [] } },
      { linux: { uid: 1, gid: 1, supplementalGroups: [10, -1] } },
      { linux: { uid: -1, gid: 0 } },
    ),
    allocatedResourcesStatus: fc.array(
      fc.record(
        {
          name: fc.constantFrom("claim:a", "claim:a/one", "claim:b", "example.com/gpu", "cpu", ""),
          resources: fc.array(
            fc.record(
              {
                resourceID: fc.constantFrom("gpu-1", "gpu-2", ""),
                health: fc.constantFrom("Healthy", "Unhealthy", "Unknown", "PermanentlyUnhealthy", ""),
                message: fc.constantFrom("", "hot", "é".repeat(600)),
              },
              { requiredKeys: ["resourceID"] },
            ),
            { maxLength: 3 },
          ),
        },
        { requiredKeys: ["name"] },
      ),
      { maxLength: 3 },
    ),
    stopSignal: fc.constantFrom("", "SIGUSR1"),
  },
  { requiredKeys: ["name", "image", "imageID", "ready", "restartCount"] },
);

const condition: fc.Arbitrary<PodCondition> = fc.record(
  {
    type: fc.constantFrom("example.com/gate", "Ready", "Initialized", "PodScheduled", "PodResizePending", "not a type", "a..b/gate"),
    status: fc.constantFrom("True", "False", "Perhaps"),
    reason: fc.constantFrom("", "Because"),
    message: fc.constantFrom("", "as it is"),
    lastTransitionTime: time,
    observedGeneration: fc.constantFrom(1, 7, 1.5, -1),
  },
  { requiredKeys: ["type", "status"] },
);

/** What providers may report, well formed or not. */
export const report: fc.Arbitrary<ProviderPodStatus> = fc.record(
  {
    phase: fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "Unknown"),
    reason: fc.constantFrom("", "Evicted"),
    message: fc.constantFrom("", "no room", "\ud800"),
    podIP: address,
    podIPs: fc.array(
      address.map((ip) => ({ ip })),
      { maxLength: 4 },
    ),
    hostIP: address,
    hostIPs: fc.array(
      address.map((ip) => ({ ip })),
      { maxLength: 3 },
    ),
    conditions: fc.array(condition, { maxLength: 2 }),
    containerStatuses: fc.array(status, { maxLength: 4 }),
    initContainerStatuses: fc.array(status, { maxLength: 3 }),
    ephemeralContainerStatuses: fc.array(status, { maxLength: 1 }),
  },
  { requiredKeys: [] },
);

/** Returns the report without the health of devices. */
export function withoutDeviceHealth(reported: ProviderPodStatus): ProviderPodStatus {
  const drop = (statuses: ProviderPodStatus["containerStatuses"]): ProviderPodStatus["containerStatuses"] =>
    statuses?.map(({ allocatedResourcesStatus: _, ...each }) => each);
  return {
    ...reported,
    initContainerStatuses: drop(reported.initContainerStatuses),
    containerStatuses: drop(reported.containerStatuses),
    ephemeralContainerStatuses: drop(reported.ephemeralContainerStatuses),
  };
}

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: `registry.example/${name}:1`, ...more });

/** Resources and claims of which a status can tell. */
const resources: Container["resources"] = {
  requests: { "example.com/gpu": "1" },
  limits: { "example.com/gpu": "1" },
  claims: [{ name: "a" }],
};

/** A pod as the API server holds it before any status was written. */
export const newPod: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: fc.constantFrom("Always", "OnFailure", "Never"),
    containers: fc.constantFrom<Container[]>([container("app")], [container("b"), container("app", { resources })]),
    initContainers: fc.constantFrom<Container[] | undefined>(
      undefined,
      [container("setup", { resources })],
      [container("side", { restartPolicy: "Always" }), container("setup")],
    ),
    ephemeralContainers: fc.constantFrom<Container[] | undefined>(undefined, [container("debug")]),
    hostNetwork: fc.constantFrom(undefined, true),
    os: fc.constantFrom(undefined, { name: "linux" }, { name: "windows" }),
    readinessGates: fc.constantFrom<{ conditionType: string }[] | undefined>(undefined, [{ conditionType: "example.com/gate" }]),
  })
  .map((spec) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", uid: "uid-1", generation: 1 },
    spec: { nodeName: "vk", resourceClaims: [{ name: "a", resourceClaimName: "claim-a" }], ...spec },
    status: { phase: "Pending", qosClass: "BestEffort" },
  }));
