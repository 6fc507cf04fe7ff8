import { VirtualClock } from "@virtual-kubelet/clock";
import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { desiredPodOf } from "../pod/desired-pod.ts";
import type { RuntimeExit } from "../runtime/container-runtime.ts";
import { podWith } from "../test-support/pod-rig.ts";
import { readEnd, writtenMessage, type EndReader } from "./container-end.ts";

const never = new AbortController().signal;
const failed: RuntimeExit = { kind: "exited", exitCode: 1, startedAtMs: 1, finishedAtMs: 2 };
const ref = { namespace: "default", name: "web", uid: "u1" };

class EndRig {
  readonly clock = new VirtualClock();
  readonly warnings: unknown[] = [];
  readonly asked: unknown[] = [];
  /** The container's termination message; `undefined`: pods have no data on the disk. */
  message: (() => Promise<string>) | undefined;
  logs: (string | Uint8Array)[] = [];
  hasTimestamps = false;
  policy: string | undefined = "FallbackToLogsOnError";

  read(exit: Partial<RuntimeExit> = {}, signal = never): Promise<string> {
    const [desired] = desiredPodOf(
      podWith({ containers: [{ name: "app", ...(this.policy && { terminationMessagePolicy: this.policy }) }] }),
    ).containers;
    return writtenMessage({ ref, desired, container: "app", attempt: 3, id: "c1" }, { ...failed, ...exit }, this.#reader(), signal);
  }

  #reader(): EndReader {
    const { message, clock, warnings, asked } = this;
    return {
      runtime: {
        logs: async (id: string, options: ContainerLogOptions): Promise<ContainerLogs> => {
          asked.push([id, options]);
          const { logs, hasTimestamps } = this;
          return {
            ...(hasTimestamps && { timestamps: true }),
            data: (async function* () {
              yield* logs;
            })(),
          };
        },
      },
      ...(message && {
        storage: {
          terminationMessage: (pod: unknown, container: string, attempt: number) => {
            asked.push([pod, container, attempt]);
            return message();
          },
        },
      }),
      clock,
      logger: { ...silentLogger, warn: (fields: object, text: string) => void warnings.push({ ...fields, text }) },
    };
  }
}

test("a container's termination message is read from its own file", async () => {
  const rig = new EndRig();
  rig.message = async () => "disk full";

  expect(await rig.read()).toBe("disk full");
  expect(rig.asked).toEqual([[ref, "app", 3]]);
});

test("if a failed container wrote no message, the end of its log is used", async () => {
  const rig = new EndRig();
  rig.message = async () => "";
  rig.logs = ["one\n", Buffer.from("two\n")];

  expect(await rig.read()).toBe("one\ntwo\n");
  expect(rig.asked[1]).toEqual(["c1", { follow: false, previous: false, timestamps: false, tailLines: 80 }]);
});

test("the log is also used if pods have no data on the disk", async () => {
  const rig = new EndRig();
  rig.logs = ["one\n"];

  expect(await rig.read()).toBe("one\n");
});

test.for([
  ["the container succeeded", { exitCode: 0 }, "FallbackToLogsOnError"],
  ["the policy is File", {}, "File"],
  ["the policy is not set", {}, undefined],
  ["the container never ran", { startedAtMs: undefined }, "FallbackToLogsOnError"],
] as const)("the log is not used if %s", async ([, exit, policy]) => {
  const rig = new EndRig();
  rig.policy = policy;
  rig.logs = ["one\n"];

  expect(await rig.read(exit)).toBe("");
  expect(rig.asked).toEqual([]);
});

test("a container that never ran has no message", async () => {
  const rig = new EndRig();
  rig.message = async () => "of an earlier one";

  expect(await rig.read({ startedAtMs: undefined })).toBe("");
});

test("the message of a container that succeeded, or that the spec does not contain any more, is read as well", async () => {
  const rig = new EndRig();
  rig.message = async () => "done";
  expect(await rig.read({ exitCode: 0 })).toBe("done");

  const storage = { terminationMessage: async () => "gone" };
  const end = { ref, desired: undefined, container: "app", attempt: 0, id: "c1" };
  const refuse = (): never => {
    throw new Error("not asked for");
  };
  const reader = { storage, runtime: { logs: refuse }, clock: rig.clock, logger: silentLogger };
  expect(await readEnd(end, failed, reader, never)).toMatchObject({ exitCode: 1, reason: "Error", message: "gone", id: "c1" });
});

test("of a log the last 80 lines are used", async () => {
  const rig = new EndRig();
  rig.logs = [Array.from({ length: 100 }, (_, index) => `${index}\n`).join("")];

  const lines = (await rig.read()).split("\n");

  expect([lines.length, lines[0], lines.at(-2), lines.at(-1)]).toEqual([81, "20", "99", ""]);
});

test("of a log the last 2,048 bytes are used, however it is split", async () => {
  const rig = new EndRig();
  rig.logs = ["a".repeat(2_000), "b".repeat(2_000), "c".repeat(40)];

  const text = await rig.read();

  expect([text.length, text[0], text.indexOf("b"), text.indexOf("c")]).toEqual([2_048, "a", 8, 2_008]);
});

test("time stamps of the runtime are removed, and do not count", async () => {
  const rig = new EndRig();
  rig.hasTimestamps = true;
  const line = (index: number): string => `2026-01-01T00:00:00.123456789Z ${"x".repeat(23)}${index % 10}\n`;
  rig.logs = Array.from({ length: 90 }, (_, index) => line(index));

  const text = await rig.read();

  expect([text.includes("2026"), text.split("\n").length, text.length]).toEqual([false, 81, 80 * 25]);
});

test("without time stamps of the runtime, a line that begins with a time is not changed", async () => {
  const rig = new EndRig();
  rig.logs = ["2026-01-01T00:00:00Z said the container\n"];

  expect(await rig.read()).toBe("2026-01-01T00:00:00Z said the container\n");
});

test("a message that cannot be read is logged, and does not delay the end", async () => {
  const rig = new EndRig();
  rig.message = () => Promise.reject(new Error("no such disk"));

  expect(await rig.read()).toBe("");
  expect(rig.warnings).toMatchObject([{ pod: "default/web", container: "app", text: "a termination message could not be read" }]);
});

test("a message that takes longer than ten seconds does not delay the end", async () => {
  const rig = new EndRig();
  rig.message = () => new Promise(() => {});
  const reading = rig.read();
  let isOver = false;
  void reading.then(() => (isOver = true));

  await rig.clock.advance(9_999);
  expect(isOver).toBe(false);
  await rig.clock.advance(1);

  expect(await reading).toBe("");
  expect(rig.warnings).toHaveLength(1);
});

test("an aborted read ends with the signal's reason", async () => {
  const rig = new EndRig();
  const abort = new AbortController();
  rig.message = () => {
    abort.abort(new Error("over"));
    return Promise.reject(new Error("no such disk"));
  };

  await expect(rig.read({}, abort.signal)).rejects.toThrow("over");
  expect(rig.warnings).toEqual([]);
});
