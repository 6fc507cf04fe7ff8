import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { containerStatuses, type ContainerEnding, type ContainerStatusesInput } from "./container-statuses.ts";

const now = "2026-05-01T12:00:00Z";
const earlier = "2026-05-01T11:00:00Z";
const before = "2026-05-01T10:00:00Z";

type Status = Partial<ContainerStatus>;

const runs: Status = { ready: true, state: { running: { startedAt: earlier } } };
const waits: Status = { state: { waiting: { reason: "CrashLoopBackOff" } } };
const ended = (exitCode: number): Status => ({ state: { terminated: { exitCode, finishedAt: earlier } } });

function named(name: string, status: Status): ContainerStatus {
  return { name, image: "", imageID: "", ready: false, restartCount: 0, ...status };
}

interface Case {
  readonly reported?: Status;
  readonly stored?: Status;
  readonly spec?: Partial<PodSpec>;
  readonly container?: Partial<Container>;
  readonly pod?: Partial<Pod>;
  readonly status?: PodStatus;
  readonly ending?: ContainerEnding;
}

/** The one container's status, as the API server gets it. */
function statusOf({ reported, stored, spec, container, pod, status, ending }: Case): ContainerStatus {
  const input: ContainerStatusesInput = {
    pod: {
      ...pod,
      spec: { containers: [{ name: "app", ...container }], ...spec },
      status: { ...status, ...(stored && { containerStatuses: [named("app", stored)] }) },
    },
    reported: reported ? { containerStatuses: [named("app", reported)] } : {},
    ending,
    now,
  };
  const [found] = containerStatuses(input).containerStatuses ?? [];
  if (!found) throw new Error("there is no status");
  return JSON.parse(JSON.stringify(found)) as ContainerStatus;
}

describe("the lists", () => {
  test("are absent where the spec has no such containers", () => {
    const lists = containerStatuses({ pod: { spec: { containers: [], initContainers: [] } }, reported: {}, now });

    expect(lists).toEqual({ initContainerStatuses: undefined, containerStatuses: undefined, ephemeralContainerStatuses: undefined });
  });

  test("have init containers in the spec's order, and the others by name", () => {
    const two = [{ name: "z" }, { name: "a" }];
    const lists = containerStatuses({
      pod: { spec: { containers: two, initContainers: two, ephemeralContainers: two } },
      reported: {},
      now,
    });

    expect(Object.values(lists).map((list) => list?.map(({ name }) => name))).toEqual([
      ["z", "a"],
      ["a", "z"],
      ["a", "z"],
    ]);
  });

  test("take each list's report and each list's stored statuses", () => {
    const spec = { containers: [{ name: "c" }], initContainers: [{ name: "i" }], ephemeralContainers: [{ name: "e" }] };
    const withId = (containerID: string): Status => ({ ...runs, containerID });
    const lists = containerStatuses({
      pod: {
        spec,
        status: {
          containerStatuses: [named("c", { restartCount: 1 })],
          initContainerStatuses: [named("i", { restartCount: 2 })],
          ephemeralContainerStatuses: [named("e", { restartCount: 3 })],
        },
      },
      reported: {
        containerStatuses: [named("c", withId("1"))],
        initContainerStatuses: [named("i", withId("2"))],
        ephemeralContainerStatuses: [named("e", withId("3"))],
      },
      now,
    });

    expect(
      Object.values(lists).map((list) => list?.map(({ name, containerID, restartCount }) => [name, containerID, restartCount])),
    ).toEqual([[["i", "2", 2]], [["c", "1", 1]], [["e", "3", 3]]]);
  });

  test("go by the first of two reports of one name", () => {
    const lists = containerStatuses({
      pod: { spec: { containers: [{ name: "app" }] } },
      reported: { containerStatuses: [named("app", { restartCount: 1 }), named("app", { restartCount: 2 })] },
      now,
    });

    expect(lists.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([1]);
  });

  test("share the room for messages among all containers of the pod", () => {
    const many = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => ({ name: `${prefix}${index}` }));
    const message = "x".repeat(5_000);
    const lengthIn = (spec: PodSpec): number | undefined => {
      const [status] =
        containerStatuses({
          pod: { spec },
          reported: { containerStatuses: [named("c0", { state: { terminated: { exitCode: 1, message } } })] },
          now,
        }).containerStatuses ?? [];
      return status?.state?.terminated?.message?.length;
    };

    expect(lengthIn({ containers: many(1, "c") })).toBe(4_096);
    expect(lengthIn({ containers: many(2, "c"), initContainers: many(2, "i"), ephemeralContainers: many(2, "e") })).toBe(2_048);
    expect(lengthIn({ containers: many(6, "c") })).toBe(2_048);
    expect(lengthIn({ containers: many(1, "c"), ephemeralContainers: many(5, "e") })).toBe(2_048);
  });
});

