import { messageOf } from "@virtual-kubelet/errdefs";
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CheckResult } from "../check.ts";
import { root } from "../workspace.ts";
import type { Service } from "./action-effects.ts";
import { evaluateCondition, type ExpressionScope, type ExpressionValue } from "./expression.ts";
import { repository, temp } from "./job-environment.ts";
import { JobRun, type JobOutcome, type JobToRun } from "./job-run.ts";
import { runLevelProblems, type RunnableLevel } from "./run-levels.ts";
import { runnerUser, type RunnerMachines } from "./runner-machine.ts";
import { jobOrder, matrixEntries, parseWorkflow, type Texts, type Workflow } from "./workflow-file.ts";

const folder = join(root, ".github/workflows");

/**
 * Settings that restrict each job, unless everything runs: to levels with test files, and to a few files of each, enough to start all of
 * their surroundings. Levels without test files need only Node.js, and take minutes.
 */
const part: Readonly<Record<string, Texts>> = {
  quick: { LEVEL: "unit demo embedded conformance", FILES: "tools/marked-region conformance/mock parity/namespaces" },
  "control-plane": { FILES: "control-plane/node.test" },
  docker: { FILES: "node-network/metrics docker/volumes clusters/far-cluster sigs/expectations" },
  deployment: { FILES: "deployment/chart" },
  zun: { FILES: "zun/refusals moto/wire" },
  rest: {
    LEVEL: "simulation root kubectl upstream monitoring browser",
    FILES: "simulation/simulate remove-tree.root interop/kubectl-logs controller-runtime/test-outcomes monitoring/dashboard browser/exec",
    SEEDS: "5",
  },
};

/** Options of a {@link Rehearsal}. */
export interface RehearsalOptions {
  /** All test files of each level instead of some, and each entry of a matrix instead of the last. */
  readonly isFull: boolean;
  /** Names of the jobs that are run, with each entry of their matrix; empty: all jobs. */
  readonly only: readonly string[];
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** One run through the workflows. */
export class Rehearsal {
  readonly results: CheckResult[] = [];
  readonly #machines: RunnerMachines;
  readonly #service: Service;
  readonly #options: RehearsalOptions;
  /** Outcomes of called workflows, which are the same whoever calls them. */
  readonly #called = new Map<string, JobOutcome>();
  /** Jobs that have run, as `file job`. */
  readonly #ran = new Set<string>();

  constructor(machines: RunnerMachines, service: Service, options: RehearsalOptions) {
    this.#machines = machines;
    this.#service = service;
    this.#options = options;
  }

  /** Copies this commit to the repository that jobs check out. */
  async publishOrigin(): Promise<void> {
    await using machine = await this.#machines.start();
    const { origin, artifacts } = this.#service;
    const outside = machine.outside(origin);
    execFileSync("git", ["clone", "--quiet", "--bare", "--no-hardlinks", `file://${root}`, outside], { stdio: "inherit" });
    const head = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
    for (const args of [
      ["update-ref", "refs/heads/main", head],
      ["symbolic-ref", "HEAD", "refs/heads/main"],
    ])
      execFileSync("git", args, { cwd: outside });
    mkdirSync(machine.outside(artifacts));
    const owner = `${runnerUser.id}:${runnerUser.id}`;
    execFileSync("chown", ["--recursive", owner, outside, machine.outside(artifacts)]);
  }

  /** Adds a changeset to the repository that jobs check out, if it has none. */
  async ensureChangeset(): Promise<void> {
    await using machine = await this.#machines.start();
    const script = `
git clone --quiet --branch=main file://${this.#service.origin} /tmp/clone
cd /tmp/clone
grep --quiet --no-messages --extended-regexp ': (patch|minor|major)$' .changeset/*.md && exit 0
printf -- '---\n"%s": patch\n---\n\nRehearses a release.\n' "$(node --print 'require("./packages/core/package.json").name')" >.changeset/rehearsal.md
git add .changeset
git -c user.name=runner -c user.email=runner@localhost commit --quiet --message 'Add a changeset'
git push --quiet`;
    const { code, output } = await machine.runToEnd(["bash", "-c", script], { user: "runner" });
    if (code !== 0) throw new Error(`cannot add a changeset: ${output}`);
  }

