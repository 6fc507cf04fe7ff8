import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startNpmRegistry, type NpmRegistry } from "./npm-registry.ts";

/** Publishes a package with npm. */
async function publish({ npmrc }: NpmRegistry, name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "vk-publish-"));
  try {
    await writeFile(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0" }));
    await writeFile(join(folder, ".npmrc"), npmrc);
    await promisify(execFile)("npm", ["publish", "--access=public"], { cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a registry has a package once it has been published, and takes a version only once", async () => {
  await using registry = await startNpmRegistry();
  expect(await registry.versionsOf("@virtual-kubelet/core")).toEqual([]);

  await publish(registry, "@virtual-kubelet/core");

  expect(await registry.versionsOf("@virtual-kubelet/core")).toEqual([{ version: "1.0.0", tags: ["latest"], size: expect.any(Number) }]);
  await expect(publish(registry, "@virtual-kubelet/core")).rejects.toThrow(/409|403|already|cannot publish/i);
});

test("a registry takes nothing without its token", async () => {
  await using registry = await startNpmRegistry();

  await expect(publish({ ...registry, npmrc: `registry=${registry.url}\n` }, "@virtual-kubelet/core")).rejects.toThrow(/ENEEDAUTH|401|403/);
  expect(await registry.versionsOf("@virtual-kubelet/core")).toEqual([]);
});