describe("a container the report names", () => {
  test("has its image from the spec where the report has none", () => {
    expect(statusOf({ reported: runs, container: { image: "app:1" } }).image).toBe("app:1");
    expect(statusOf({ reported: { ...runs, image: "app@1" }, container: { image: "app:1" } }).image).toBe("app@1");
    expect(statusOf({ reported: runs }).image).toBe("");
  });

  test("has the higher one of the two restart counts", () => {
    expect(statusOf({ reported: { ...runs, restartCount: 2 }, stored: { ...runs, restartCount: 5 } }).restartCount).toBe(5);
    expect(statusOf({ reported: { ...runs, restartCount: 5 }, stored: { ...runs, restartCount: 2 } }).restartCount).toBe(5);
  });

  test("runs since when the report says, else since when it was stored to, else since now", () => {
    const since = { state: { running: {} } };

    expect(statusOf({ reported: since, stored: { state: { running: { startedAt: before } } } }).state).toEqual({
      running: { startedAt: before },
    });
    expect(statusOf({ reported: runs, stored: { state: { running: { startedAt: before } } } }).state).toEqual({
      running: { startedAt: earlier },
    });
    expect(statusOf({ reported: since }).state).toEqual({ running: { startedAt: now } });
    expect(
      statusOf({ reported: { ...since, restartCount: 1 }, stored: { state: { running: { startedAt: before } } } }).state,
      "that is another run",
    ).toEqual({ running: { startedAt: now } });
    expect(
      statusOf({ reported: { ...since, containerID: "2" }, stored: { containerID: "1", state: { running: { startedAt: before } } } }).state,
      "that is another container",
    ).toEqual({ running: { startedAt: now } });
    expect(
      statusOf({ reported: since, stored: { containerID: "1", state: { running: { startedAt: before } } } }).state,
      "the report does not tell which container",
    ).toEqual({ running: { startedAt: before } });
  });

  test("waits for its own reason, else for being made", () => {
    expect(statusOf({ reported: waits }).state).toEqual({ waiting: { reason: "CrashLoopBackOff" } });
    expect(statusOf({ reported: { state: { waiting: { message: "m" } } } }).state).toEqual({
      waiting: { reason: "ContainerCreating", message: "m" },
    });
    expect(statusOf({ reported: {}, spec: { initContainers: [{ name: "i" }] } }).state).toEqual({ waiting: { reason: "PodInitializing" } });
    expect(statusOf({ reported: {}, spec: { initContainers: [] } }).state).toEqual({ waiting: { reason: "ContainerCreating" } });
  });

  test("has ended when the report says, else when it was stored to, else now", () => {
    const over = { containerID: "1", state: { terminated: { exitCode: 1 } } };

    expect(statusOf({ reported: over }).state).toEqual({ terminated: { exitCode: 1, reason: "Error", finishedAt: now, containerID: "1" } });
    expect(statusOf({ reported: over, stored: { state: { running: { startedAt: before } } } }).state?.terminated).toMatchObject({
      startedAt: before,
      finishedAt: now,
    });
    expect(
      statusOf({ reported: over, stored: { state: { terminated: { exitCode: 1, startedAt: before, finishedAt: earlier } } } }).state
        ?.terminated,
    ).toMatchObject({ startedAt: before, finishedAt: earlier });
    expect(
      statusOf({
        reported: { ...over, state: { terminated: { exitCode: 1, startedAt: before, finishedAt: earlier, containerID: "9" } } },
      }).state,
    ).toEqual({ terminated: { exitCode: 1, reason: "Error", startedAt: before, finishedAt: earlier, containerID: "9" } });
  });
});

