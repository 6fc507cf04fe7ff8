import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PodLabels } from "../pod/pod-labels.ts";
import { observeContainer, type Observation } from "../status/observation.ts";
import { instanceId, PodRegistry } from "../status/pod-registry.ts";
import { ContainerEnds } from "./container-ends.ts";

const labels: PodLabels = {
  ref: { namespace: "default", name: "web", uid: "u1" },
  owner: { clusterId: "c", nodeName: "n" },
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Always",
  ownsPorts: false,
  securityGroups: [],
};

let clock: VirtualClock;
let registry: PodRegistry;
let ends: ContainerEnds;
let asked: string[];
let isEnding: boolean;
/** What Zun says of the container when it is looked at; `undefined`: it is gone. */
let now: Observation | undefined;
/** What happens when Zun has taken the restart, before its answer comes. */
let onReboot: () => void;

beforeEach(() => {
  [clock, asked, isEnding] = [new VirtualClock(), [], false];
  registry = new PodRegistry(clock);
  onReboot = () => {};
  ends = new ContainerEnds({
    api: {
      rebootContainer: async () => {
        asked.push("reboot");
        onReboot();
      },
      stopContainer: async () => void asked.push("stop"),
    },
    finder: {
      look: async () => {
        asked.push("look");
        return now;
      },
    },
    registry,
    clock,
    logger: silentLogger,
    isEnding: () => isEnding,
    onChange: () => {},
  });
  now = said("Running", { status_detail: "Up 5 mins" });
  registry.note(now);
});
afterEach(() => ends[Symbol.asyncDispose]());

function said(status: string, more: Readonly<Record<string, string>> = {}): Observation {
  return observeContainer({ uuid: "z1", image: "nginx", created_at: "2026-01-01 00:00:00.5", status, ...more }, labels);
}

function fail(isRestarted = true): void {
  ends.end("u1", { name: "main", id: instanceId({ uuid: "z1" }, "main", registry.record("u1", "main")), graceSeconds: 5, isRestarted });
}

const status = (): unknown => registry.status("u1")?.containerStatuses?.[0];

test("a failed container is restarted, and counted when another run is seen", async () => {
  onReboot = () => (now = said("Restarting", { task_state: "container_rebooting" }));
  fail();
  await clock.advance(1_000);
  now = said("Running", { status_detail: "Up 1 seconds" });
  await clock.advance(500);

  expect([asked.filter((each) => each === "reboot").length, ends.has("u1")]).toEqual([1, false]);
  expect(status()).toMatchObject({ restartCount: 1, state: { running: {} } });
});

test("a restart that Zun has answered and not made is not counted", async () => {
  fail();
  await clock.advance(10_000);

  expect(ends.has("u1")).toBe(false);
  expect(status()).toMatchObject({ restartCount: 0, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } });
});

test.each(["Paused", "Unknown", "a word that is none of Zun's"])(
  "what is %s is restarted once it runs again, and is shown meanwhile",
  async (word) => {
    now = said(word);
    fail();
    await clock.advance(120_000);
    expect([asked.includes("reboot"), ends.has("u1")]).toEqual([false, true]);
    expect(status()).toMatchObject({ ready: false });
    now = said("Running", { status_detail: "Up 7 mins" });
    await clock.advance(30_000);

    expect(asked.filter((each) => each === "reboot")).toHaveLength(1);
  },
);

test.each(["Stopped", "Error", "Dead", "Restarting", "Rebuilding", "Deleting"])(
  "what is %s has ended by itself, and is left alone",
  async (word) => {
    now = said(word);
    fail();
    await clock.advance(120_000);

    expect([asked, ends.has("u1")]).toEqual([["look"], false]);
  },
);

test("what never restarts is stopped, and a container of before is left alone", async () => {
  fail(false);
  ends.end("u1", { name: "main", id: "z0/main/0", graceSeconds: 5, isRestarted: true });
  await clock.advance(1_000);

  expect(asked).toEqual(["look", "stop", "look"]);
});

test.each<[string, () => void]>([
  ["is being deleted", () => (isEnding = true)],
  ["is gone", () => registry.forget("u1")],
  ["has another container", () => registry.note({ ...said("Creating"), uuid: "z2" })],
])("of a pod that %s when Zun answers the restart, nothing is noted", async (_how, happen) => {
  let before: unknown;
  onReboot = () => {
    happen();
    before = [registry.observed("u1"), status()];
  };
  fail();
  await clock.advance(60_000);

  expect([registry.observed("u1"), status()]).toEqual(before);
  expect([asked, ends.has("u1")]).toEqual([["look", "reboot"], false]);
});

test("of a pod that is gone while its restart is waited for, nothing is noted", async () => {
  onReboot = () => (now = said("Restarting", { task_state: "container_rebooting" }));
  fail();
  await clock.advance(1_000);
  registry.forget("u1");
  now = said("Running");
  await clock.advance(1_000);

  expect([registry.observed("u1"), ends.has("u1")]).toEqual([undefined, false]);
});

test("a restart that fails is asked for again", async () => {
  onReboot = () => {
    onReboot = () => {};
    throw new UnavailableError("the cloud is away");
  };
  fail();
  await clock.advance(1_000);

  expect(asked.filter((each) => each === "reboot")).toHaveLength(2);
});
