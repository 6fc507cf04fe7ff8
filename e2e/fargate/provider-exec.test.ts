import { podRef, type AttachIO, type Pod, type Provider } from "@virtual-kubelet/core";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProcessHost } from "../support/container-host/process-host.ts";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { RealTimeFargate } from "./support/real-time-fargate.ts";

// Commands of the provider in processes with real terminals, over the fake's data channel.

const { signal } = new AbortController();
let fargate: RealTimeFargate;
let node: Provider;
let pod: Pod;

describe.skipIf(!canOpenTerminals())("a command", () => {
  beforeAll(async () => {
    fargate = await RealTimeFargate.start(new ProcessHost());
    node = await fargate.open();
    pod = await fargate.create(node, {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: "busybox", command: ["sleep", "600"] }],
    });
  });
  afterAll(() => fargate[Symbol.asyncDispose]());

  async function run(command: readonly string[], changes: Partial<AttachIO> = {}): Promise<{ exitCode: number; output: string }> {
    const stdout = new PassThrough();
    const output = text(stdout);
    const io = { stdin: undefined, stdout, stderr: undefined, tty: false, resizes: (async function* () {})(), ...changes };
    const result = await node.runInContainer?.(podRef(pod), "main", command, io, signal);
    stdout.end();
    return { exitCode: result?.exitCode ?? -1, output: await output };
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
    const stdout = new PassThrough();
    const chunks: Buffer[] = [];
    stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    const { exitCode } = await run(["cat"], { stdin: Readable.from([input]), stdout });

    expect(exitCode).toBe(0);
    expect(Buffer.concat(chunks).equals(input)).toBe(true);
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
    const running = run(["sh", "-c", "read line; stty size; echo got $line"], { tty: true, stdin, resizes });
    stdin.write("hello\n");

    expect((await running).output).toMatch(/31 93\r\ngot hello\r\n$/);
  });
});
