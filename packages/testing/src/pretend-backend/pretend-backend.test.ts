import { VirtualClock } from "@virtual-kubelet/clock";
import { beforeEach, expect, test } from "vitest";
import type { Instance, InstanceRequest } from "./instance.ts";
import { toProviderPodStatus } from "./instance-status.ts";
import { PretendBackend, type BackendTimings } from "./pretend-backend.ts";

let clock: VirtualClock;
let changes: string[];
let timings: BackendTimings;
let backend: PretendBackend;

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 0, 1));
  changes = [];
  timings = {};
  backend = open();
});

test("a pod runs after the start delay, with an address and container ids that name its instance", async () => {
  timings = { startDelayMs: 2000 };
  backend.create(pod("a"));
  expect(status("a")).toMatchObject({
    phase: "Pending",
    containerStatuses: [{ name: "main", state: { waiting: { reason: "ContainerCreating" } } }],
  });

  await clock.advance(2000);

  expect(status("a")).toEqual({
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
    containerStatuses: [
      {
        name: "main",
        image: "web:1",
        imageID: "",
        containerID: "pretend://i1/main",
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: "2026-01-01T00:00:02Z" } },
      },
    ],
    initContainerStatuses: [expect.objectContaining({ name: "prepare", state: { terminated: expect.objectContaining({ exitCode: 0 }) } })],
  });
  expect(changes).toEqual(["created i1", "running i1"]);
});

test("a pod that is stopped before it runs never ran", () => {
  timings = { startDelayMs: 2000, stopDelayMs: 1000 };
  backend.create(pod("a"));
  backend.stop("a", 30);

  expect(status("a")).toMatchObject({ phase: "Pending", containerStatuses: [{ state: { waiting: expect.anything() } }] });
});

test("a second create for a pod creates a second instance", () => {
  backend.create(pod("a"));
  backend.create(pod("a"));

  expect(backend.of("a").map(({ instanceId }) => instanceId)).toEqual(["i1", "i2"]);
});

test("a stopped pod ends by itself within its grace period, and is reported as ended and then as gone", async () => {
  timings = { stopDelayMs: 3000 };
  backend.create(pod("a"));

  expect(backend.stop("a", 30)).toBe(1);
  expect(status("a")?.phase).toBe("Running");
  await clock.advance(3000);

  expect(changes).toEqual(["created i1", "stopping i1", "ended i1 0", "removed i1 0"]);
  expect(backend.list()).toEqual([]);
  expect(backend.stop("a", 30)).toBe(0);
});

test("a pod that exceeds its grace period is killed, and a second stop with a shorter period shortens the rest", async () => {
  timings = { stopDelayMs: 60_000 };
  backend.create(pod("a"));
  backend.stop("a", 30);
  await clock.advance(5000);

  backend.stop("a", 1);
  await clock.advance(999);
  expect(backend.list()).toHaveLength(1);
  await clock.advance(1);

  expect(changes).toContain("ended i1 137");
  expect(backend.list()).toEqual([]);
});

test("a second stop with a longer grace period changes nothing", async () => {
  timings = { stopDelayMs: 60_000 };
  backend.create(pod("a"));
  backend.stop("a", 1);

  backend.stop("a", 30);
  await clock.advance(1000);

  expect(changes).toContain("ended i1 137");
});

test("a pod whose containers end by themselves keeps their exit code until it is stopped", () => {
  backend.create(pod("a"));

  backend.exit("a", 3);
  expect(status("a")).toMatchObject({ phase: "Failed", containerStatuses: [{ ready: false, state: { terminated: { exitCode: 3 } } }] });
  backend.stop("a", 0);

  expect(backend.list()).toEqual([]);
});

test("an instance's script sets when it ends and how long a stop takes", async () => {
  backend.create({ ...pod("a"), script: { exitAfterMs: 3000, exitCode: 4 } });
  backend.create({ ...pod("b"), script: { stopDelayMs: 7000 } });
  backend.stop("b", 30);

  await clock.advance(3000);
  expect(status("a")).toMatchObject({ phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 4 } } }] });
  expect(backend.of("b")).toHaveLength(1);
  await clock.advance(4000);

  expect(backend.of("b")).toEqual([]);
  expect(changes).toEqual(["created i1", "created i2", "stopping i2", "ended i1 4", "ended i2 0", "removed i2 0"]);
});

test("a restored back end continues from the state of the earlier one", async () => {
  timings = { startDelayMs: 2000, stopDelayMs: 60_000 };
  backend.create(pod("a"));
  backend.create(pod("b"));
  backend.stop("b", 5);
  const left = backend.list();
  backend[Symbol.dispose]();
  await clock.advance(3000);
  changes = [];

  backend = open();
  backend.restore(left);
  await clock.advance(2000);

  expect(changes).toEqual(["running i1", "ended i2 137", "removed i2 137"]);
  expect(status("a")).toMatchObject({ containerStatuses: [{ state: { running: { startedAt: "2026-01-01T00:00:02Z" } } }] });
});

test("a changed address is reported, and a lost pod is gone without an end", () => {
  backend.create(pod("a"));

  backend.setPodIP("a", "10.0.0.9");
  expect(status("a")).toMatchObject({ podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] });
  backend.lose("a");

  expect(changes).toEqual(["created i1", "changed i1", "removed i1"]);
});

function open(): PretendBackend {
  let instances = 0;
  const ended = ({ state }: Instance): string => (state.kind === "ended" ? ` ${String(state.exitCode)}` : "");
  return new PretendBackend({
    clock,
    nextInstanceId: () => `i${String(++instances)}`,
    nextPodIP: () => `10.0.0.${String(instances)}`,
    timings: () => timings,
    onChange: (instance, change) => changes.push(`${change} ${instance.instanceId}${ended(instance)}`),
  });
}

function pod(uid: string): InstanceRequest {
  return {
    ref: { namespace: "default", name: "web", uid },
    owner: { clusterId: "c", nodeName: "n" },
    containers: [{ name: "main", image: "web:1" }],
    initContainers: [{ name: "prepare", image: "web:1" }],
  };
}

function status(uid: string): ReturnType<typeof toProviderPodStatus> | undefined {
  const [instance] = backend.of(uid);
  return instance && toProviderPodStatus(instance);
}
