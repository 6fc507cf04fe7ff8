import { execFileSync } from "node:child_process";
import { relative, sep } from "node:path";
import { createVitest } from "vitest/node";
import { root } from "../workspace.ts";

/** Test files by the project of vitest.config.ts that runs them; paths are relative to the top, with forward slashes. */
export type TestFiles = ReadonlyMap<string, readonly string[]>;

/** Asks Vitest which files each of its projects runs; nothing is run. */
export async function findTestFiles(): Promise<TestFiles> {
  // With it the project `simulation` has one file only.
  const seed = process.env["SEED"];
  delete process.env["SEED"];
  const vitest = await createVitest("test", { root, watch: false });
  if (seed !== undefined) process.env["SEED"] = seed;
  try {
    const found = await Promise.all(
      vitest.projects.map(async (project) => {
        const { testFiles } = await project.globTestFiles();
        return [project.name, testFiles.map((file) => relative(root, file).split(sep).join("/")).sort()] as const;
      }),
    );
    return new Map(found);
  } finally {
    await vitest.close();
  }
}

/** Tests that run elsewhere: those beside a provider's sources run with its suite, the level `projects` runs those of projects outside the workspace, and `SEED=n` one simulated world. */
const elsewhere = [/^examples\/test-an-operator\//, /^(templates|providers)\/[^/]+\/test\//, /^e2e\/simulation\/replay\.test\.ts$/];

const isTest = /\.(test|spec)\.[cm]?[jt]sx?$/;

/** Test files of the repository, tracked or new, that no level runs. */
export function filesThatNoLevelRuns(files: TestFiles): string[] {
  const run = new Set([...files.values()].flat());
  const list = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z", "*.test.*", "*.spec.*"],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  return list.split("\0").filter((file) => isTest.test(file) && !run.has(file) && !elsewhere.some((pattern) => pattern.test(file)));
}