describe("a container that had ended", () => {
  const spec = { restartPolicy: "Never" };

  test("stays so where it may not run again, whatever is reported", () => {
    expect(statusOf({ spec, reported: runs, stored: ended(1) }).state).toMatchObject({ terminated: { exitCode: 1 } });
    expect(statusOf({ spec: { restartPolicy: "OnFailure" }, reported: runs, stored: ended(0) }).state).toMatchObject({ terminated: {} });
    expect(statusOf({ reported: runs, stored: ended(1), status: { phase: "Failed" } }).state).toMatchObject({ terminated: {} });
  });

  test("runs again where it may, and keeps its end as the last one", () => {
    const status = statusOf({ reported: { ...runs, restartCount: 1 }, stored: ended(1) });

    expect(status.state).toEqual({ running: { startedAt: earlier } });
    expect(status.lastState).toMatchObject({ terminated: { exitCode: 1 } });
  });

  test("runs again where a rule of another container restarts all, and stays as it was where the report does not name it", () => {
    const rules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }];
    const other = { name: "other", restartPolicy: "Never", restartPolicyRules: rules };
    const restartsAll = { restartPolicy: "Never", containers: [{ name: "app" }, other] };

    expect(statusOf({ spec: restartsAll, reported: runs, stored: ended(0) }).state).toEqual({ running: { startedAt: earlier } });
    expect(statusOf({ spec: restartsAll, stored: ended(0) }).state).toMatchObject({ terminated: { exitCode: 0 } });
    expect(statusOf({ spec: restartsAll, stored: runs }).state).toMatchObject({ running: {} });
    expect(statusOf({ spec: restartsAll, reported: runs, stored: ended(0), status: { phase: "Failed" } }).state).toMatchObject({
      terminated: {},
    });
  });

  test("stays so where the report does not name it", () => {
    expect(statusOf({ stored: ended(3) }).state).toMatchObject({ terminated: { exitCode: 3 } });
  });

  test("ends once more as the report says", () => {
    expect(statusOf({ spec, reported: ended(7), stored: ended(1) }).state).toMatchObject({ terminated: { exitCode: 7 } });
  });
});

describe("an ephemeral container", () => {
  function ephemeral(reported: Status, stored?: Status, ending?: ContainerEnding): ContainerStatus | undefined {
    const lists = containerStatuses({
      pod: {
        spec: { containers: [], ephemeralContainers: [{ name: "debug" }] },
        status: { ephemeralContainerStatuses: stored ? [named("debug", stored)] : [] },
      },
      reported: { ephemeralContainerStatuses: [named("debug", reported)] },
      ending,
      now,
    });
    return lists.ephemeralContainerStatuses?.[0];
  }

  test("never runs again once it has ended, and is never ready", () => {
    expect(ephemeral(runs, ended(1))?.state).toMatchObject({ terminated: { exitCode: 1 } });
    expect(ephemeral(runs)).toMatchObject({ ready: false, started: undefined, state: { running: {} } });
  });

  test("that never started does not end with its pod", () => {
    const ending = { exitCode: 0, reason: "Completed", message: "", neverStarted: "end" } as const;

    expect(ephemeral({}, undefined, ending)?.state).toMatchObject({ waiting: {} });
    expect(ephemeral(runs, undefined, ending)?.state).toMatchObject({ terminated: { exitCode: 0 } });
  });
});

describe("a container the report does not name", () => {
  test("goes on as it was where it may not run again, but is not ready", () => {
    const status = statusOf({ spec: { restartPolicy: "Never" }, stored: runs });

    expect(status).toMatchObject({ ready: false, state: { running: { startedAt: earlier } } });
  });

  test("goes on as it was where the pod is being deleted", () => {
    expect(statusOf({ pod: { metadata: { deletionTimestamp: now } }, stored: runs }).state).toMatchObject({ running: {} });
  });

  test("waits to run again where it may, and has ended without anybody knowing how", () => {
    const status = statusOf({ stored: { ...runs, containerID: "1", restartCount: 2 } });

    expect(status).toMatchObject({ ready: false, restartCount: 2, state: { waiting: { reason: "ContainerCreating" } } });
    expect(status.lastState).toEqual({
      terminated: {
        exitCode: 137,
        reason: "ContainerStatusUnknown",
        message: "The provider no longer reports the container, which was running",
        startedAt: earlier,
        containerID: "1",
      },
    });
  });

  test("keeps the end before that where it is known", () => {
    const lastState = { terminated: { exitCode: 5, finishedAt: before } };

    expect(statusOf({ stored: { ...runs, lastState } }).lastState).toMatchObject({ terminated: { exitCode: 5 } });
    expect(statusOf({ stored: { ...waits, lastState } }).lastState).toMatchObject({ terminated: { exitCode: 5 } });
  });

  test("waits, where nothing was ever known of it", () => {
    expect(statusOf({ container: { image: "app:1" } })).toMatchObject({
      image: "app:1",
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: "ContainerCreating" } },
      lastState: {},
    });
  });
});

