import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSeccompProfile } from "./seccomp-profile.ts";

const { signal: never } = new AbortController();

test("a profile is read below its folder, and nowhere else", async () => {
  const root = await mkdtemp(join(tmpdir(), "vk-seccomp-"));
  const folder = join(root, "profiles");
  await mkdir(join(folder, "team"), { recursive: true });
  await writeFile(join(root, "outside.json"), "{}");
  await writeFile(join(folder, "team/p.json"), '{"defaultAction":"SCMP_ACT_ALLOW"}');
  await writeFile(join(folder, "text"), "no JSON");
  await symlink(join(root, "outside.json"), join(folder, "link.json"));

  expect(await readSeccompProfile(folder, "team/p.json", never)).toBe('{"defaultAction":"SCMP_ACT_ALLOW"}');
  for (const name of ["../outside.json", "/etc/passwd", "link.json", "text", "missing.json", "", "team"]) {
    await expect(readSeccompProfile(folder, name, never)).rejects.toSatisfy(isInvalidInput);
  }
  await rm(root, { recursive: true });
});
