import { VirtualClock } from "@virtual-kubelet/clock";
import { Duplex } from "node:stream";
import type { AttachIO } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { withDeadlines } from "./deadline-runtime.ts";

const signal = new AbortController().signal;
const { state } = new PodRig(podWith({}));
const [desired] = state.desired.containers;
if (!desired) throw new Error("the pod has no container");
const sandboxSpec = await plainPreparation.sandbox(state, 0, signal);
const containerSpec = await plainPreparation.container({ state, desired, attempt: 0, imageId: "i" }, signal);

type Call = (runtime: ContainerRuntime) => Promise<unknown>;

/** Method, call, default deadline, and the description in its error. */
const limited: readonly (readonly [string, Call, number, string])[] = [
  ["ping", (runtime) => runtime.ping?.(signal) ?? Promise.resolve(), 5_000, "ping"],
  ["createSandbox", (runtime) => runtime.createSandbox(sandboxSpec, signal), 120_000, "create a sandbox"],
  ["stopSandbox", (runtime) => runtime.stopSandbox("s1", signal), 120_000, "stop sandbox s1"],
  ["removeSandbox", (runtime) => runtime.removeSandbox("s1", signal), 120_000, "remove sandbox s1"],
  ["createContainer", (runtime) => runtime.createContainer("s1", containerSpec, signal), 120_000, "create a container"],
  ["startContainer", (runtime) => runtime.startContainer("c1", signal), 240_000, "start container c1"],
  ["stopContainer", (runtime) => runtime.stopContainer("c1", { graceMs: 7_000 }, signal), 37_000, "stop container c1"],
  ["killContainer", (runtime) => runtime.killContainer("c1", signal), 30_000, "kill container c1"],
  ["removeContainer", (runtime) => runtime.removeContainer("c1", signal), 120_000, "remove container c1"],
  ["resizeContainer", (runtime) => runtime.resizeContainer("c1", {}, signal), 120_000, "resize container c1"],
  ["list", (runtime) => runtime.list({}, signal), 60_000, "list"],
  ["inspectContainer", (runtime) => runtime.inspectContainer("c1", signal), 60_000, "inspect container c1"],
  ["inspectSandbox", (runtime) => runtime.inspectSandbox("s1", signal), 60_000, "inspect sandbox s1"],
  ["inspectImage", (runtime) => runtime.inspectImage("app:1", signal), 60_000, "inspect image app:1"],
  ["stats", (runtime) => runtime.stats("c1", signal), 60_000, "measure container c1"],
  ["network", (runtime) => runtime.network?.("s1", signal) ?? Promise.resolve(), 60_000, "measure sandbox s1"],
];

const io: AttachIO = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
const unlimited: readonly (readonly [string, Call])[] = [
  ["pullImage", (runtime) => runtime.pullImage("app:1", [], signal)],
  ["exec", (runtime) => runtime.exec("c1", [], io, signal)],
  ["attach", (runtime) => runtime.attach("c1", io, signal)],
  ["logs", (runtime) => runtime.logs("c1", { follow: true, previous: false, timestamps: false }, signal)],
  ["portForward", (runtime) => runtime.portForward("s1", 80, new Duplex(), signal)],
];

/** A runtime whose method never answers. */
function stuckRig(
  method: string,
  deadlines?: Parameters<typeof withDeadlines>[2],
): { clock: VirtualClock; runtime: ContainerRuntime; fake: FakeRuntime } {
  const clock = new VirtualClock();
  const fake = new FakeRuntime(clock);
  fake.stuck.add(method);
  return { clock, fake, runtime: withDeadlines(fake, clock, deadlines) };
}

/** Error of a call; `undefined` while it has not ended. */
function follow(call: Promise<unknown>): { readonly error: unknown } {
  const followed: { error: unknown } = { error: undefined };
  call.then(
    () => (followed.error = "no error"),
    (error: unknown) => (followed.error = error),
  );
  return followed;
}

describe("withDeadlines", () => {
  test.for(limited)("%s without an answer ends at its deadline; the error names the call", async ([method, call, ms, what]) => {
    const { clock, runtime, fake } = stuckRig(method);
    const followed = follow(call(runtime));

    await clock.advance(ms - 1);
    expect([followed.error, fake.calls.length]).toEqual([undefined, 1]);
    await clock.advance(1);

    expect(followed.error).toMatchObject({ code: "VK_DEADLINE_EXCEEDED", message: expect.stringContaining(`fake: ${what}`) });
  });

  test.for(unlimited)("%s has no deadline", async ([method, call]) => {
    const { clock, runtime, fake } = stuckRig(method);
    const followed = follow(call(runtime));

    await clock.advance(24 * 3_600_000);

    expect([followed.error, fake.calls.map((made) => made.split(" ")[0])]).toEqual([undefined, [method]]);
  });

  test.for([
    ["ping", { pingMs: 4 }, 4],
    ["list", { readMs: 5 }, 5],
    ["createSandbox", { changeMs: 6 }, 6],
    ["startContainer", { startMs: 7 }, 7],
    ["stopContainer", { stopMs: 8 }, 7_008],
  ] as const)("the deadline of %s can be configured: %j", async ([method, deadlines, ms]) => {
    const { clock, runtime } = stuckRig(method, deadlines);
    const [, call] = limited.find(([name]) => name === method) ?? [];
    const followed = follow(call?.(runtime) ?? Promise.resolve());

    await clock.advance(ms - 1);
    expect(followed.error).toBeUndefined();
    await clock.advance(1);

    expect(followed.error).toMatchObject({ code: "VK_DEADLINE_EXCEEDED" });
  });

  test("answers are passed on, and leave no timer", async () => {
    const clock = new VirtualClock();
    const fake = new FakeRuntime(clock);
    const runtime = withDeadlines(fake, clock);

    expect(await runtime.createSandbox(sandboxSpec, signal)).toMatchObject({ id: "s1" });
    expect(await runtime.createContainer("s1", containerSpec, signal)).toBe("c2");
    expect(await runtime.pullImage("app:1", [], signal)).toEqual({ id: "app:1@sha256:1", sizeBytes: 1 });
    expect([runtime.name, runtime.canMountImages, clock.pending]).toEqual(["fake", true, 0]);
  });

  test("optional methods that a runtime lacks stay absent", () => {
    const clock = new VirtualClock();
    const fake = new FakeRuntime(clock);
    const without: ContainerRuntime = Object.assign(fake, { network: undefined, ping: undefined });

    expect(withDeadlines(without, clock)).not.toHaveProperty("network");
    expect(withDeadlines(without, clock)).not.toHaveProperty("ping");
  });
});
