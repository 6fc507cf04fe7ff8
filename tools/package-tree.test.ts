import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allowedImports } from "./import-rules.ts";
import { renderPackageTree } from "./package-tree.ts";

test("packages come in the order of their imports, with their folders; those without rules come last", () => {
  const top = mkdtempSync(join(tmpdir(), "vk-package-tree-"));
  try {
    for (const folder of ["cli/src/config", "core/src/pod/state", "core/src/env", "core/src/test-support", "errdefs/src", "not-a-package"])
      mkdirSync(join(top, "packages", folder), { recursive: true });
    for (const name of ["cli", "core", "errdefs"]) writeFileSync(join(top, "packages", name, "package.json"), "{}");

    expect(renderPackageTree(top).split("\n").slice(2)).toEqual([
      "| errdefs | – | – |",
      `| core | ${allowedImports["packages/core"]?.join(", ")} | env, pod |`,
      "| cli | all packages | config |",
    ]);
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
});
