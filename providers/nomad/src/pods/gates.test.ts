import { expect, test } from "vitest";
import type { Allocation, TaskState } from "../api/types.ts";
import type { ContainerRole } from "../job/pod-shape.ts";
import { gatesToOpen } from "./gates.ts";

const pending: TaskState = { State: "pending", Failed: false, Restarts: 0 };
const running: TaskState = { State: "running", Failed: false, Restarts: 0, StartedAt: "2026-11-21T10:00:00Z" };
const dead = (ExitCode: number): TaskState => ({
  ...running,
  State: "dead",
  Failed: ExitCode !== 0,
  Events: [{ Type: "Terminated", Time: 1e18, ExitCode }],
});

function due(roles: readonly ContainerRole[], states: readonly (TaskState | undefined)[]): readonly string[] {
  const containers = roles.map((role, index) => ({ name: `c${index}`, image: "", role }));
  const TaskStates = Object.fromEntries(states.flatMap((state, index) => (state ? [[`c${index}`, state]] : [])));
  return gatesToOpen({ containers }, { TaskStates } as unknown as Allocation, () => true);
}

test.each<[string, readonly ContainerRole[], readonly (TaskState | undefined)[], readonly string[]]>([
  ["nothing while the first runs", ["init", "init", "main"], [running, pending, pending], []],
  ["the second when the first has ended well", ["init", "init", "main"], [dead(0), pending, pending], ["c1"]],
  ["nothing when the first has failed", ["init", "init", "main"], [dead(1), pending, pending], []],
  ["the one after a sidecar as soon as that runs", ["sidecar", "init", "main"], [running, pending, pending], ["c1"]],
  ["nothing before a sidecar runs", ["sidecar", "init", "main"], [pending, pending, pending], []],
  ["the third only after the second", ["init", "init", "init", "main"], [dead(0), running, pending, pending], []],
  ["nothing that has started", ["init", "init", "main"], [dead(0), dead(0), running], []],
  ["nothing of main containers", ["init", "main"], [dead(0), pending], []],
  ["nothing before the client has heard of it", ["init", "init", "main"], [undefined, undefined, undefined], []],
])("opens %s", (_name, roles, states, gates) => {
  expect(due(roles, states)).toEqual(gates);
});

test("what comes after a sidecar with a startup probe waits until that has passed, main containers too", () => {
  const containers = [
    { name: "proxy", image: "", role: "sidecar", probes: ["startup"] },
    { name: "set-up", image: "", role: "init" },
    { name: "app", image: "", role: "main" },
  ] as const;
  const open = (isStarted: boolean, setUp: TaskState): readonly string[] =>
    gatesToOpen(
      { containers },
      { TaskStates: { proxy: running, "set-up": setUp, app: pending } } as unknown as Allocation,
      () => isStarted,
    );

  expect(open(false, pending)).toEqual([]);
  expect(open(true, pending)).toEqual(["set-up"]);
  expect(open(true, dead(0))).toEqual(["app"]);
  expect(open(false, dead(0))).toEqual([]);
});
