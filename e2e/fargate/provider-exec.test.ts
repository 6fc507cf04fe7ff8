import type { AttachIO } from "@virtual-kubelet/core";
import { PassThrough, Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { openExecTarget, type ExecTarget } from "./support/exec-target.ts";

// Commands of the provider in processes with real terminals, over the fake's data channel.

let target: ExecTarget;

describe.skipIf(!canOpenTerminals())("a command", () => {
  beforeAll(async () => {
    target = await openExecTarget();
  });
  afterAll(() => target[Symbol.asyncDispose]());

  async function run(command: readonly string[], changes: Partial<AttachIO> = {}): Promise<{ exitCode: number; output: string }> {
    const { exitCode, output } = await target.run(command, changes);
    return { exitCode, output: output.toString("utf8") };
  }

  test("runs as soon as the agent in the task does", async () => {
    await expect.poll(() => run(["true"]).catch(String)).toMatchObject({ exitCode: 0 });
  });

  test("has its output, byte for byte, and its exit code", async () => {
    expect(await run(["sh", "-c", "printf 'a\\nb\\000c\\r\\n'; exit 42"])).toEqual({ exitCode: 42, output: "a\nb\0c\r\n" });
  });

  test("has its arguments as they are", async () => {
    expect(await run(["printf", "%s|", "it's", 'a "b"', "$HOME", "", "x y"])).toEqual({ exitCode: 0, output: `it's|a "b"|$HOME||x y|` });
  });

  test("has its errors with its output", async () => {
    expect(await run(["sh", "-c", "echo bad >&2; exit 3"])).toEqual({ exitCode: 3, output: "bad\n" });
  });

  test("reads its input to the end, whatever is in it", async () => {
    const input = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
    const { exitCode, output } = await target.run(["cat"], { stdin: Readable.from([input]) });

    expect(exitCode).toBe(0);
    expect(output.equals(input)).toBe(true);
  });

  test("with much output loses none of it", async () => {
    const { output } = await run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"]);

    expect(output).toBe(Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join(""));
  });

  test("on a terminal has the terminal's size, and its input", async () => {
    const stdin = new PassThrough();
    const resizes = (async function* () {
      yield { width: 93, height: 31 };
    })();
    // The size is sent separately and may arrive after the input.
    const wait = 'i=0; while [ "$(stty size)" != "31 93" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done';
    const running = run(["sh", "-c", `read line; ${wait}; stty size; echo got $line`], { tty: true, stdin, resizes });
    stdin.write("hello\n");

    expect((await running).output).toMatch(/31 93\r\ngot hello\r\n$/);
  });
});
