import { VirtualClock } from "@virtual-kubelet/clock";
import { describe, expect, test } from "vitest";
import type { PodLabels } from "../pod/pod-labels.ts";
import { observeCapsule, observeContainer } from "./observation.ts";
import { PodRegistry } from "./pod-registry.ts";

const labels: PodLabels = {
  ref: { namespace: "default", name: "web", uid: "u1" },
  owner: { clusterId: "c", nodeName: "n" },
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Never",
  ownsPorts: false,
  securityGroups: [],
};

/** A registry that was told what Zun said, one word after the other, a second apart. */
async function registryAfter(changes: readonly Record<string, string>[], given: Partial<PodLabels> = {}): Promise<PodRegistry> {
  const clock = new VirtualClock();
  const registry = new PodRegistry(clock);
  for (const change of changes) {
    registry.note(
      observeContainer({ uuid: "z1", image: "nginx", created_at: "2026-01-01 00:00:00.5", ...change }, { ...labels, ...given }),
    );
    await clock.advance(1_000);
  }
  return registry;
}

async function stateAfter(changes: readonly Record<string, string>[], given: Partial<PodLabels> = {}): Promise<unknown> {
  const status = (await registryAfter(changes, given)).status("u1");
  const [container] = status?.containerStatuses ?? [];
  return [status?.phase, container?.state, container?.restartCount];
}

describe("a container's status", () => {
  test("waits while Zun makes it, and says what Zun does", async () => {
    expect(await stateAfter([{ status: "Creating", task_state: "image_pulling" }])).toEqual([
      "Pending",
      { waiting: { reason: "ContainerCreating", message: "image pulling" } },
      0,
    ]);
  });

  test("runs since Zun made it", async () => {
    expect(await stateAfter([{ status: "Creating" }, { status: "Running" }])).toEqual([
      "Running",
      { running: { startedAt: "2026-01-01T00:00:00Z" } },
      0,
    ]);
  });

  test("has the exit code of the status detail, and stays as it ended", async () => {
    const registry = await registryAfter([{ status: "Running" }, { status: "Stopped", status_detail: "Exited(3) 1 seconds ago " }]);
    const first = registry.status("u1");
    registry.note(observeContainer({ uuid: "z1", image: "nginx", status: "Stopped", status_detail: "Exited(3) 9 mins ago " }, labels));

    expect([first?.phase, first?.containerStatuses?.[0]?.state?.terminated]).toMatchObject(["Failed", { exitCode: 3, reason: "Error" }]);
    expect(registry.status("u1")).toEqual(first);
  });

  test("is done with exit code 0", async () => {
    expect(await stateAfter([{ status: "Stopped", status_detail: "Exited(0) 2 seconds ago " }])).toMatchObject([
      "Succeeded",
      { terminated: { exitCode: 0, reason: "Completed" } },
      0,
    ]);
  });

  test("is that of a lost container where Zun does not tell the exit code", async () => {
    expect(await stateAfter([{ status: "Running" }, { status: "Stopped" }])).toMatchObject([
      "Failed",
      { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } },
      0,
    ]);
  });

  test("gets the exit code that Zun tells later", async () => {
    expect(await stateAfter([{ status: "Stopped" }, { status: "Stopped", status_detail: "Exited(9) 1 seconds ago " }])).toMatchObject([
      "Failed",
      { terminated: { exitCode: 9 } },
      0,
    ]);
  });

  test("waits while Zun restarts it, and counts what was seen", async () => {
    const always = { restartPolicy: "Always" } as const;
    expect(await stateAfter([{ status: "Running" }, { status: "Restarting" }], always)).toMatchObject([
      "Running",
      { waiting: { reason: "CrashLoopBackOff" } },
      0,
    ]);
    expect(await stateAfter([{ status: "Running" }, { status: "Restarting" }, { status: "Running" }], always)).toEqual([
      "Running",
      { running: { startedAt: "2026-01-01T00:00:02Z" } },
      1,
    ]);
  });

  test.each<[string, string, number]>([
    ["has run since before it", "Up 9 mins", 0],
    ["began after it", "Up 1 seconds", 1],
    ["began at a time that Zun does not tell", "", 1],
  ])("a restart that was asked for is one if what runs did not run before: it %s", async (_when, detail, restarts) => {
    const changes = [{ status: "Running" }, { status: "Restarting" }, { status: "Running", status_detail: detail }];
    const [, state, count] = (await stateAfter(changes, { restartPolicy: "Always" })) as [unknown, { readonly running: object }, number];
    expect([count, state.running !== undefined]).toEqual([restarts, true]);
  });

  test("an end with an exit code has been, whatever the age of what runs", async () => {
    const changes = [
      { status: "Stopped", status_detail: "Exited(1) 1 seconds ago " },
      { status: "Running", status_detail: "Up 9 mins" },
    ];
    expect(await stateAfter(changes, { restartPolicy: "Always" })).toMatchObject(["Running", {}, 1]);
  });

  test("fails for good in Error, with Zun's reason, whatever the restart policy", async () => {
    const registry = await registryAfter([{ status: "Error", status_reason: "There are not enough hosts available." }], {
      restartPolicy: "Always",
    });

    expect(registry.status("u1")).toMatchObject({
      phase: "Failed",
      reason: "ProviderFailed",
      message: "Zun: There are not enough hosts available.",
      containerStatuses: [{ state: { terminated: { exitCode: 128, reason: "StartError" } } }],
    });
  });

  test("runs on while it is paused, and is not ready", async () => {
    const [container] = (await registryAfter([{ status: "Running" }, { status: "Paused" }])).status("u1")?.containerStatuses ?? [];
    expect([container?.ready, container?.state?.running !== undefined]).toEqual([false, true]);
  });
});