describe("how the run before ended", () => {
  test("is what the report says, else what was stored, of that run or of the one before", () => {
    const lastState = { terminated: { exitCode: 9 } };

    expect(statusOf({ reported: { ...runs, lastState }, stored: ended(1) }).lastState).toMatchObject({ terminated: { exitCode: 9 } });
    expect(statusOf({ reported: runs, stored: { ...runs, lastState } }).lastState).toMatchObject({ terminated: { exitCode: 9 } });
    expect(statusOf({ reported: runs, stored: runs }).lastState).toEqual({});
  });

  test("is not the end of this very run", () => {
    expect(statusOf({ reported: ended(1), stored: ended(1) }).lastState).toEqual({});
    expect(statusOf({ reported: { ...ended(1), restartCount: 1 }, stored: ended(3) }).lastState).toMatchObject({
      terminated: { exitCode: 3 },
    });
    expect(statusOf({ reported: { ...ended(1), containerID: "2" }, stored: { ...ended(3), containerID: "1" } }).lastState).toMatchObject({
      terminated: { exitCode: 3 },
    });
  });
});

describe("a container whose pod has ended", () => {
  const ending: ContainerEnding = { exitCode: 137, reason: "Lost", message: "gone", neverStarted: "wait" };

  test("ends with it where it runs", () => {
    expect(statusOf({ ending, reported: { ...runs, containerID: "1" } }).state).toEqual({
      terminated: { exitCode: 137, reason: "Lost", message: "gone", startedAt: earlier, finishedAt: now, containerID: "1" },
    });
  });

  test("ends as its last run where it is between two, and that is the last one no longer", () => {
    const between = { ...waits, containerID: "1", lastState: { terminated: { exitCode: 3 } } };

    expect(statusOf({ ending, reported: between })).toMatchObject({
      state: { terminated: { exitCode: 3, finishedAt: now, containerID: "1" } },
      lastState: {},
    });
    expect(
      statusOf({ ending, reported: { ...waits, lastState: { terminated: { exitCode: 3, finishedAt: before, containerID: "0" } } } }).state,
    ).toMatchObject({ terminated: { exitCode: 3, finishedAt: before, containerID: "0" } });
  });

  test("keeps its own end", () => {
    expect(statusOf({ ending, reported: ended(5) }).state).toMatchObject({ terminated: { exitCode: 5 } });
  });

  test.each([
    ["wait", "waiting", "waiting"],
    ["endUnreported", "waiting", "terminated"],
    ["end", "terminated", "terminated"],
  ] as const)(
    "that never started, under the rule %s, is %s where it is reported and %s where not",
    (neverStarted, reported, unreported) => {
      const rule = { ...ending, neverStarted };

      expect(Object.keys(statusOf({ ending: rule, reported: waits }).state ?? {})).toEqual([reported]);
      expect(Object.keys(statusOf({ ending: rule }).state ?? {})).toEqual([unreported]);
    },
  );
});

describe("readiness", () => {
  test.each<[string, Case, boolean, boolean]>([
    ["of a container that is ready", { reported: runs }, true, true],
    ["of one that is not ready yet", { reported: { ...runs, ready: false } }, false, true],
    [
      "of one that has a startup probe and is not ready yet",
      { reported: { ...runs, ready: false }, container: { startupProbe: {} } },
      false,
      false,
    ],
    ["of one that has a startup probe and is ready", { reported: runs, container: { startupProbe: {} } }, true, true],
    [
      "of one that is said to have started",
      { reported: { ...runs, ready: false, started: true }, container: { startupProbe: {} } },
      false,
      true,
    ],
    ["of one that is said not to have started", { reported: { ...runs, started: false } }, false, false],
    ["of one that waits", { reported: { ...waits, ready: true, started: true } }, false, false],
    ["of one that has ended", { reported: { ...ended(0), ready: true, started: true } }, false, false],
  ])("%s", (_what, given, ready, started) => {
    expect(statusOf(given)).toMatchObject({ ready, started });
  });

  test.each<[string, Partial<Container>, Status, boolean, boolean]>([
    ["an init container that runs", {}, runs, false, true],
    ["an init container that has ended well", {}, ended(0), true, false],
    ["an init container that has failed", {}, ended(1), false, false],
    ["a sidecar that runs", { restartPolicy: "Always" }, runs, true, true],
    ["a sidecar that has ended well", { restartPolicy: "Always" }, ended(0), false, false],
  ])("of %s", (_what, container, reported, ready, started) => {
    const [status] =
      containerStatuses({
        pod: { spec: { containers: [], initContainers: [{ name: "i", ...container }] } },
        reported: { initContainerStatuses: [named("i", reported)] },
        now,
      }).initContainerStatuses ?? [];

    expect(status).toMatchObject({ ready, started });
  });
});

test("a stored status without a state is one of a container of which nothing is known", () => {
  expect(statusOf({ stored: {} }).state).toEqual({ waiting: { reason: "ContainerCreating" } });
  expect(statusOf({ stored: {}, reported: runs }).state).toEqual({ running: { startedAt: earlier } });
});
