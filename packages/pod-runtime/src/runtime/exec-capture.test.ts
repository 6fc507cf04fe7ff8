import type { AttachIO } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { execCapture } from "./exec-capture.ts";

const { signal } = new AbortController();

/** Captured output of a command that writes these texts, alternately to its standard output and standard error. */
async function kept(...texts: readonly string[]): Promise<string> {
  const exec = async (_id: string, _command: readonly string[], io: AttachIO): Promise<{ exitCode: number }> => {
    for (const [index, text] of texts.entries()) (index % 2 === 0 ? io.stdout : io.stderr)?.write(Buffer.from(text));
    return { exitCode: 0 };
  };
  return (await execCapture({ exec }, "c1", { command: ["run"], signal })).output;
}

test("a command has neither input nor terminal, and its exit code is returned", async () => {
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

test("both outputs are kept in order of arrival", async () => {
  expect(await kept("a", "b", "c")).toBe("abc");
});

test("at most ten KiB are kept, from the beginning of both outputs together", async () => {
  const text = await kept("a".repeat(10_000), "b".repeat(1_000), "c");

  expect([text.length, text.slice(9_999, 10_001), text.at(-1)]).toEqual([10_240, "ab", "b"]);
});

test("exactly ten KiB are kept", async () => {
  expect((await kept("a".repeat(10_239), "b", "c")).slice(10_238)).toBe("ab");
});