  /** Adds checks that every job has run and that every level is run by a job. */
  addCoverage(levels: readonly RunnableLevel[]): void {
    const workflows: Workflow[] = [];
    for (const path of globSync("*.yml", { cwd: folder }).sort()) {
      const workflow = this.#read(path);
      if (workflow === undefined) continue;
      workflows.push(workflow);
      const missed = Object.keys(workflow.jobs).filter((job) => !this.#ran.has(`${path} ${job}`));
      this.results.push({ name: `${path}: every job was reached`, problems: missed.map((job) => `${job} was not`) });
    }
    this.results.push({ name: "every level is run by a job", problems: runLevelProblems(workflows, levels) });
  }

  /** Runs a workflow's jobs one after the other. @returns the outcome of all together */
  async runWorkflow(file: string): Promise<JobOutcome> {
    const workflow = this.#read(file);
    if (workflow === undefined) return { result: "failure", outputs: {} };
    const outcomes: Record<string, JobOutcome> = {};
    for (const name of jobOrder(workflow)) {
      const job = workflow.jobs[name];
      if (job === undefined) continue;
      const scope = baseScope(Object.fromEntries(job.needs.map((needed) => [needed, { outputs: outcomes[needed]?.outputs ?? {} }])));
      const isReady = job.needs.every((needed) => outcomes[needed]?.result === "success");
      outcomes[name] = !evaluateCondition(job.if, isReady, scope)
        ? { result: "skipped", outputs: {} }
        : "uses" in job
          ? await this.#call(file, name, job.uses)
          : await this.#runJob({ file, workflow, name, job, scope });
    }
    const hasFailed = Object.values(outcomes).some(({ result }) => result === "failure");
    return { result: hasFailed ? "failure" : "success", outputs: {} };
  }

  async #call(caller: string, job: string, path: string): Promise<JobOutcome> {
    this.#ran.add(`${caller} ${job}`);
    const file = basename(path);
    const outcome = this.#called.get(file) ?? (await this.runWorkflow(file));
    this.#called.set(file, outcome);
    return outcome;
  }

  async #runJob(one: Omit<JobToRun, "matrix">): Promise<JobOutcome> {
    this.#ran.add(`${one.file} ${one.name}`);
    let outcome: JobOutcome = { result: "success", outputs: {} };
    if (this.#options.only.length > 0 && !this.#options.only.includes(one.name)) return outcome;
    const entries = matrixEntries(one.job);
    // The steps are the same for each entry, and programs of older versions would be built only for this run.
    const isEach = this.#options.isFull || this.#options.only.length > 0;
    for (const matrix of isEach ? entries : entries.slice(-1)) {
      await using machine = await this.#machines.start();
      const environment = this.#options.isFull ? {} : (part[one.name] ?? {});
      const run = new JobRun({ ...one, matrix }, { machine, service: this.#service, environment, say: this.#options.say });
      const { result, outputs } = await run.run();
      this.results.push(...run.results);
      outcome = { result: result === "failure" ? result : outcome.result, outputs };
    }
    return outcome;
  }

  #read(file: string): Workflow | undefined {
    try {
      return parseWorkflow(readFileSync(join(folder, file), "utf8"));
    } catch (error) {
      this.results.push({ name: `${file} is understood`, problems: [messageOf(error)] });
      return undefined;
    }
  }
}

/** Contexts of all expressions. */
function baseScope(needs: Readonly<Record<string, ExpressionValue>>): ExpressionScope {
  const github = { event_name: "push", ref: "refs/heads/main", repository };
  return { contexts: { github, runner: { os: "Linux", arch: "X64", temp }, needs }, functions: {} };
}
