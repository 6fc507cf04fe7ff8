import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import type { CheckResult } from "./check.ts";
import { startNpmRegistry } from "./npm-registry.ts";
import type { Service } from "./workflow-run/action-effects.ts";
import { reports } from "./workflow-run/job-run.ts";
import { Rehearsal } from "./workflow-run/rehearsal.ts";
import type { RunnableLevel } from "./workflow-run/run-levels.ts";
import { missingRunnerMachine, RunnerMachines } from "./workflow-run/runner-machine.ts";
import { root } from "./workspace.ts";

/** Options of {@link checkWorkflows}. */
export interface CheckWorkflowsOptions {
  /** All test files of each level instead of some: it takes as long as CI. Default: whether `FULL` is 1. */
  readonly isFull?: boolean;
  /** Names of the jobs that are run; default: those in `JOBS`, separated by spaces, or all. */
  readonly only?: readonly string[];
  /** Levels of tests, of which each has to be run by a job. */
  readonly levels: readonly RunnableLevel[];
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** Reason why the workflows cannot run here; `undefined` if they can. */
export function missingWorkflows(): string | undefined {
  if (process.env["GITHUB_ACTIONS"] === "true") return "the service that runs this runs the workflows themselves";
  return missingRunnerMachine();
}

/**
 * Runs each step of each workflow as the service does, on the commit that is checked out: as an ordinary user on a clean clone, on an imitation
 * of its machine ({@link RunnerMachines}), with the effect of each action of others in its place. The release goes up to a registry on loopback.
 */
export async function checkWorkflows(options: CheckWorkflowsOptions): Promise<CheckResult[]> {
  const { isFull = process.env["FULL"] === "1", only = process.env["JOBS"]?.split(/\s+/).filter(Boolean) ?? [], levels, say } = options;
  const changes = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }).trim();
  if (changes !== "") say(`what is not committed is not tried:\n${changes}`);
  rmSync(reports, { recursive: true, force: true });
  await using machines = await RunnerMachines.prepare();
  await using registry = await startNpmRegistry();
  const service: Service = { origin: "/home/origin.git", artifacts: "/home/artifacts", registry };
  const rehearsal = new Rehearsal(machines, service, { isFull, only, say });
  await rehearsal.publishOrigin();
  await rehearsal.runWorkflow("ci.yml");
  await rehearsal.runWorkflow("site.yml");
  // The first release versions the packages, and the second publishes them.
  await rehearsal.ensureChangeset();
  await rehearsal.runWorkflow("release.yml");
  await rehearsal.runWorkflow("release.yml");
  if (only.length === 0) rehearsal.addCoverage(levels);
  return rehearsal.results;
}
