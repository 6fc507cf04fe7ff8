import { getEventListeners } from "node:events";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { runTool } from "./run-tool.ts";

const shell = (script: string, more: Omit<Parameters<typeof runTool>[1], "args"> = {}): ReturnType<typeof runTool> =>
  runTool("sh", { args: ["-c", script], ...more });

test("a program's exit code and outputs are returned", async () => {
  expect(await shell("echo out; echo err >&2; exit 3")).toEqual({ exitCode: 3, stdout: "out\n", stderr: "err\n" });
  expect(await shell("true")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

test("a program has an environment of its own, with the locale C, and no input", async () => {
  const { stdout } = await shell("env; cat");

  const names = stdout.split("\n").flatMap((line) => line.split("=", 1)[0] || []);
  expect(names.filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name)).sort()).toEqual(["LC_ALL", "PATH"]);
  expect(stdout).toContain("LC_ALL=C\n");
  expect(stdout).toContain("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
});

test("a program inherits an open file as descriptor 3, and otherwise no such descriptor", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "file"), "content");
  await using file = await open(join(folder.path, "file"));

  expect((await shell("cat <&3", { fd: file.fd })).stdout).toBe("content");
  expect((await shell("cat <&3")).exitCode).not.toBe(0);
});

test("a missing program is an error", async () => {
  await expect(runTool("no-such-program-at-all", { args: [] })).rejects.toMatchObject({ code: "ENOENT" });
});

test("only the beginning of standard error is kept", async () => {
  const { stderr, exitCode } = await shell("yes complaint | head -c 300000 >&2");

  expect([stderr.length, stderr.startsWith("complaint\n"), exitCode]).toEqual([4096, true, 0]);
});

test("an abort kills the program, throws the signal's reason, and leaves no listener", async () => {
  const abort = new AbortController();
  const running = shell("exec sleep 600", { signal: abort.signal });
  abort.abort(new Error("over"));

  await expect(running).rejects.toThrow("over");
  expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
});

test("an aborted call starts no program", async () => {
  await using folder = await tempFolder();
  const marker = join(folder.path, "marker");

  await expect(shell(`touch ${marker}`, { signal: AbortSignal.abort(new Error("over")) })).rejects.toThrow("over");
  await expect(open(marker)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a program that is ended early returns the output so far", async () => {
  await using folder = await tempFolder();
  const until = new AbortController();
  const running = shell(`echo first; touch ${join(folder.path, "begun")}; exec sleep 600`, { until: until.signal });
  for (let isBegun = false; !isBegun;) {
    isBegun = await open(join(folder.path, "begun")).then(
      (file) => file.close().then(() => true),
      () => false,
    );
  }
  until.abort();

  expect(await running).toEqual({ exitCode: null, stdout: "first\n", stderr: "" });
  expect(getEventListeners(until.signal, "abort")).toHaveLength(0);
});
