import { VirtualClock } from "@virtual-kubelet/clock";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { MockRig, podOf, refOf, type PodShape } from "../test-support/mock-rig.ts";

/** What is shown after each of some waits, in milliseconds. */
const scripts: readonly {
  readonly name: string;
  readonly pod: PodShape;
  readonly shown: readonly (readonly [waitMs: number, shown: string])[];
}[] = [
  {
    name: "start-delay leaves the pod Pending until it is over",
    pod: { script: { "start-delay": "2s" } },
    shown: [
      [0, "Pending: ContainerCreating"],
      [1_999, "Pending: ContainerCreating"],
      [1, "Running: running ready"],
    ],
  },
  {
    name: "ready-after leaves a running container unready until then",
    pod: { script: { "ready-after": "3s" } },
    shown: [
      [0, "Running: running"],
      [3_000, "Running: running ready"],
    ],
  },
  {
    name: "flip-ready-every turns readiness over and over",
    pod: { script: { "ready-after": "1s", "flip-ready-every": "5s" } },
    shown: [
      [1_000, "Running: running ready"],
      [5_000, "Running: running"],
      [5_000, "Running: running ready"],
      [5_000, "Running: running"],
    ],
  },
  {
    name: "a pod that never restarts succeeds when it exits with 0",
    pod: { script: { "exit-after": "1m" }, restartPolicy: "Never" },
    shown: [
      [59_999, "Running: running ready"],
      [1, "Succeeded: exit 0"],
    ],
  },
  {
    name: "a pod that never restarts fails when it exits with another code",
    pod: { script: { "exit-after": "1s", "exit-code": "3" }, restartPolicy: "Never" },
    shown: [[1_000, "Failed: exit 3"]],
  },
  {
    name: "a pod that restarts on failure succeeds when it exits with 0",
    pod: { script: { "exit-after": "1s" }, restartPolicy: "OnFailure" },
    shown: [[1_000, "Succeeded: exit 0"]],
  },
  {
    name: "crash-loop restarts at once, then after 10 s, then after 20 s, as a kubelet does",
    pod: { script: { "crash-loop": "true" } },
    shown: [
      [1_000, "Running: running ready #1"],
      [1_000, "Running: CrashLoopBackOff #1"],
      [9_999, "Running: CrashLoopBackOff #1"],
      [1, "Running: running ready #2"],
      [1_000, "Running: CrashLoopBackOff #2"],
      [20_000, "Running: running ready #3"],
      [1_000 + 40_000, "Running: running ready #4"],
      [1_000 + 80_000, "Running: running ready #5"],
      [1_000 + 160_000, "Running: running ready #6"],
      [1_000 + 299_999, "Running: CrashLoopBackOff #6"],
      [1, "Running: running ready #7"],
      [1_000 + 300_000, "Running: running ready #8"],
    ],
  },
  {
    name: "a container that ran for longer than ten minutes restarts at once again",
    pod: { script: { "exit-after": "11m", "exit-code": "1" } },
    shown: [
      [660_000, "Running: running ready #1"],
      [660_000, "Running: running ready #2"],
    ],
  },
  {
    name: "a crash loop of a pod that never restarts is one failure",
    pod: { script: { "crash-loop": "true" }, restartPolicy: "Never" },
    shown: [[1_000, "Failed: exit 1"]],
  },
  {
    name: "an image that cannot be pulled is tried again with a growing back-off",
    pod: { script: { fail: "image-pull-error" } },
    shown: [
      [0, "Pending: ErrImagePull"],
      [1_000, "Pending: ImagePullBackOff"],
      [10_000, "Pending: ErrImagePull"],
      [1_000, "Pending: ImagePullBackOff"],
      [19_999, "Pending: ImagePullBackOff"],
      [1, "Pending: ErrImagePull"],
    ],
  },
  {
    name: "a container that cannot be created stays so",
    pod: { script: { fail: "create-error" } },
    shown: [[3_600_000, "Pending: CreateContainerError"]],
  },
  {
    name: "init containers run one after the other, by their own scripts",
    pod: { initContainers: [{ name: "one" }, { name: "two" }], script: { "one.exit-after": "1s", "two.start-delay": "1s" } },
    shown: [
      [0, "Pending: running, PodInitializing, PodInitializing"],
      [1_000, "Pending: exit 0 ready, ContainerCreating, PodInitializing"],
      [1_000, "Running: exit 0 ready, exit 0 ready, running ready"],
    ],
  },
  {
    name: "a failing init container loops, and holds up the rest",
    pod: { initContainers: [{ name: "init" }], script: { "init.crash-loop": "true" } },
    shown: [
      [2_000, "Pending: CrashLoopBackOff #1, PodInitializing"],
      [10_000, "Pending: running #2, PodInitializing"],
    ],
  },
  {
    name: "a failing init container fails a pod that never restarts",
    pod: { initContainers: [{ name: "init" }], script: { "init.exit-code": "1" }, restartPolicy: "Never" },
    shown: [[0, "Failed: exit 1, PodInitializing"]],
  },
  {
    name: "sidecars end with the last app container",
    pod: { initContainers: [{ name: "proxy", restartPolicy: "Always" }], script: { "exit-after": "1s" }, restartPolicy: "Never" },
    shown: [
      [0, "Running: running ready, running ready"],
      [1_000, "Succeeded: exit 0, exit 0"],
    ],
  },
  {
    name: "a container's own annotation goes over the pod's",
    pod: { containers: [{ name: "a" }, { name: "b" }], script: { "exit-after": "1s", "b.exit-after": "2s" }, restartPolicy: "Never" },
    shown: [
      [1_000, "Running: exit 0, running ready"],
      [1_000, "Succeeded: exit 0, exit 0"],
    ],
  },
];

