import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { withDeadlines } from "./deadline-runtime.ts";
import { withMeasurements } from "./measured-runtime.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const signal = new AbortController().signal;

/** A measured runtime, and its metrics: the end of each name, the operation and the value. */
function setUp(): {
  readonly fake: FakeRuntime;
  readonly runtime: ContainerRuntime;
  readonly clock: VirtualClock;
  readonly counted: string[];
} {
  const clock = new VirtualClock();
  const fake = new FakeRuntime(clock);
  const counted: string[] = [];
  const note = (name: string, labels: Readonly<Record<string, string>> = {}, value = 1): void =>
    void counted.push(`${name.replace("kubelet_runtime_operations_", "")} ${labels["operation_type"]} ${value}`);
  const metrics = {
    count: note,
    gauge() {},
    observe: (name: string, value: number, labels?: Readonly<Record<string, string>>) => note(name, labels, value),
  };
  return { fake, clock, counted, runtime: withMeasurements(withDeadlines(fake, clock), { clock, metrics }) };
}

test("a call is counted with its duration", async () => {
  const { fake, runtime, clock, counted } = setUp();
  const begun = Promise.withResolvers<void>();
  fake.pullImage = async () => {
    await begun.promise;
    return { id: "i", sizeBytes: 1 };
  };

  const pulled = runtime.pullImage("busybox", [], signal);
  expect(counted).toEqual(["total pull_image 1"]);
  await clock.advance(2_000);
  begun.resolve();

  expect(await pulled).toEqual({ id: "i", sizeBytes: 1 });
  expect(counted).toEqual(["total pull_image 1", "duration_seconds pull_image 2"]);
});

test("a failed call is counted as such, and its error is passed on", async () => {
  const { fake, runtime, counted } = setUp();
  fake.failNext("list");

  await expect(runtime.list({}, signal)).rejects.toThrow("list: the runtime is away");

  expect(counted).toEqual(["total list_containers 1", "errors_total list_containers 1", "duration_seconds list_containers 0"]);
});

test("calls have CRI's names", async () => {
  const { runtime, counted } = setUp();
  const calls: readonly (() => Promise<unknown>)[] = [
    async () => runtime.ping?.(signal),
    () => runtime.stopSandbox("s", signal),
    () => runtime.removeSandbox("s", signal),
    () => runtime.inspectSandbox("s", signal),
    () => runtime.startContainer("c", signal),
    () => runtime.stopContainer("c", { graceMs: 0 }, signal),
    () => runtime.killContainer("c", signal),
    () => runtime.removeContainer("c", signal),
    () => runtime.inspectContainer("c", signal),
    () => runtime.inspectImage("i", signal),
    () => runtime.stats("c", signal),
  ];

  for (const call of calls) await call().catch(() => undefined);

  expect(counted.filter((line) => line.startsWith("total ")).map((line) => line.split(" ")[1])).toEqual([
    "status",
    "stop_podsandbox",
    "remove_podsandbox",
    "podsandbox_status",
    "start_container",
    "stop_container",
    "stop_container",
    "remove_container",
    "container_status",
    "image_status",
    "container_stats",
  ]);
});

test("calls that create something have CRI's names, too, and return the runtime's result", async () => {
  const { runtime, counted } = setUp();
  const { state } = new PodRig(podWith({}));
  const [desired] = state.desired.containers;
  if (!desired) throw new Error("the pod has no container");
  const sandbox = await runtime.createSandbox(await plainPreparation.sandbox(state, 0, signal), signal);
  const id = await runtime.createContainer(
    sandbox.id,
    await plainPreparation.container({ state, desired, attempt: 0, imageId: "i" }, signal),
    signal,
  );
  await runtime.resizeContainer(id, {}, signal);
  await runtime.pullImage("i", [], signal);
  await runtime.exec(
    id,
    [],
    { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() },
    signal,
  );
  await runtime.network?.(sandbox.id, signal);

  expect([sandbox.id, id]).toEqual(["s1", "c2"]);
  expect(counted.filter((line) => line.startsWith("total ")).map((line) => line.split(" ")[1])).toEqual([
    "run_podsandbox",
    "create_container",
    "update_container",
    "pull_image",
    "exec_sync",
    "podsandbox_stats",
  ]);
});

test("a runtime that cannot measure traffic still has no such method", () => {
  const clock = new VirtualClock();
  const fake: ContainerRuntime = Object.assign(new FakeRuntime(clock), { network: undefined });
  const metrics = { count() {}, gauge() {}, observe() {} };

  expect(withMeasurements(withDeadlines(fake, clock), { clock, metrics })).not.toHaveProperty("network");
});
