import type { Container, ContainerStatus } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { canonicalQuantities, canonicalResources, canonicalState, canonicalContainerStatus } from "./canonical-status.ts";

const time = "2026-05-01T12:00:00Z";
const exact = "2026-05-01T14:00:00.123456+02:00";

function read(status: Partial<ContainerStatus>, container: Container = { name: "app" }): Partial<ContainerStatus> {
  const spec = { kind: "main", container, isWindows: false } as const;
  // What JSON makes of it, as the API server gets it.
  return JSON.parse(JSON.stringify(canonicalContainerStatus({ name: "app", ...status }, 4096, spec))) as Partial<ContainerStatus>;
}

describe("a container's status", () => {
  test("of which nothing is told waits", () => {
    expect(read({})).toEqual({ name: "app", image: "", imageID: "", ready: false, restartCount: 0, state: { waiting: {} }, lastState: {} });
  });

  test("keeps what is told, in the API server's form", () => {
    expect(
      read({
        image: "app:1",
        imageID: "app@sha256:1",
        containerID: "vk://1",
        ready: true,
        started: false,
        restartCount: 3,
        state: { running: { startedAt: exact } },
        lastState: { terminated: { exitCode: 3, finishedAt: exact } },
        resources: { limits: { cpu: "0.5" }, requests: { memory: "1024Mi" }, claims: [{ name: "gpu" }] },
        allocatedResources: { cpu: "1000m" },
        stopSignal: "SIGINT",
      }),
    ).toEqual({
      name: "app",
      image: "app:1",
      imageID: "app@sha256:1",
      containerID: "vk://1",
      ready: true,
      started: false,
      restartCount: 3,
      state: { running: { startedAt: time } },
      lastState: { terminated: { exitCode: 3, reason: "Error", finishedAt: time } },
      resources: { limits: { cpu: "500m" }, requests: { memory: "1Gi" }, claims: [{ name: "gpu" }] },
      allocatedResources: { cpu: "1" },
      stopSignal: "SIGINT",
    });
  });

  test("leaves out what is absent, false or empty, however deep, and keeps zeros", () => {
    const mount = { name: "v", mountPath: "/v", readOnly: false, recursiveReadOnly: "" };
    const status = read({
      volumeMounts: [mount],
      allocatedResourcesStatus: [],
      user: { linux: { uid: 0, gid: 1, supplementalGroups: [] } },
    });

    expect(status).toMatchObject({ volumeMounts: [{ name: "v", mountPath: "/v" }], user: { linux: { uid: 0, gid: 1 } } });
    expect(status.volumeMounts?.[0]).not.toHaveProperty("readOnly");
    expect(status.volumeMounts?.[0]).not.toHaveProperty("recursiveReadOnly");
    expect(status.user?.linux).not.toHaveProperty("supplementalGroups");
    expect(status).not.toHaveProperty("allocatedResourcesStatus");
  });

  test.each([
    [-1, 0],
    [2.9, 2],
    [Number.NaN, 0],
    ["3", 0],
    [null, 0],
  ])("has for a restart count of %j one of %i", (restartCount, expected) => {
    expect(read({ restartCount: restartCount as number }).restartCount).toBe(expected);
  });

  test.each([
    ["yes", false],
    [undefined, false],
    [true, true],
  ])("is ready only if a provider says so plainly: %j", (ready, expected) => {
    expect(read({ ready: ready as boolean }).ready).toBe(expected);
  });

  test("says nothing of having started where that is no yes or no", () => {
    expect(read({ started: "yes" as unknown as boolean })).not.toHaveProperty("started");
  });

  test("has nothing but an end for a last state", () => {
    expect(read({ lastState: { running: { startedAt: time } } }).lastState).toEqual({});
  });
});

describe("a container's state", () => {
  test.each([
    [{ waiting: { reason: "R" }, running: {}, terminated: { exitCode: 0 } }, "terminated"],
    [{ waiting: { reason: "R" }, running: {} }, "running"],
    [{ waiting: { reason: "R" } }, "waiting"],
  ])("of several that are told is one: %#", (state, kept) => {
    expect(Object.keys(canonicalState(state, 4096))).toEqual([kept]);
  });

  test.each([undefined, null, {}])("is none where none is told: %j", (state) => {
    expect(canonicalState(state, 4096)).toEqual({});
  });

  test("of a wait has its reason and its message, no longer than it may be", () => {
    expect(canonicalState({ waiting: { reason: "R", message: "abcdef" } }, 3)).toEqual({ waiting: { reason: "R", message: "abc" } });
  });

  test.each([
    [{ exitCode: 0 }, { exitCode: 0, reason: "Completed" }],
    [{ exitCode: 3 }, { exitCode: 3, reason: "Error" }],
    [
      { exitCode: 3, reason: "OOMKilled" },
      { exitCode: 3, reason: "OOMKilled" },
    ],
    [{ exitCode: undefined }, { exitCode: 137, reason: "Error" }],
    [
      { exitCode: 1, signal: 9 },
      { exitCode: 1, reason: "Error", signal: 9 },
    ],
    [
      { exitCode: 1, signal: 0 },
      { exitCode: 1, reason: "Error" },
    ],
  ])("of an end %j is %j", (terminated, expected) => {
    expect(JSON.parse(JSON.stringify(canonicalState({ terminated: terminated as { exitCode: number } }, 4096)))).toEqual({
      terminated: expected,
    });
  });

  test("of an end keeps message, times and the container's id", () => {
    const terminated = { exitCode: 1, message: "abcdef", startedAt: exact, finishedAt: exact, containerID: "vk://1" };

    expect(canonicalState({ terminated }, 3).terminated).toMatchObject({
      message: "abc",
      startedAt: time,
      finishedAt: time,
      containerID: "vk://1",
    });
  });
});

test("quantities that are none are left out, and where none is left nothing is said", () => {
  expect(canonicalQuantities({ cpu: "1000m", memory: "lots", pods: undefined, $patch: "1", "": "1" })).toEqual({ cpu: "1" });
  expect(canonicalQuantities({ memory: "lots" })).toBeUndefined();
  expect(canonicalQuantities(undefined)).toBeUndefined();
});

test("resources of which nothing is said are absent, and those that are empty are empty", () => {
  expect(canonicalResources(undefined)).toBeUndefined();
  expect(JSON.parse(JSON.stringify(canonicalResources({})))).toEqual({});
  expect(JSON.parse(JSON.stringify(canonicalResources({ claims: [] })))).toEqual({});
  expect(
    JSON.parse(
      JSON.stringify(
        canonicalResources({
          claims: [
            { name: "", request: "one" },
            { name: "a", request: "" },
          ],
        }),
      ),
    ),
  ).toEqual({
    claims: [{ name: "a" }],
  });
});

test("an entry of a list that says nothing is left out of it", () => {
  const mount = { name: "v", mountPath: "/v" };

  expect(read({ volumeMounts: [{ name: "", mountPath: "" }, mount, null as never] }).volumeMounts).toEqual([mount]);
});
