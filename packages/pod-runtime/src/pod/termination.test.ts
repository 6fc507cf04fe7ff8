import { expect, test } from "vitest";
import type { RuntimeExit } from "../runtime/container-runtime.ts";
import { lostTermination, toTermination } from "./termination.ts";

const ran: RuntimeExit = { kind: "exited", exitCode: 0, startedAtMs: 5, finishedAtMs: 9 };

test.for<[Partial<RuntimeExit>, string]>([
  [{}, "Completed"],
  [{ exitCode: 1 }, "Error"],
  [{ exitCode: 137, isOutOfMemory: true }, "OOMKilled"],
  [{ exitCode: 137, isOutOfMemory: false }, "Error"],
  [{ exitCode: 127, startedAtMs: undefined }, "StartError"],
  [{ exitCode: 0, startedAtMs: undefined }, "StartError"],
])("an exit %j has the reason %s", ([exit, reason]) => {
  expect(toTermination({ ...ran, ...exit }, "c1")).toEqual({
    exitCode: 0,
    startedAtMs: 5,
    finishedAtMs: 9,
    message: undefined,
    reason,
    id: "c1",
    ...("startedAtMs" in exit && { startedAtMs: exit.startedAtMs }),
    ...(exit.exitCode !== undefined && { exitCode: exit.exitCode }),
  });
});

test("the runtime's message takes precedence over the container's", () => {
  const message = (said: string | undefined, written?: string): string | undefined =>
    toTermination({ ...ran, message: said }, "c1", written).message;

  expect(message("oom", "full")).toBe("oom: full");
  expect(message("oom")).toBe("oom");
  expect(message(undefined, "full")).toBe("full");
  expect(message("", "")).toBeUndefined();
});

test("a container that the runtime no longer knows has ended now, in an unknown way", () => {
  expect(lostTermination({ id: "c1", startedAtMs: 5 }, 9)).toEqual({
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was looked at",
    startedAtMs: 5,
    finishedAtMs: 9,
    id: "c1",
  });
});