test.for(scripts)("$name", async ({ pod, shown }) => {
  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf(pod));

  const seen: string[] = [];
  for (const [waitMs] of shown) {
    await rig.clock.advance(waitMs);
    seen.push(rig.shown);
  }

  expect(seen).toEqual(shown.map(([, text]) => text));
});

test("an address is reported once there is a sandbox to have it", async () => {
  const rig = new MockRig(new VirtualClock());

  await rig.create(podOf({ script: { "start-delay": "1s" } }));
  expect(rig.last.podIP).toBeUndefined();
  await rig.clock.advance(1_000);

  expect(rig.last.podIP).toBe("10.88.0.1");
});

test("the last state of a restarted container is the run before it", async () => {
  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf({ script: { "crash-loop": "true" } }));

  await rig.clock.advance(1_000);

  expect(rig.last.containerStatuses?.[0]).toMatchObject({
    containerID: "mock://uid-web/main/1",
    lastState: { terminated: { exitCode: 1, reason: "Error", containerID: "mock://uid-web/main/0", finishedAt: "2026-01-01T00:00:01Z" } },
  });
});

test.for([
  ["stop-delay ends a deleted container when it is over", "2s", 30, 2_000, "Succeeded: exit 0"],
  ["a container that takes longer than its grace is killed", "1m", 5, 5_000, "Failed: exit 137"],
] as const)("%s", async ([, stopDelay, gracePeriodSeconds, endsAfterMs, shown]) => {
  const rig = new MockRig(new VirtualClock());
  const ref = await rig.create(podOf({ script: { "stop-delay": stopDelay } }));

  await rig.provider.deletePod(ref, { gracePeriodSeconds });
  await rig.clock.advance(endsAfterMs - 1);
  expect((await rig.provider.getPodStatus(ref)).phase).toBe("Running");
  await rig.clock.advance(1);

  expect(rig.shown).toBe(shown);
  expect((await rig.provider.getPods(rig.signal)).pods).toEqual([]);
});

test("a second deletion with less grace shortens what is left, one with more does not lengthen it", async () => {
  const rig = new MockRig(new VirtualClock());
  const ref = await rig.create(podOf({ script: { "stop-delay": "1m" } }));

  await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 });
  await rig.provider.deletePod(ref, { gracePeriodSeconds: 2 });
  await rig.provider.deletePod(ref, { gracePeriodSeconds: 50 });
  await rig.clock.advance(2_000);

  expect(rig.shown).toBe("Failed: exit 137");
});

test("a pod deleted before it started has not succeeded", async () => {
  const rig = new MockRig(new VirtualClock());
  const ref = await rig.create(podOf({ script: { "start-delay": "1m" } }));

  await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 });

  expect(rig.shown).toBe("Failed: exit 137");
  expect(rig.clock.pending).toBe(0);
});

test("a pod that had ended keeps its end when it is deleted", async () => {
  const rig = new MockRig(new VirtualClock());
  const ref = await rig.create(podOf({ script: { "exit-after": "1s", "exit-code": "7" }, restartPolicy: "Never" }));
  await rig.clock.advance(1_000);

  await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 });

  expect(rig.shown).toBe("Failed: exit 7");
});

test("annotations changed on a running pod apply from its start on", async () => {
  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf({ restartPolicy: "Never" }));
  await rig.clock.advance(5_000);

  await rig.provider.updatePod(podOf({ restartPolicy: "Never", script: { "exit-after": "2s" } }));

  expect(rig.shown).toBe("Succeeded: exit 0");
});

test("taking a failure away lets the container start", async () => {
  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf({ script: { fail: "create-error" } }));

  await rig.provider.updatePod(podOf());

  expect(rig.shown).toBe("Running: running ready");
});

test.for([
  ["provider-error", "VK_UNAVAILABLE"],
  ["terminal-error", "VK_TERMINAL"],
] as const)("fail: %s makes createPod itself fail with %s", async ([fail, code]) => {
  const rig = new MockRig(new VirtualClock());

  await expect(rig.create(podOf({ script: { fail } }))).rejects.toMatchObject({ code });
  expect((await rig.provider.getPods(rig.signal)).pods).toEqual([]);
});

