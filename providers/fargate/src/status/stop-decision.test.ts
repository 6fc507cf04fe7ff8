import type { Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { podOf } from "../test-support/pods.ts";
import { ended, running, taskWith } from "../test-support/tasks.ts";
import { stopDecisionOf } from "./stop-decision.ts";

type Spec = NonNullable<Pod["spec"]>;

const nowMs = Date.parse("2026-11-21T10:05:00Z");
const a = { name: "a", image: "i" };
const b = { name: "b", image: "i" };
const liveness = { livenessProbe: { exec: { command: ["c"] } } };
const startup = { startupProbe: { exec: { command: ["c"] } } };
const startedPod = (spec: Spec): Pod => ({ ...podOf(spec), status: { startTime: "2026-11-21T10:00:00Z" } });

test.each<[string, Spec, ReturnType<typeof taskWith>, object | undefined]>([
  ["whose containers run goes on", { containers: [a, b] }, taskWith({}, running("a"), running("b")), undefined],
  [
    "whose containers have all ended is stopped",
    { restartPolicy: "Never", containers: [a, b] },
    taskWith({}, ended("a", 0), ended("b", 1)),
    { stop: "ended", mustLast: false },
  ],
  [
    "goes on while one container runs",
    { restartPolicy: "Never", containers: [a, b] },
    taskWith({}, ended("a", 0), running("b")),
    undefined,
  ],
  [
    "with a container that Kubernetes would start again is stopped if that lasts",
    { restartPolicy: "OnFailure", containers: [a, b] },
    taskWith({}, ended("a", 1), running("b")),
    { stop: "restart", container: "a", mustLast: true },
  ],
  [
    "with a container that has succeeded goes on under OnFailure",
    { restartPolicy: "OnFailure", containers: [a, b] },
    taskWith({}, ended("a", 0), running("b")),
    undefined,
  ],
  ["with a single container is ended by ECS", { containers: [a] }, taskWith({}, ended("a", 1)), undefined],
  [
    "with a failed init container is stopped",
    { initContainers: [b], containers: [a] },
    taskWith({}, ended("b", 1), { name: "a", lastStatus: "PENDING" }),
    { stop: "init", container: "b", mustLast: false },
  ],
  [
    "with a sidecar that has ended goes on",
    { initContainers: [{ ...b, restartPolicy: "Always" }], containers: [a] },
    taskWith({}, ended("b", 1), running("a")),
    undefined,
  ],
  [
    "whose liveness probe fails is stopped",
    { containers: [{ ...a, ...liveness }] },
    taskWith({}, running("a", { healthStatus: "UNHEALTHY" })),
    { stop: "unhealthy", container: "a", mustLast: false },
  ],
  [
    "whose startup probe fails is stopped",
    { containers: [{ ...a, ...startup }] },
    taskWith({}, running("a", { healthStatus: "UNHEALTHY" })),
    { stop: "startup", container: "a", mustLast: false },
  ],
  [
    "whose startup probe has not ended goes on",
    { containers: [{ ...a, ...startup }] },
    taskWith({}, running("a", { healthStatus: "UNKNOWN" })),
    undefined,
  ],
  [
    "whose readiness probe fails goes on",
    { containers: [{ ...a, readinessProbe: { exec: { command: ["c"] } } }] },
    taskWith({}, running("a", { healthStatus: "UNHEALTHY" })),
    undefined,
  ],
  [
    "at its deadline is stopped",
    { activeDeadlineSeconds: 300, containers: [a] },
    taskWith({}, running("a")),
    { stop: "deadline", mustLast: false },
  ],
  ["before its deadline goes on", { activeDeadlineSeconds: 301, containers: [a] }, taskWith({}, running("a")), undefined],
  [
    "that is being stopped is left alone",
    { activeDeadlineSeconds: 1, containers: [a] },
    taskWith({ desiredStatus: "STOPPED" }, running("a")),
    undefined,
  ],
])("a task %s", (_what, spec, task, decision) => {
  expect(stopDecisionOf(task, startedPod(spec), { nowMs, started: new Set() })).toEqual(decision);
});

describe("after its startup probe has passed", () => {
  const task = taskWith({}, running("a", { healthStatus: "UNHEALTHY" }));
  const started = new Set(["a"]);

  test("a container is not stopped by that probe", () => {
    expect(stopDecisionOf(task, startedPod({ containers: [{ ...a, ...startup }] }), { nowMs, started })).toBeUndefined();
  });

  test("nor if only the API server knows that it has passed", () => {
    const pod = startedPod({ containers: [{ ...a, ...startup }] });
    const status = { name: "a", image: "i", imageID: "", containerID: "ecs://run-a", ready: true, started: true, restartCount: 0 };
    const known = { ...pod, status: { ...pod.status, containerStatuses: [status] } };

    expect(stopDecisionOf(task, known, { nowMs, started: new Set() })).toBeUndefined();
  });

  test("a container is stopped by its liveness probe", () => {
    const spec = { containers: [{ ...a, ...startup, ...liveness }] };

    expect(stopDecisionOf(task, startedPod(spec), { nowMs, started })).toMatchObject({ stop: "unhealthy", container: "a" });
  });
});
