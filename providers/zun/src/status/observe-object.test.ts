import type { Observation } from "@virtual-kubelet/remote-pods";
import { describe, expect, test } from "vitest";
import type { PodLabels } from "../pod/pod-labels.ts";
import { observeObject, type ZunMemory } from "./observe-object.ts";
import { observeCapsule, observeContainer, type ZunObject } from "./zun-object.ts";

const labels: PodLabels = {
  ref: { namespace: "default", name: "web", uid: "u1" },
  owner: { clusterId: "c", nodeName: "n" },
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Never",
  ownsPorts: false,
  securityGroups: [],
  attempt: 0,
};

const startMs = Date.parse("2026-01-01T00:00:00Z");

/** What is known after Zun has shown one object after the other, a second apart. */
function observedAfter(
  objects: readonly ZunObject[],
  { rebootedAtMs, atMs }: { rebootedAtMs?: number; atMs?: number } = {},
): Observation<ZunMemory> {
  let last: Observation<ZunMemory> | undefined;
  for (const [index, object] of objects.entries()) {
    const isLast = index === objects.length - 1;
    const nowMs = isLast && atMs !== undefined ? atMs : startMs + index * 1_000;
    last = observeObject(
      object,
      { memory: last?.memory, nowMs, isEnding: false },
      rebootedAtMs !== undefined && nowMs >= rebootedAtMs ? rebootedAtMs : undefined,
    );
  }
  if (!last) throw new Error("nothing was shown");
  return last;
}

function said(change: Readonly<Record<string, string>>, given: Partial<PodLabels> = {}): ZunObject {
  return observeContainer({ uuid: "z1", image: "nginx", created_at: "2026-01-01 00:00:00.5", ...change }, { ...labels, ...given });
}

function statusAfter(changes: readonly Record<string, string>[], given: Partial<PodLabels> = {}): Observation<ZunMemory>["status"] {
  return observedAfter(changes.map((change) => said(change, given))).status;
}

function stateAfter(changes: readonly Record<string, string>[], given: Partial<PodLabels> = {}): unknown {
  const status = statusAfter(changes, given);
  const [container] = status.containerStatuses ?? [];
  return [status.phase, container?.state, container?.restartCount];
}

