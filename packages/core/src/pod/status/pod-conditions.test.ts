import type { ContainerStatus, Pod, PodCondition, PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { foreignConditions, latestGeneration, podConditions, type PodConditionsInput } from "./pod-conditions.ts";

const now = "2026-05-01T12:00:00Z";
const earlier = "2026-05-01T11:00:00Z";

const runs = { state: { running: {} }, ready: true, started: true };
const waits = { state: { waiting: {} } };
const ended = (exitCode: number) => ({ state: { terminated: { exitCode } }, ready: exitCode === 0 });

function conditions(
  input: Partial<PodConditionsInput> = {},
  statuses: Readonly<Record<string, Partial<ContainerStatus>>> = { a: runs, b: runs },
): PodCondition[] {
  const whole = Object.entries(statuses).map(
    ([name, status]) => [name, { name, image: "", imageID: "", ready: false, restartCount: 0, ...status }] as const,
  );
  return podConditions({
    pod: podWith({}),
    phase: "Running",
    statuses: new Map(whole),
    hasSandbox: true,
    asserted: [],
    observedGeneration: 3,
    now,
    ...input,
  });
}

function podWith(spec: Partial<PodSpec>, stored: PodCondition[] = []): Pod {
  return { spec: { containers: [{ name: "a" }, { name: "b" }], ...spec }, status: { conditions: stored } };
}

function verdict(found: readonly PodCondition[], type: string): string {
  const { status, reason = "", message = "" } = found.find((condition) => condition.type === type) ?? { status: "absent" };
  return [status, reason, message].filter((text) => text !== "").join(" | ");
}

test("all of a pod that runs hold, in a kubelet's order, without reasons", () => {
  expect(conditions().map(({ type, status, reason }) => `${type} ${status} ${reason ?? ""}`.trim())).toEqual([
    "PodReadyToStartContainers True",
    "Initialized True",
    "Ready True",
    "ContainersReady True",
    "PodScheduled True",
  ]);
});

describe("PodReadyToStartContainers", () => {
  test.each([
    [true, "Running", "True"],
    [false, "Running", "False"],
    [true, "Succeeded", "False"],
    [true, "Failed", "False"],
  ] as const)("with a sandbox: %s, in phase %s, is %s", (hasSandbox, phase, expected) => {
    expect(verdict(conditions({ hasSandbox, phase }), "PodReadyToStartContainers")).toBe(expected);
  });
});

describe("Initialized", () => {
  const initContainers = [{ name: "i" }, { name: "s", restartPolicy: "Always" }];
  const pod = podWith({ initContainers });
  test.each<[string, Readonly<Record<string, Partial<ContainerStatus>>>, string]>([
    ["nothing has started", {}, "False | ContainersNotInitialized | containers with incomplete status: [i s]"],
    ["both wait", { i: waits, s: waits }, "False | ContainersNotInitialized | containers with incomplete status: [i s]"],
    [
      "the init container has failed",
      { i: ended(1), s: { ...runs } },
      "False | ContainersNotInitialized | containers with incomplete status: [i]",
    ],
    [
      "the sidecar is not up",
      { i: ended(0), s: { ...runs, started: false } },
      "False | ContainersNotInitialized | containers with incomplete status: [s]",
    ],
    ["the sidecar is up, though not ready", { i: ended(0), s: { ...runs, ready: false } }, "True"],
    ["a container runs", { i: waits, s: waits, a: runs }, "True"],
    ["a container has ended", { i: waits, s: waits, b: ended(1) }, "True"],
    ["a container waits", { i: waits, s: runs, a: waits }, "False | ContainersNotInitialized | containers with incomplete status: [i]"],
  ])("when %s", (_what, statuses, expected) => {
    expect(verdict(conditions({ pod }, statuses), "Initialized")).toBe(expected);
  });

  test("holds for a pod without init containers, and for one that has succeeded", () => {
    expect(verdict(conditions({}, {}), "Initialized")).toBe("True");
    expect(verdict(conditions({ pod, phase: "Succeeded" }, {}), "Initialized")).toBe("True | PodCompleted");
  });
});

describe("ContainersReady and Ready", () => {
  const pod = podWith({ initContainers: [{ name: "i" }, { name: "s", restartPolicy: "Always" }] });
  test.each<[string, Partial<PodConditionsInput>, Readonly<Record<string, Partial<ContainerStatus>>>, string]>([
    ["all are ready", {}, { a: runs, b: runs }, "True"],
    ["one is not ready", {}, { a: runs, b: { ...runs, ready: false } }, "False | ContainersNotReady | containers with unready status: [b]"],
    ["none is known", {}, {}, "False | ContainersNotReady | containers with unready status: [a b]"],
    [
      "the sidecar is not ready",
      { pod },
      { a: runs, b: runs, i: ended(0), s: waits },
      "False | ContainersNotReady | containers with unready status: [s]",
    ],
    ["an init container does not count", { pod }, { a: runs, b: runs, i: waits, s: runs }, "True"],
    ["the pod has succeeded", { phase: "Succeeded" }, { a: runs, b: runs }, "False | PodCompleted"],
    ["the pod has failed", { phase: "Failed" }, { a: runs, b: runs }, "False | PodFailed"],
  ])("when %s", (_what, input, statuses, expected) => {
    const found = conditions(input, statuses);

    expect([verdict(found, "ContainersReady"), verdict(found, "Ready")]).toEqual([expected, expected]);
  });

  test("Ready waits for each readiness gate, and says which one", () => {
    const gated = podWith({ readinessGates: [{ conditionType: "x/one" }, { conditionType: "x/two" }] });
    const asserted = (status: string) => [{ type: "x/two", status }];

    expect(verdict(conditions({ pod: gated, asserted: asserted("False") }), "Ready")).toBe(
      'False | ReadinessGatesNotReady | corresponding condition of pod readiness gate "x/one" does not exist., ' +
        'the status of pod readiness gate "x/two" is not "True", but False',
    );
    expect(verdict(conditions({ pod: gated, asserted: asserted("False") }), "ContainersReady")).toBe("True");
    const stored = podWith({ readinessGates: [{ conditionType: "x/one" }, { conditionType: "x/two" }] }, [
      { type: "x/one", status: "True" },
    ]);
    expect(verdict(conditions({ pod: stored, asserted: asserted("True") }), "Ready")).toBe("True");
  });
});

describe("conditions of others", () => {
  test("stay in front as they are, and ours that nobody asserts any more go", () => {
    const foreign = { type: "x/foreign", status: "Unknown", reason: "R", message: "M", lastTransitionTime: earlier };
    const pod = podWith({}, [{ type: "PodResizePending", status: "True" }, foreign]);

    const found = conditions({ pod });

    expect(found[0]).toEqual(foreign);
    expect(found).toHaveLength(6);
    expect(found[0]).not.toBe(foreign);
  });

  test("are taken over where the provider asserts them, in their place, and new ones follow", () => {
    const pod = podWith({}, [
      { type: "x/two", status: "False", reason: "old", lastTransitionTime: earlier },
      { type: "x/three", status: "True" },
    ]);
    const asserted = [
      { type: "x/one", status: "True", reason: "", message: "m" },
      { type: "x/two", status: "True", reason: "new" },
    ];

    const found = conditions({ pod, asserted });

    expect(found.map(({ type }) => type).slice(0, 3)).toEqual(["x/two", "x/three", "x/one"]);
    expect(JSON.parse(JSON.stringify(found[0]))).toEqual({ type: "x/two", status: "True", reason: "new", lastTransitionTime: now });
    expect(JSON.parse(JSON.stringify(found[2]))).toEqual({ type: "x/one", status: "True", message: "m", lastTransitionTime: now });
  });

  test("carry the generation that they are asserted with, and ours the one acted on", () => {
    const asserted = [
      { type: "x/one", status: "True", observedGeneration: 9 },
      { type: "ProviderUpdateFailed", status: "True", observedGeneration: 9 },
    ];

    expect(conditions({ asserted }).map(({ observedGeneration }) => observedGeneration)).toEqual([9, 3, 3, 3, 3, 3, 3]);
  });

  test.each([
    [{ type: "Ready", status: "False" }],
    [{ type: "PodScheduled", status: "False" }],
    [{ type: "not a type", status: "True" }],
    [{ type: "a..b/gate", status: "True" }],
    [{ type: "", status: "True" }],
    [{ type: "-x", status: "True" }],
    [{ type: "x-", status: "True" }],
    [{ type: "/x", status: "True" }],
    [{ type: "X.Y/x", status: "True" }],
    [{ type: "a/b/c", status: "True" }],
    [{ type: "x".repeat(64), status: "True" }],
    [{ type: "x/one", status: "true" }],
    [{ type: "x/one", status: "" }],
  ])("that the API server would refuse, or that the core derives, are left out: %j", (condition) => {
    expect(conditions({ asserted: [condition] })).toEqual(conditions());
  });

  test.each(["x", "X.y_z-1", "example.com/X", "x".repeat(63)])("may be of the type %s", (type) => {
    for (const status of ["True", "False", "Unknown"]) expect(verdict(conditions({ asserted: [{ type, status }] }), type)).toBe(status);
  });

  test("are told from ours for a pod that never ran", () => {
    const pod = podWith({}, [
      { type: "PodScheduled", status: "True" },
      { type: "PodResizeInProgress", status: "True" },
      { type: "x/foreign", status: "True" },
    ]);

    expect(foreignConditions(pod)).toEqual([{ type: "x/foreign", status: "True" }]);
    expect(foreignConditions({})).toEqual([]);
  });
});

describe("the time of a condition's last transition", () => {
  const stored = (status: string, lastTransitionTime?: string) =>
    podWith({}, [{ type: "Ready", status, ...(lastTransitionTime && { lastTransitionTime }) }]);
  const since = (pod: Pod) => conditions({ pod }).find(({ type }) => type === "Ready")?.lastTransitionTime;

  test("stays while its status stays, and is now when it changes", () => {
    expect([since(stored("True", earlier)), since(stored("False", earlier)), since(podWith({}))]).toEqual([earlier, now, now]);
  });

  test("is now where none was stored, and in the API's form where another was", () => {
    expect(since(stored("True"))).toBe(now);
    expect(since(stored("True", "2026-05-01T13:00:00.5+02:00"))).toBe(earlier);
  });

  test("is the provider's for a condition that it asserts, unless the stored one tells more", () => {
    const asserted = [{ type: "x/one", status: "True", lastTransitionTime: earlier }];

    expect(conditions({ asserted })[0]?.lastTransitionTime).toBe(earlier);
    const pod = podWith({}, [{ type: "x/one", status: "True", lastTransitionTime: "2026-05-01T10:00:00Z" }]);
    expect(conditions({ pod, asserted })[0]?.lastTransitionTime).toBe("2026-05-01T10:00:00Z");
  });
});

describe("what a kubelet behind the provider wrote of a condition", () => {
  const claim = { lastTransitionTime: "2026-05-01T09:30:00.5Z", reason: "ByKubelet", message: "in its words" };
  const ready = (asserted: PodCondition[], stored: PodCondition[] = []) =>
    conditions({ asserted, pod: podWith({}, stored) }).find(({ type }) => type === "Ready");

  test("is shown where it has the derived status: reason, message and time", () => {
    expect(ready([{ type: "Ready", status: "True", ...claim }])).toMatchObject({
      status: "True",
      reason: "ByKubelet",
      message: "in its words",
      lastTransitionTime: "2026-05-01T09:30:00Z",
    });
  });

  test("goes over the stored time, so that it is shown even if the node noticed it later", () => {
    const stored = [{ type: "Ready", status: "True", lastTransitionTime: earlier }];

    expect(ready([{ type: "Ready", status: "True", ...claim }], stored)?.lastTransitionTime).toBe("2026-05-01T09:30:00Z");
  });

  test("is ignored where its status differs, and has no effect on the status", () => {
    expect(ready([{ type: "Ready", status: "False", ...claim }])).toEqual({
      type: "Ready",
      status: "True",
      observedGeneration: 3,
      lastTransitionTime: now,
    });
  });

  test("makes a pod not ready whose machine no longer answers, as its node controller leaves it", () => {
    const lost = { type: "Ready", status: "False", reason: "NodeLost", message: "it does not answer" };
    const containersReady = { type: "ContainersReady", status: "True" };

    expect(verdict(conditions({ asserted: [lost, containersReady] }), "Ready")).toBe("False | NodeLost | it does not answer");
    expect(verdict(conditions({ asserted: [lost, containersReady] }), "ContainersReady")).toBe("True");
  });

  test("of readiness gates, which others set there, does not count", () => {
    const gates = { type: "Ready", status: "False", reason: "ReadinessGatesNotReady" };

    expect(verdict(conditions({ asserted: [gates, { type: "ContainersReady", status: "True" }] }), "Ready")).toBe("True");
  });

  test("without a reason leaves the derived one, and only its time counts", () => {
    const statuses = { a: runs, b: waits };
    const asserted = [{ type: "Ready", status: "False", lastTransitionTime: earlier }];

    expect(conditions({ asserted }, statuses).find(({ type }) => type === "Ready")).toMatchObject({
      reason: "ContainersNotReady",
      message: "containers with unready status: [b]",
      lastTransitionTime: earlier,
    });
  });

  test("of its scheduling concerns another node, and is ignored", () => {
    const asserted = [{ type: "PodScheduled", status: "True", ...claim }];

    expect(conditions({ asserted }).find(({ type }) => type === "PodScheduled")).toMatchObject({ lastTransitionTime: now });
  });
});

test("an observed generation never falls, and is absent where the server counts none", () => {
  expect([latestGeneration(5, 3), latestGeneration(3, 5), latestGeneration(undefined, 3), latestGeneration(3, undefined)]).toEqual([
    5, 5, 3, 3,
  ]);
  expect(latestGeneration(undefined, undefined)).toBeUndefined();
  expect([latestGeneration(undefined, 1.5), latestGeneration(2, Number.NaN), latestGeneration(undefined, -1)]).toEqual([
    undefined,
    2,
    undefined,
  ]);
  const pod = podWith({}, [{ type: "Ready", status: "True", observedGeneration: 7 }]);
  expect(conditions({ pod }).find(({ type }) => type === "Ready")?.observedGeneration).toBe(7);
});
