import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { root } from "../workspace.ts";

/** The last step of the workflow, which puts the built site into the branch. */
function publishScript(): string {
  const steps = z.object({ jobs: z.object({ "site-publish": z.object({ steps: z.array(z.object({ run: z.string().optional() })) }) }) });
  const workflow = steps.parse(parse(readFileSync(join(root, ".github/workflows/site.yml"), "utf8")));
  return workflow.jobs["site-publish"].steps.at(-1)?.run ?? "";
}

const env = {
  ...process.env,
  GITHUB_SHA: "0".repeat(40),
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@t",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@t",
};

test("the workflow's last step publishes the first version, then the next one beside it, and nothing of the repository", async () => {
  await using top = await mkdtempDisposable(join(tmpdir(), "vk-site-workflow-"));
  const origin = join(top.path, "origin.git");
  const git = (folder: string, ...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
  git(top.path, "init", "--quiet", "--bare", "--initial-branch=main", origin);
  const seed = join(top.path, "seed");
  git(top.path, "init", "--quiet", "--initial-branch=main", seed);
  const write = (folder: string, path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write(seed, "packages/cli/package.json", '{ "version": "1.1.0" }');
  mkdirSync(join(seed, "tools/site"), { recursive: true });
  cpSync(join(root, "tools/site/site-versions.ts"), join(seed, "tools/site/site-versions.ts"));
  git(seed, "add", "--all");
  git(seed, "commit", "--quiet", "--message", "seed");
  git(seed, "push", "--quiet", origin, "main");

  for (const version of ["1.1.0", "1.2.0", "1.2.0"]) {
    await using job = await mkdtempDisposable(join(top.path, "job-"));
    const clone = join(job.path, "clone");
    git(job.path, "clone", "--quiet", "--depth=1", "--branch=main", `file://${origin}`, clone);
    write(clone, "packages/cli/package.json", JSON.stringify({ version }));
    write(clone, "built-site/index.html", version);
    write(clone, "built-site/assets/site.js", "");
    execFileSync("bash", ["-e", "-c", publishScript()], { cwd: clone, env, stdio: "pipe" });
  }

  const names = (...args: string[]): string[] =>
    git(origin, ...args)
      .trim()
      .split("\n");
  expect(names("ls-tree", "--name-only", "gh-pages")).toEqual([".nojekyll", "index.html", "latest", "v1.1", "v1.2", "versions.json"]);
  expect(git(origin, "show", "gh-pages:v1.1/index.html")).toBe("1.1.0");
  expect(git(origin, "show", "gh-pages:latest/index.html")).toBe("1.2.0");
  // The third time, nothing has changed.
  expect(names("log", "--format=%s", "gh-pages")).toHaveLength(2);
});
