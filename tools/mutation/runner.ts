import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { configDefaults } from "vitest/config";
import { createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import config from "../../vitest.config.ts";
import { root } from "../workspace.ts";
import { reachedName } from "./probes.ts";
import type { RunnerOptions, RunRequest, RunResult } from "./protocol.ts";

// A child process with one warm Vitest: it runs test files with some sources replaced, as often as it is asked.

/** Files run in the order in which they are given. */
class GivenOrder {
  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }

  sort(files: TestSpecification[]): TestSpecification[] {
    return files;
  }
}

const options = JSON.parse(process.argv[2] ?? "{}") as RunnerOptions;
let texts: Readonly<Record<string, string>> = {};
const vitest = await startVitest();
const specifications = new Map((await vitest.globTestSpecifications()).map((one) => [one.moduleId, one]));

process.on("message", (request: RunRequest) => {
  void run(request).then((result) => process.send?.(result));
});
// The parent ended. This process leads a group, and a worker in an endless loop would not notice.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
process.send?.([...specifications.keys()]);

/** Vitest as the unit level has it, on the package's own tests. */
async function startVitest(): Promise<Vitest> {
  const { projects = [], ...common } = config.test ?? {};
  const unit = projects.find((project) => typeof project === "object" && "test" in project && project.test?.name === "unit");
  if (typeof unit !== "object" || !("test" in unit)) throw new Error('vitest.config.ts has no project "unit"');
  const setupFiles = [unit.test?.setupFiles ?? []].flat();
  return createVitest(
    "test",
    {
      ...common,
      ...(unit.test as typeof config.test),
      config: false,
      watch: false,
      root,
      include: [`${options.folder}/src/**/*.test.ts`],
      // Root runs the level "root" as well.
      exclude: process.getuid?.() === 0 ? configDefaults.exclude : (unit.test?.exclude ?? configDefaults.exclude),
      setupFiles: options.recordReach ? [...setupFiles, join(import.meta.dirname, "record-reach.ts")] : setupFiles,
      reporters: [{}],
      pool: options.pool,
      // A worker's start costs more than most files' tests.
      isolate: options.recordReach,
      maxWorkers: options.maxWorkers,
      sequence: { sequencer: GivenOrder },
      // It is keyed by files on disk, which stay as they are.
      fsModuleCache: false,
      bail: options.recordReach ? 0 : 1,
      testTimeout: options.testTimeoutMs,
      hookTimeout: options.testTimeoutMs,
      expect: { poll: { timeout: options.testTimeoutMs / 2 } },
    },
    {
      ...(config.ssr && { ssr: config.ssr }),
      ...(config.environments && { environments: config.environments }),
      plugins: [{ name: "virtual-kubelet:mutation", enforce: "pre", load: (id: string) => texts[id.split("?")[0] ?? id] }],
    },
  );
}

async function run(request: RunRequest): Promise<RunResult> {
  const changed = new Set([...Object.keys(texts), ...Object.keys(request.texts)]);
  texts = request.texts;
  for (const file of changed) vitest.invalidateFile(file);
  const wanted = request.tests.map((test) => specifications.get(test)).filter((one) => one !== undefined);
  // Modules of earlier runs stay among the results.
  vitest.state.filesMap.clear();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted);
  const failure = testModules.map(failureOf).find((text) => text !== "") ?? unhandledErrors.map(textOf).find((text) => text !== "") ?? "";
  return {
    outcome: outcomeOf(failure),
    failure,
    files: testModules.map((module) => ({
      file: module.moduleId,
      durationMs: module.diagnostic().duration,
      reached: reachedBy(module),
    })),
  };
}

function outcomeOf(failure: string): RunResult["outcome"] {
  if (failure === "") return "passed";
  if (failure.includes("Transform failed")) return "invalid";
  return /(Test|Hook) timed out in \d+ms/.test(failure) ? "timed out" : "failed";
}

/** The first failed test with its message; empty if the file passed. */
function failureOf(module: TestModule): string {
  const [error] = module.errors();
  if (error !== undefined) return `${module.relativeModuleId}: ${textOf(error)}`;
  for (const test of module.children.allTests("failed"))
    return `${module.relativeModuleId}: ${test.fullName}: ${textOf(test.result().errors?.[0])}`;
  return module.state() === "failed" ? `${module.relativeModuleId}: the file as a whole` : "";
}

function textOf(error: unknown): string {
  const text = typeof error === "object" && error !== null && "message" in error ? String(error.message) : String(error);
  const name = typeof error === "object" && error !== null && "name" in error ? `${String(error.name)}: ` : "";
  return stripVTControlCharacters(name + text)
    .replace(/\s+/g, " ")
    .slice(0, 300);
}

function reachedBy(module: TestModule): readonly string[] {
  const reached = (module.meta() as Record<string, unknown>)[reachedName];
  return Array.isArray(reached) ? reached.map(String) : [];
}
