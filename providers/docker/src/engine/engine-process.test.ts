import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { engineProcess } from "./engine-process.ts";

test("the engine's process is the one in its file, if that is the engine still", async () => {
  await using folder = await tempFolder();
  const proc = join(folder.path, "proc");
  const process = async (pid: string, name: string): Promise<void> => {
    await mkdir(join(proc, pid), { recursive: true });
    await writeFile(join(proc, pid, "comm"), `${name}\n`);
  };
  await Promise.all([process("7", "dockerd"), process("8", "sshd")]);
  const endpoint = { kind: "unix", socketPath: join(folder.path, "docker.sock") } as const;
  const found = async (text: string): Promise<number | undefined> => {
    await writeFile(join(folder.path, "docker.pid"), text);
    return engineProcess(endpoint, proc);
  };

  expect(await engineProcess(endpoint, proc)).toBeUndefined();
  expect(await found("7")).toBe(7);
  expect(await found("7\n")).toBe(7);
  expect(await found("8")).toBeUndefined();
  expect(await found("9")).toBeUndefined();
  expect(await found("../7")).toBeUndefined();
});
