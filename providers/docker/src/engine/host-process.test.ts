import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isHostProcess } from "./host-process.ts";

const id = "4f1c".repeat(16);

test.for([
  ["v1", `5:memory:/docker/${id}\n4:cpu:/docker/${id}\n`, true],
  ["v2 with systemd", `0::/system.slice/docker-${id}.scope\n`, true],
  ["v2 as another namespace sees it", `0::/../../docker-${id}.scope\n`, true],
  ["a stranger's", "0::/user.slice/user-1000.slice/session-2.scope\n", false],
] as const)("a process is a container's if its control group bears the id: %s", async ([, groups, expected]) => {
  const proc = await mkdtemp(join(tmpdir(), "vk-proc-"));
  await mkdir(join(proc, "42"));
  await writeFile(join(proc, "42", "cgroup"), groups);

  expect(await isHostProcess(42, id, proc)).toBe(expected);
  expect(await isHostProcess(43, id, proc)).toBe(false);

  await rm(proc, { recursive: true });
});

test("neither no process nor init is a container's", async () => {
  expect(await isHostProcess(0, "")).toBe(false);
  expect(await isHostProcess(1, "")).toBe(false);
});
