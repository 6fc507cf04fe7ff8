import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { inputFrames, readExecFrame, sizeFrame } from "./exec-frames.ts";

interface Recorded {
  readonly frames: readonly { readonly dir: "send" | "recv" | "close"; readonly frame: object }[];
}

async function recorded(name: string): Promise<Recorded["frames"]> {
  return (JSON.parse(await readFile(new URL(`../../fixtures/${name}.json`, import.meta.url), "utf8")) as Recorded).frames;
}

test.each([
  ["07-exec-frames", { stdout: "hello\n", stderr: "err\n", exitCode: 7 }],
  ["08-exec-frames-tty", { stdout: "hello\r\nstty: standard input\r\n", stderr: "", exitCode: 3 }],
])("the recorded command %s is read", async (name, expected) => {
  const read = { stdout: "", stderr: "", exitCode: -1 };
  for (const { frame } of (await recorded(name)).filter(({ dir }) => dir === "recv")) {
    const event = readExecFrame(JSON.stringify(frame));
    if (event.kind === "output") read[event.stream] += event.data.toString();
    if (event.kind === "exited") read.exitCode = event.exitCode;
  }
  expect(read).toEqual(expected);
});

test("what is sent is what was recorded", async () => {
  const sent = (await recorded("08-exec-frames-tty")).filter(({ dir }) => dir === "send").map(({ frame }) => frame);

  expect([sizeFrame({ width: 111, height: 33 }), ...inputFrames(Buffer.from("hello\n"))].map((text) => JSON.parse(text) as object)).toEqual(
    sent,
  );
});

test("an exit code of zero is left out by Nomad", () => {
  expect(readExecFrame('{"exited":true,"result":{}}')).toEqual({ kind: "exited", exitCode: 0 });
});

test("much input goes in pieces", () => {
  expect(inputFrames(Buffer.alloc(70_000))).toHaveLength(3);
});