test("a capsule's containers have the names of the spec, in its order, and the pod says that they are not looked at again", () => {
  const registry = new PodRegistry(new VirtualClock());
  const several = { ...labels, containers: ["web", "side"], initContainers: ["setup"], restartPolicy: "Always" } as const;
  const member = (uuid: string, status: string): { uuid: string; status: string; image: string } => ({ uuid, status, image: "i" });
  registry.note(
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
  );

  const status = registry.status("u1");
  expect(status?.phase).toBe("Running");
  expect(status?.containerStatuses?.map(({ name, containerID }) => [name, containerID])).toEqual([
    ["web", "zun://a"],
    ["side", "zun://b"],
  ]);
  expect(status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  expect(status?.podIPs).toEqual([{ ip: "10.0.0.5" }, { ip: "fd00::5" }]);
  expect(status?.conditions).toMatchObject([{ type: "ContainerStatusRefreshed", status: "False" }]);
});

test("a capsule that Zun has made no containers of yet waits with all of them", () => {
  const registry = new PodRegistry(new VirtualClock());
  registry.note(observeCapsule({ uuid: "k1", status: "Creating" }, { ...labels, containers: ["a", "b"] }));

  expect(registry.status("u1")?.containerStatuses?.map(({ state }) => state?.waiting?.reason)).toEqual([
    "ContainerCreating",
    "ContainerCreating",
  ]);
});

test("a container without probes may have the name of what each object of JavaScript has, beside one that is probed", () => {
  const registry = new PodRegistry(new VirtualClock());
  const names = ["web", "constructor"];
  const members = names.map((name) => ({ uuid: name, image: "nginx", status: "Running" }));
  registry.note(
    observeCapsule(
      { uuid: "k1", status: "Running", containers: members },
      { ...labels, containers: names, probes: { web: ["readiness"] } },
    ),
  );

  expect(registry.status("u1")?.containerStatuses?.map(({ name, ready, restartCount }) => [name, ready, restartCount])).toEqual([
    ["web", false, 0],
    ["constructor", true, 0],
  ]);
});