test.for([
  ["start-delay", "2 sec", 'annotation mock.virtual-kubelet.io/start-delay: "2 sec": expected a duration such as 500ms, 2s or 1m30s'],
  ["flip-ready-every", "0s", 'annotation mock.virtual-kubelet.io/flip-ready-every: "0s": expected a duration of at least 10ms, such as 5s'],
  ["exit-code", "256", 'annotation mock.virtual-kubelet.io/exit-code: "256": expected an integer from 0 to 255'],
  [
    "fail",
    "pull",
    'annotation mock.virtual-kubelet.io/fail: "pull": expected one of image-pull-error, create-error, provider-error, terminal-error',
  ],
  ["crash-loop", "yes", 'annotation mock.virtual-kubelet.io/crash-loop: "yes": expected true or false'],
  [
    "main.fail",
    "provider-error",
    'annotation main.mock.virtual-kubelet.io/fail: "provider-error": allowed for a whole pod only, expected image-pull-error or create-error',
  ],
  [
    "exit-afer",
    "1s",
    "annotation mock.virtual-kubelet.io/exit-afer: unknown, expected one of start-delay, ready-after, flip-ready-every, exit-after, exit-code, fail, crash-loop, stop-delay, log, log-every, cpu-usage, memory-usage after the slash",
  ],
  ["side.exit-after", "1s", 'annotation side.mock.virtual-kubelet.io/exit-after: the pod has no container "side", it has main'],
] as const)("the annotation %s: %s is refused in one line", async ([field, value, message]) => {
  const rig = new MockRig(new VirtualClock());

  const error: unknown = await rig.create(podOf({ script: { [field]: value } })).catch((caught: unknown) => caught);

  expect(error).toSatisfy(isInvalidInput);
  expect(error).toMatchObject({ message });
});

test("annotations of other domains are left alone", async () => {
  const rig = new MockRig(new VirtualClock());
  const pod = podOf();

  await rig.create({
    ...pod,
    metadata: { ...pod.metadata, annotations: { "xmock.virtual-kubelet.io/fail": "?", "mock.virtual-kubelet.io.example/fail": "?" } },
  });

  expect(rig.shown).toBe("Running: running ready");
});

test("the first stage that matches scripts a pod, and annotations go over it", async () => {
  const rig = new MockRig(new VirtualClock(), {
    stages: [
      { match: { namespace: "jobs", labels: { app: "batch" } }, exitAfter: "1s", exitCode: 2 },
      { match: { name: "slow" }, startDelay: "5s", containers: { main: { exitAfter: "1s" } } },
      { match: { namespace: "jobs" }, exitAfter: "9s" },
    ],
  });
  const end = async (shape: PodShape): Promise<string> => {
    const pod = podOf({ restartPolicy: "Never", ...shape });
    await rig.create(pod);
    await rig.clock.advance(7_000);
    const status = await rig.provider.getPodStatus(refOf(pod));
    return `${status.phase} ${status.containerStatuses?.[0]?.state?.terminated?.exitCode ?? "-"}`;
  };

  expect(await end({ name: "a", namespace: "jobs", labels: { app: "batch" } })).toBe("Failed 2");
  expect(await end({ name: "b", namespace: "jobs", labels: { app: "batch" }, script: { "exit-code": "0" } })).toBe("Succeeded 0");
  expect(await end({ name: "c", namespace: "jobs" })).toBe("Running -");
  expect(await end({ name: "slow" })).toBe("Succeeded 0");
  expect(await end({ name: "d" })).toBe("Running -");
});

test.each<[title: string, shape: PodShape, end: string]>([
  ["without a script", {}, "Succeeded 0"],
  ["with an exit code", { script: { "exit-code": "3" } }, "Failed 3"],
  ["that exits later", { script: { "exit-after": "10s" } }, "Running -"],
  ["that never exits", { script: { "exit-after": "never" } }, "Running -"],
  ["that fails to start", { script: { fail: "create-error" } }, "Pending -"],
])("the pod of a Job %s, two seconds after its start", async (_, shape, end) => {
  const rig = new MockRig(new VirtualClock());
  const pod = podOf({ restartPolicy: "Never", ...shape });
  const job = { apiVersion: "batch/v1", kind: "Job", name: "once", uid: "j", controller: true };

  await rig.create({ ...pod, metadata: { ...pod.metadata, ownerReferences: [job] } });
  const atFirst = rig.shown;
  await rig.clock.advance(2_000);

  const status = await rig.provider.getPodStatus(refOf(pod));
  expect(atFirst).toMatch(/^(Running|Pending)/);
  expect(`${status.phase} ${String(status.containerStatuses?.[0]?.state?.terminated?.exitCode ?? "-")}`).toBe(end);
});

test("a pod that another workload owns runs on", async () => {
  const rig = new MockRig(new VirtualClock());
  const pod = podOf({ restartPolicy: "OnFailure" });

  await rig.create({
    ...pod,
    metadata: { ...pod.metadata, ownerReferences: [{ apiVersion: "example.com/v1", kind: "Job", name: "a", uid: "j", controller: true }] },
  });
  await rig.clock.advance(60_000);

  expect(rig.shown).toBe("Running: running ready");
});
