import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rewriteScope } from "./rewrite-scope.ts";
import { scope } from "./scope.ts";
import { setScope } from "./set-scope.ts";
import { root, workspacePackages } from "./workspace.ts";

describe("rewriteScope", () => {
  test.each([
    ['import { x } from "@old/core";', 'import { x } from "@new/core";'],
    ["'@old/core@file:packages/core'", "'@new/core@file:packages/core'"],
    ["node_modules/.pnpm/@old+core@1", "node_modules/.pnpm/@new+core@1"],
    ['["@old/*"]', '["@new/*"]'],
    ['const scope = "@old";', 'const scope = "@new";'],
    ["https://example.org/package/@old/core", "https://example.org/package/@new/core"],
    ["@older/core and me@old/core and @old-er/core", "@older/core and me@old/core and @old-er/core"],
  ])("%s", (before, after) => {
    expect(rewriteScope(before, "@old", "@new")).toBe(after);
  });
});

describe("setScope on a copy of the repository", () => {
  let copy: string;

  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), "vk-scope-"));
    const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
      .split("\0")
      .filter((path) => path !== "");
    for (const file of files) cpSync(join(root, file), join(copy, file));
    execFileSync("git", ["init", "--quiet"], { cwd: copy });
  });

  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  test("leaves nothing of the old scope, and every package in the new one", () => {
    const changed = setScope(copy, scope, "@elsewhere");

    expect(changed).toContain("tools/scope.ts");
    expect(changed).toContain("pnpm-lock.yaml");
    expect(() => execFileSync("git", ["grep", "--untracked", "-lF", `${scope}/`], { cwd: copy })).toThrow();
    expect(readFileSync(join(copy, "tools/scope.ts"), "utf8")).toContain('scope = "@elsewhere"');
    for (const { manifest } of workspacePackages(copy)) expect(manifest.name).toMatch(/^(@elsewhere\/|virtual-kubelet$)/);
  });

  test("refuses what cannot be a scope, and changes nothing", () => {
    expect(() => setScope(copy, scope, "elsewhere")).toThrow('the scope is "elsewhere"; expected @ and lower-case letters');
    expect(readFileSync(join(copy, "tools/scope.ts"), "utf8")).toContain(`scope = "${scope}"`);
  });
});