describe("a container's status", () => {
  test("waits while Zun makes it, and says what Zun does", () => {
    expect(stateAfter([{ status: "Creating", task_state: "image_pulling" }])).toEqual([
      "Pending",
      { waiting: { reason: "ContainerCreating", message: "image pulling" } },
      0,
    ]);
  });

  test("runs since Zun made it", () => {
    expect(stateAfter([{ status: "Creating" }, { status: "Running" }])).toEqual([
      "Running",
      { running: { startedAt: "2026-01-01T00:00:00Z" } },
      0,
    ]);
  });

  test("has the exit code of the status detail, and stays as it ended", () => {
    const first = [said({ status: "Running" }), said({ status: "Stopped", status_detail: "Exited(3) 1 seconds ago " })];
    const { status, progress } = observedAfter(first);

    expect([status.phase, progress]).toEqual(["Failed", "ended"]);
    expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 3, reason: "Error" });
    expect(observedAfter([...first, said({ status: "Stopped", status_detail: "Exited(3) 9 mins ago " })]).status).toEqual(status);
  });

  test("is done with exit code 0", () => {
    expect(stateAfter([{ status: "Stopped", status_detail: "Exited(0) 2 seconds ago " }])).toMatchObject([
      "Succeeded",
      { terminated: { exitCode: 0, reason: "Completed" } },
      0,
    ]);
  });

  test("is that of a lost container where Zun does not tell the exit code, after a minute", () => {
    const shown = [said({ status: "Running" }), said({ status: "Stopped" }), said({ status: "Stopped" })];
    const soon = observedAfter(shown);
    const late = observedAfter(shown, { atMs: startMs + 62_000 });

    expect([soon.status.phase, soon.progress]).toEqual(["Running", "ending"]);
    expect([late.status.phase, late.progress, late.status.containerStatuses?.[0]?.state]).toMatchObject([
      "Failed",
      "ended",
      { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } },
    ]);
  });

  test("gets the exit code that Zun tells later", () => {
    expect(stateAfter([{ status: "Stopped" }, { status: "Stopped", status_detail: "Exited(9) 1 seconds ago " }])).toMatchObject([
      "Failed",
      { terminated: { exitCode: 9 } },
      0,
    ]);
  });

  test.each<[string, readonly Record<string, string>[], number, string]>([
    ["is counted when another run is seen", [{ status: "Restarting" }, { status: "Running", status_detail: "Up 1 seconds" }], 1, "running"],
    ["is not over while Docker shows the run before", [{ status: "Running", status_detail: "Up 9 mins" }], 0, "waiting"],
    ["is not over while Zun is at it", [{ status: "Running", task_state: "container_rebooting" }], 0, "waiting"],
    ["that Zun does not make is none", Array(5).fill({ status: "Running", status_detail: "Up 9 mins" }), 0, "running"],
    ["whose begin nobody saw is counted", Array(5).fill({ status: "Running", status_detail: "Up 1 seconds" }), 1, "running"],
    ["of a container that ends is over", [{ status: "Stopped", status_detail: "Exited(2) 1 seconds ago " }], 0, "terminated"],
  ])("a restart for a failed probe %s", (_what, after, restarts, state) => {
    const objects = [{ status: "Running" }, { status: "Running" }, ...after].map((change) => said(change, { restartPolicy: "Always" }));
    const [container] = observedAfter(objects, { rebootedAtMs: startMs + 1_500 }).status.containerStatuses ?? [];

    expect([container?.restartCount, Object.keys(container?.state ?? {})]).toEqual([restarts, [state]]);
  });

  test("waits while Zun restarts it, and counts what was seen", () => {
    const always = { restartPolicy: "Always" } as const;
    expect(stateAfter([{ status: "Running" }, { status: "Restarting" }], always)).toMatchObject([
      "Running",
      { waiting: { reason: "CrashLoopBackOff" } },
      0,
    ]);
    expect(stateAfter([{ status: "Running" }, { status: "Restarting" }, { status: "Running" }], always)).toEqual([
      "Running",
      { running: { startedAt: "2026-01-01T00:00:02Z" } },
      1,
    ]);
  });

  test.each<[string, string, number]>([
    ["has run since before it", "Up 9 mins", 0],
    ["began after it", "Up 1 seconds", 1],
    ["began at a time that Zun does not tell", "", 1],
  ])("a restart that was asked for is one if what runs did not run before: it %s", (_when, detail, restarts) => {
    const changes = [{ status: "Running" }, { status: "Restarting" }, { status: "Running", status_detail: detail }];
    const [, state, count] = stateAfter(changes, { restartPolicy: "Always" }) as [unknown, { readonly running: object }, number];
    expect([count, state.running !== undefined]).toEqual([restarts, true]);
  });

  test("an end with an exit code has been, whatever the age of what runs", () => {
    const changes = [
      { status: "Stopped", status_detail: "Exited(1) 1 seconds ago " },
      { status: "Running", status_detail: "Up 9 mins" },
    ];
    expect(stateAfter(changes, { restartPolicy: "Always" })).toMatchObject(["Running", {}, 1]);
  });

  test("fails for good in Error, with Zun's reason, whatever the restart policy", () => {
    const status = statusAfter([{ status: "Error", status_reason: "There are not enough hosts available." }], { restartPolicy: "Always" });

    expect(status).toMatchObject({
      phase: "Failed",
      reason: "ProviderFailed",
      message: "Zun: There are not enough hosts available.",
      containerStatuses: [{ state: { terminated: { exitCode: 128, reason: "StartError" } } }],
    });
  });

  test("runs on while it is paused, and is not ready", () => {
    const [container] = statusAfter([{ status: "Running" }, { status: "Paused" }]).containerStatuses ?? [];
    expect([container?.ready, container?.state?.running !== undefined]).toEqual([false, true]);
  });
});

test("a capsule's containers have the names of the spec, in its order, and the pod says that they are not looked at again", () => {
  const several = { ...labels, containers: ["web", "side"], initContainers: ["setup"], restartPolicy: "Always" } as const;
  const member = (uuid: string, status: string): { uuid: string; status: string; image: string } => ({ uuid, status, image: "i" });
  const { status } = observedAfter([
    observeCapsule(
      {
        uuid: "k1",
        status: "Running",
        containers: [member("a", "Running"), member("b", "Running")],
        init_containers: [member("c", "Stopped")],
        addresses: {
          net: [
            { addr: "fd00::5", version: 6 },
            { addr: "10.0.0.5", version: 4 },
          ],
        },
      },
      several,
    ),
  ]);

  expect(status.phase).toBe("Running");
  expect(status.containerStatuses?.map(({ name, containerID }) => [name, containerID])).toEqual([
    ["web", "zun://a"],
    ["side", "zun://b"],
  ]);
  expect(status.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  expect(status.podIPs).toEqual([{ ip: "10.0.0.5" }, { ip: "fd00::5" }]);
  expect(status.conditions).toMatchObject([{ type: "ContainerStatusRefreshed", status: "False" }]);
});

test("a capsule that Zun has made no containers of yet waits with all of them", () => {
  const { status } = observedAfter([observeCapsule({ uuid: "k1", status: "Creating" }, { ...labels, containers: ["a", "b"] })]);

  expect(status.containerStatuses?.map(({ state }) => state?.waiting?.reason)).toEqual(["ContainerCreating", "ContainerCreating"]);
});
