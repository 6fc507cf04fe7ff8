import type { AttachIO } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { execCapture } from "./exec-capture.ts";

const { signal } = new AbortController();

/** What is kept of a command that writes these texts, in turn to its output and its error output. */
async function kept(...texts: readonly string[]): Promise<string> {
  const exec = async (_id: string, _command: readonly string[], io: AttachIO): Promise<{ exitCode: number }> => {
    for (const [index, text] of texts.entries()) (index % 2 === 0 ? io.stdout : io.stderr)?.write(Buffer.from(text));
    return { exitCode: 0 };
  };
  return (await execCapture({ exec }, "c1", { command: ["run"], signal })).output;
}

test("a command gets no input and no terminal, and its exit code is told", async () => {
  const asked: unknown[] = [];
  const exec = async (id: string, command: readonly string[], io: AttachIO, given: AbortSignal): Promise<{ exitCode: number }> => {
    const resizes: unknown[] = [];
    for await (const resize of io.resizes) resizes.push(resize);
    asked.push(id, command, io.stdin, io.tty, resizes, given === signal);
    return { exitCode: 7 };
  };

  expect(await execCapture({ exec }, "c1", { command: ["run", "it"], signal })).toEqual({ exitCode: 7, output: "" });
  expect(asked).toEqual(["c1", ["run", "it"], undefined, false, [], true]);
});

test("both outputs are kept as they came", async () => {
  expect(await kept("a", "b", "c")).toBe("abc");
});

test("at most ten KiB are kept, from the beginning of both outputs together", async () => {
  const text = await kept("a".repeat(10_000), "b".repeat(1_000), "c");

  expect([text.length, text.slice(9_999, 10_001), text.at(-1)]).toEqual([10_240, "ab", "b"]);
});

test("ten KiB are kept to the last byte", async () => {
  expect((await kept("a".repeat(10_239), "b", "c")).slice(10_238)).toBe("ab");
});
