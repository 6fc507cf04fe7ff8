import type { AttachIO } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const io: AttachIO = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
const options = { follow: false, previous: false, timestamps: false };

async function rigWith(ends: ConstructorParameters<typeof NodeRig>[0], spec: Parameters<typeof podWith>[0] = {}): Promise<NodeRig> {
  const rig = new NodeRig(ends);
  rig.start();
  await rig.create(podWith(spec));
  await rig.clock.advance(0);
  return rig;
}

/** Ids of the containers whose logs are read: the current one's, and the previous one's. */
async function logged(rig: NodeRig): Promise<readonly unknown[]> {
  const idOf = async (previous: boolean): Promise<unknown> => {
    const calls = rig.runtime.calls.length;
    try {
      await rig.provider.getContainerLogs(ref, "app", { ...options, previous }, rig.signal);
    } catch (error) {
      return isNotFound(error) ? "not found" : error;
    }
    return rig.runtime.calls.slice(calls).find((call) => call.startsWith("logs"));
  };
  return [await idOf(false), await idOf(true)];
}

describe("getContainerLogs", () => {
  test("of a first run has no previous logs", async () => {
    expect(await logged(await rigWith({}))).toEqual(["logs c2", "not found"]);
  });

  test("of a restarted container returns the previous run's logs", async () => {
    const rig = await rigWith({ "app/0": { afterMs: 1_000, exitCode: 1 } });
    await rig.clock.advance(2_000);

    expect(await logged(rig)).toEqual(["logs c3", "logs c2"]);
  });

  test("of a container that waits for its restart returns the last run's logs, also as the previous ones", async () => {
    const rig = await rigWith({ "app/0": { afterMs: 1_000, exitCode: 1 }, "app/1": { afterMs: 1_000, exitCode: 1 } });
    await rig.clock.advance(3_000);
    expect(rig.container("u1", "app")).toMatchObject({ state: { waiting: { reason: "CrashLoopBackOff" } } });

    expect(await logged(rig)).toEqual(["logs c3", "logs c3"]);
  });

  test("of a container that has ended for good returns the same logs after a restart of the program", async () => {
    const rig = await rigWith(
      { "app/0": { afterMs: 1_000, exitCode: 1 }, "app/1": { afterMs: 1_000, exitCode: 0 } },
      { restartPolicy: "OnFailure" },
    );
    await rig.clock.advance(10_000);
    expect(await logged(rig)).toEqual(["logs c3", "logs c2"]);

    rig.program.mortal.kill();
    rig.start();
    await rig.clock.advance(60_000);
    expect(await logged(rig)).toEqual(["logs c3", "logs c2"]);
  });
});

describe("exec, attach and port-forward", () => {
  test("use the running container", async () => {
    const rig = await rigWith({});
    rig.runtime.execExitCode = 3;

    expect(await rig.provider.runInContainer(ref, "app", ["true"], io, rig.signal)).toEqual({ exitCode: 3 });
    await rig.provider.attachToContainer(ref, "app", io, rig.signal);
    await rig.provider.portForward(ref, 80, new Duplex(), rig.signal);

    expect(rig.runtime.calls.slice(-3)).toEqual(["exec c2", "attach c2", "portForward s1"]);
  });

  test("find nothing if the container does not run", async () => {
    const rig = await rigWith({ "app/0": { afterMs: 1_000, exitCode: 0 } }, { restartPolicy: "Never" });
    await rig.clock.advance(2_000);

    await expect(rig.provider.runInContainer(ref, "app", ["true"], io, rig.signal)).rejects.toThrow('container not found ("app")');
    await expect(rig.provider.attachToContainer(ref, "app", io, rig.signal)).rejects.toSatisfy(isNotFound);
    await expect(rig.provider.portForward(ref, 80, new Duplex(), rig.signal)).rejects.toSatisfy(isNotFound);
    await expect(rig.provider.runInContainer({ ...ref, uid: "u2" }, "app", [], io, rig.signal)).rejects.toSatisfy(isNotFound);
  });

  test("reach a pod whose API object is gone", async () => {
    const rig = await rigWith({});
    rig.program.mortal.kill();
    rig.pods.clear();
    rig.start();

    await rig.provider.runInContainer(ref, "app", ["true"], io, rig.signal);

    expect(rig.runtime.calls.at(-1)).toBe("exec c2");
  });
});
