import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { diskUse } from "./disk-use.ts";
import type { runTool } from "./run-tool.ts";

test("a folder whose files have no end does not keep the others from being measured", async () => {
  const clock = new FakeClock();
  const runs: string[][] = [];
  const run: typeof runTool = async (_name, { args, until }) => {
    const paths = args.slice(args.indexOf("--") + 1);
    runs.push(paths);
    const endless = paths.findIndex((path) => path.endsWith("endless"));
    const measured = endless < 0 ? paths : paths.slice(0, endless);
    if (endless >= 0) await new Promise((resolve) => until?.addEventListener("abort", resolve));
    return { exitCode: 0, stdout: measured.map((path) => `3\t${path}\n`).join(""), stderr: "" };
  };
  const paths = ["/a", "/b-endless", "/c", "/d", "/e-endless"];
  const used = diskUse(paths, { clock, signal: new AbortController().signal, run });

  for (let turn = 0; turn < 3; turn++) await clock.advance(10_000);

  expect(await used).toEqual(new Map(["/a", "/c", "/d"].map((path) => [path, 3072])));
  expect(runs).toEqual([paths, ["/c", "/d", "/e-endless"]]);
});
