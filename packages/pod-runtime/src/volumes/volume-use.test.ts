import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import type { ReadyVolume } from "./pod-volumes.ts";
import { VolumeUse } from "./volume-use.ts";
import type { runTool } from "./run-tool.ts";

const never = new AbortController().signal;

test("who asks does not wait for a long measurement, and gets it when it is there", async () => {
  await using folder = await tempFolder();
  const clock = new FakeClock();
  const finish = Promise.withResolvers<void>();
  const run: typeof runTool = async () => {
    await finish.promise;
    return { exitCode: 0, stdout: `3\t${folder.path}\n`, stderr: "" };
  };
  const source = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
  const volume: ReadyVolume = { source, path: folder.path, isMemory: false, watchedLimitBytes: undefined };
  await using use = new VolumeUse({ clock, volumes: () => [volume], run });
  const asked = new Map([["data", volume]]);

  const first = use.of(asked, never);
  await clock.advance(2_000);
  expect(await first).toEqual([]);

  const second = use.of(asked, never);
  finish.resolve();
  expect(await second).toMatchObject([{ name: "data", usedBytes: 3072 }]);
  await expect(use.of(asked, never)).resolves.toHaveLength(1);
});

test("what cannot be measured is told to those who ask, and is tried again", async () => {
  const run: typeof runTool = () => Promise.reject(new Error("du is not there"));
  const volume: ReadyVolume = {
    source: { kind: "emptyDir", medium: "", sizeLimit: undefined },
    path: "/none",
    isMemory: false,
    watchedLimitBytes: undefined,
  };
  await using use = new VolumeUse({ clock: new FakeClock(), volumes: () => [volume], run });

  await expect(use.of(new Map(), never)).rejects.toThrow("du is not there");
  await expect(use.of(new Map(), never)).rejects.toThrow("du is not there");
});
