import { expect, test } from "vitest";
import type { Allocation } from "../api/types.ts";
import { newPodEntry, type PodEntry } from "../pods/pod-entry.ts";
import { runningContainers } from "../probes/running-containers.ts";
import { containerWith, planOf, podWith } from "../test-support/pods.ts";
import { runningAllocationOf, taskOf } from "./task-of.ts";

const running = { State: "running", Failed: false, Restarts: 0, StartedAt: "2026-11-21T10:00:00Z" };

/** A pod whose one container is named as what every object inherits. */
function entryWith(tasks: Allocation["TaskStates"]): PodEntry {
  const entry = newPodEntry("vk-1", planOf(podWith({ containers: [containerWith({ name: "constructor" })] })).shape);
  entry.allocation = { ID: "a-1", TaskStates: tasks } as Allocation;
  return entry;
}

test("a container that the client has not heard of has no task, whatever its name", () => {
  expect(taskOf(entryWith({}), "constructor")).toBeUndefined();
  expect(() => runningAllocationOf(entryWith(null), "constructor")).toThrow("does not run in Nomad: its task is not placed");
  expect(() => runningAllocationOf(entryWith({}), "constructor")).toThrow("does not run in Nomad: its task is not placed");
  expect(() => taskOf(entryWith({}), "toString")).toThrow("pod shop/web has no container toString in Nomad");
});

test("a container that runs is found, and its instance is numbered, whatever its name", () => {
  const entry = entryWith({ constructor: running } as never);

  expect(runningAllocationOf(entry, "constructor")).toBe("a-1");
  expect(runningContainers(entry)).toMatchObject([{ name: "constructor", containerID: "nomad://a-1/constructor/0" }]);
});
