import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { countOpenFiles } from "./open-files.ts";

test("open files and sockets of all processes are counted, with yields to the event loop in between", async () => {
  await using folder = await tempFolder();
  const open = async (pid: string, files: readonly string[]): Promise<void> => {
    await mkdir(join(folder.path, pid, "fd"), { recursive: true });
    await Promise.all(files.map((file, index) => symlink(file, join(folder.path, pid, "fd", String(index)))));
  };
  await open("20", ["/dev/null", "socket:[4711]", "pipe:[9]"]);
  await open(
    "21",
    Array.from({ length: 1200 }, (_, index) => `socket:[${index}]`),
  );
  let turns = 0;
  const takeTurn = async (): Promise<void> => void turns++;

  expect(await countOpenFiles(["20", "21", "gone"], { proc: folder.path, takeTurn })).toEqual({ fileDescriptors: 1203, sockets: 1201 });
  expect(turns).toBe(2);
  expect(await countOpenFiles(["gone"], { proc: folder.path, takeTurn })).toBeUndefined();
});
