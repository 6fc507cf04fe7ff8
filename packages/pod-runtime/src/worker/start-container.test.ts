import { VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError, DeadlineExceededError, InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { RuntimeContainerState } from "../runtime/container-runtime.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { startContainer, type StartOutcome } from "./start-container.ts";

const never = new AbortController().signal;

/** A runtime with one container in its sandbox. */
function runtimeWith(state: RuntimeContainerState): FakeRuntime {
  const runtime = new FakeRuntime(new VirtualClock());
  runtime.sandboxes.set("s1", { id: "s1", labels: {}, isReady: true, ips: [], createdAtMs: 0 });
  runtime.containers.set("c1", { id: "c1", sandboxId: "s1", labels: {}, image: "app:1", imageId: "i", state });
  return runtime;
}

const start = (runtime: FakeRuntime, mayHaveBegun = false, signal = never): Promise<StartOutcome> =>
  startContainer("c1", { runtime, mayHaveBegun }, signal);

const created: RuntimeContainerState = { kind: "created" };
const running: RuntimeContainerState = { kind: "running", startedAtMs: 7 };
const ranAndEnded: RuntimeContainerState = { kind: "exited", exitCode: 3, startedAtMs: 7, finishedAtMs: 9 };
const neverRan: RuntimeContainerState = { kind: "exited", exitCode: 127, finishedAtMs: 9 };

test("a created container is started, and then inspected", async () => {
  const runtime = runtimeWith(created);

  expect(await start(runtime)).toMatchObject({ kind: "begun", container: { id: "c1", state: { kind: "running" } } });
  expect(runtime.calls).toEqual(["startContainer c1", "inspectContainer c1"]);
});

test("a running container that cannot be inspected counts as started", async () => {
  const runtime = runtimeWith(created);
  runtime.failNext("inspectContainer");

  expect(await start(runtime)).toEqual({ kind: "begun", container: undefined });
});

test.for([running, ranAndEnded])(
  "if an earlier start may have reached the runtime, a container that is %o is not started again",
  async (state) => {
    const runtime = runtimeWith(state);

    expect(await start(runtime, true)).toMatchObject({ kind: "begun", container: { state } });
    expect(runtime.calls).toEqual(["inspectContainer c1"]);
  },
);

test("if an earlier start may have reached the runtime but has not, the container is started", async () => {
  const runtime = runtimeWith(created);

  expect(await start(runtime, true)).toMatchObject({ kind: "begun" });
  expect(runtime.calls).toContain("startContainer c1");
});

test("if the result of an earlier start cannot be determined, the container is not started", async () => {
  const runtime = runtimeWith(running);
  runtime.failNext("inspectContainer", 2);

  expect(await start(runtime, true)).toEqual({ kind: "unclear", message: "inspectContainer: the runtime is away" });
  expect(runtime.calls).not.toContain("startContainer c1");
});

test.for([running, ranAndEnded])("after a failed start, a container that is %o has begun", async (state) => {
  const runtime = runtimeWith(state);
  runtime.failures.set("startContainer", [new InvalidInputError("no")]);

  expect(await start(runtime)).toMatchObject({ kind: "begun", container: { state } });
});

test("a container that ended without having run is refused, with its exit code", async () => {
  const runtime = runtimeWith(neverRan);
  runtime.failures.set("startContainer", [new UnavailableError("exec: not found")]);

  expect(await start(runtime)).toEqual({ kind: "refused", message: "exec: not found", exitCode: 127 });
});

test.for([new ConflictError("later"), new UnavailableError("later"), new DeadlineExceededError("later")])(
  "a start that failed with %s may succeed later",
  async (error) => {
    const runtime = runtimeWith(created);
    runtime.failures.set("startContainer", [error]);

    expect(await start(runtime)).toEqual({ kind: "unclear", message: "later" });
  },
);

test.for([new InvalidInputError("no such command"), new Error("no such command")])(
  "a start that failed with %s is refused",
  async (error) => {
    const runtime = runtimeWith(created);
    runtime.failures.set("startContainer", [error]);

    expect(await start(runtime)).toEqual({ kind: "refused", message: "no such command" });
  },
);

test("after a failed start, a container that cannot be inspected has an unclear result", async () => {
  const runtime = runtimeWith(created);
  runtime.failures.set("startContainer", [new InvalidInputError("no such command")]);
  runtime.failNext("inspectContainer");

  expect(await start(runtime)).toEqual({ kind: "unclear", message: "no such command" });
});

test("an aborted start ends with the signal's reason, whatever the runtime says", async () => {
  const abort = new AbortController();
  const reason = new Error("given up");
  const runtime = runtimeWith(created);
  runtime.startContainer = async () => {
    abort.abort(reason);
    throw new UnavailableError("away");
  };

  await expect(start(runtime, false, abort.signal)).rejects.toBe(reason);
  expect(runtime.calls).toEqual([]);
});

test("an aborted inspection ends with the signal's reason", async () => {
  const abort = new AbortController();
  const reason = new Error("given up");
  const runtime = runtimeWith(created);
  runtime.inspectContainer = async () => {
    abort.abort(reason);
    throw new UnavailableError("away");
  };

  await expect(start(runtime, false, abort.signal)).rejects.toBe(reason);
});
