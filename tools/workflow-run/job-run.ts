import { messageOf } from "@virtual-kubelet/errdefs";
import { createHash } from "node:crypto";
import { appendFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { root } from "../workspace.ts";
import { actionEffects, type ActionSurroundings, type Service } from "./action-effects.ts";
import { evaluateCondition, renderTemplate, textOf, type ExpressionScope, type ExpressionValue } from "./expression.ts";
import { jobEnvironment, temp, workspace } from "./job-environment.ts";
import type { RunnerMachine } from "./runner-machine.ts";
import { parseCommandFile, type StepsJob, type Texts, type Workflow, type WorkflowStep } from "./workflow-file.ts";

/** Where the output of each job goes. */
export const reports: string = join(root, ".reports/workflows");

/** How a job ended. */
export interface JobOutcome {
  readonly result: "success" | "failure" | "skipped";
  readonly outputs: Texts;
}

/** A job with one entry of its matrix. */
export interface JobToRun {
  readonly file: string;
  readonly workflow: Workflow;
  readonly name: string;
  readonly job: StepsJob;
  readonly matrix: Texts;
  readonly scope: ExpressionScope;
}

/** Options of a job. */
export interface JobSurroundings {
  readonly machine: RunnerMachine;
  readonly service: Service;
  /** Variables of every step. */
  readonly environment: Texts;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** A job on a machine. */
export class JobRun {
  readonly results: CheckResult[] = [];
  readonly #todo: JobToRun;
  readonly #machine: RunnerMachine;
  readonly #service: Service;
  readonly #say: (line: string) => void;
  readonly #log: string;
  readonly #title: string;
  readonly #steps: Record<string, ExpressionValue> = {};
  readonly #afterSuccess: (() => Promise<void>)[] = [];
  #environment: Texts;
  #path: readonly string[] = [];
  #hasSucceeded = true;
  #isLate = false;

  constructor(todo: JobToRun, { machine, service, environment, say }: JobSurroundings) {
    this.#todo = todo;
    this.#say = say;
    this.#machine = machine;
    this.#service = service;
    this.#environment = environment;
    const { file, name, job, matrix } = todo;
    this.#title = `${file}: ${renderTemplate(job.name ?? name, this.#scope())}`;
    mkdirSync(reports, { recursive: true });
    this.#log = join(reports, `${[file, name, ...Object.values(matrix)].join("-").replaceAll(/[^\w.-]/g, "_")}.log`);
    writeFileSync(this.#log, "");
  }

  /** Runs the job's steps. Their results are in {@link results}. */
  async run(): Promise<JobOutcome> {
    const { job } = this.#todo;
    const limit = setTimeout(() => {
      this.#isLate = true;
      void this.#machine.stop();
    }, job["timeout-minutes"] * 60_000);
    try {
      await this.#prepare();
      for (const [index, step] of job.steps.entries()) await this.#runStep(step, index);
      if (this.#hasSucceeded) for (const work of this.#afterSuccess) await work();
    } finally {
      clearTimeout(limit);
    }
    const scope = this.#scope();
    const outputs = Object.fromEntries(Object.entries(job.outputs).map(([name, template]) => [name, renderTemplate(template, scope)]));
    return { result: this.#hasSucceeded ? "success" : "failure", outputs };
  }

  /** Starts services that a job expects. */
  async #prepare(): Promise<void> {
    for (const folder of [workspace, temp]) await this.#must(["mkdir", "-p", folder], {});
    // The system's containerd; an engine of the tests' own must not use it.
    const containerd = `command -v containerd >/dev/null || exit 0
containerd >/tmp/containerd.log 2>&1 &
until [ -S /run/containerd/containerd.sock ]; do kill -0 $! || { cat /tmp/containerd.log; exit 1; }; sleep 0.05; done`;
    const { code, output } = await this.#machine.runToEnd(["sh", "-c", containerd], { user: "root" });
    if (code !== 0) throw new Error(`containerd does not start: ${output}`);
  }

  async #runStep(step: WorkflowStep, index: number): Promise<void> {
    const scope = this.#scope();
    const what = step.name ?? step.run ?? step.uses?.replace(/@.*/, "") ?? "";
    const title = renderTemplate(what, scope).trim().split("\n")[0] ?? "";
    if (!evaluateCondition(step.if, this.#hasSucceeded, scope)) return;
    const start = performance.now();
    appendFileSync(this.#log, `\n== ${title}\n`);
    let problem: string | undefined;
    let outputs: Texts = {};
    try {
      const env = rendered({ ...this.#todo.workflow.env, ...this.#todo.job.env, ...step.env }, scope);
      outputs =
        step.uses === undefined
          ? await this.#runScript(renderTemplate(step.run ?? "", scope), env, index)
          : await this.#runAction(step.uses, rendered(step.with, scope), env);
    } catch (error) {
      problem = this.#isLate ? `not done after the job's ${this.#todo.job["timeout-minutes"]} minutes` : messageOf(error);
      this.#hasSucceeded = false;
    }
    if (step.id !== undefined) this.#steps[step.id] = { outputs, outcome: problem === undefined ? "success" : "failure" };
    const name = `${this.#title}: ${title}`;
    this.#say(`${problem === undefined ? "ok  " : "FAIL"} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    this.results.push({ name, problems: problem === undefined ? [] : [`${problem}\nall of its output: ${this.#log}`] });
  }

  /** Runs a step's command as the service does: a script for `bash -e`. */
  async #runScript(script: string, env: Texts, index: number): Promise<Texts> {
    const files = Object.fromEntries(
      ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"].map((name) => [name, join(temp, `${name}-${index}`)]),
    );
    const scriptFile = join(temp, `step-${index}.sh`);
    writeFileSync(this.#machine.outside(scriptFile), script);
    for (const file of Object.values(files)) await this.#must(["touch", file], {});
    await this.#must(["bash", "-e", scriptFile], { env: { ...env, ...files } });
    const written = (name: string): string => readFileSync(this.#machine.outside(files[name] ?? ""), "utf8");
    this.#environment = { ...this.#environment, ...parseCommandFile(written("GITHUB_ENV")) };
    this.#path = [
      ...written("GITHUB_PATH")
        .split("\n")
        .filter((folder) => folder !== "")
        .toReversed(),
      ...this.#path,
    ];
    return parseCommandFile(written("GITHUB_OUTPUT"));
  }

  async #runAction(uses: string, inputs: Texts, env: Texts): Promise<Texts> {
    const name = uses.replace(/@.*/, "");
    const effect = actionEffects[name];
    if (effect === undefined)
      throw new Error(`what the action ${name} does is not known here: add its effect to tools/workflow-run/action-effects.ts`);
    const surroundings: ActionSurroundings = {
      machine: this.#machine,
      service: this.#service,
      workspace,
      temp,
      run: (command, options = {}) => this.#must(command, { ...options, env: { ...env, ...options.env } }),
      addPath: (folder) => void (this.#path = [folder, ...this.#path]),
      afterSuccess: (work) => void this.#afterSuccess.push(work),
    };
    return await effect(inputs, surroundings);
  }

  /** Runs a command in the job's folder and environment. @returns its output @throws Error with the end of its output if it fails */
  async #must(
    command: readonly string[],
    { user = "runner", env = {} }: { readonly user?: "root" | "runner"; readonly env?: Texts },
  ): Promise<string> {
    let output = "";
    const code = await this.#machine.run(command, {
      user,
      cwd: command[0] === "mkdir" ? "/" : workspace,
      env: { ...jobEnvironment(this.#todo.name, this.#todo.workflow.name, this.#environment, this.#path), ...env },
      output: (text) => {
        output += text;
        appendFileSync(this.#log, text);
      },
    });
    if (code !== 0)
      throw new Error(`${command.slice(0, 4).join(" ")} ended with exit code ${code}:\n${output.split("\n").slice(-40).join("\n")}`);
    return output;
  }

  #scope(): ExpressionScope {
    const { scope, matrix } = this.#todo;
    const hashFiles = (...patterns: readonly ExpressionValue[]): string => hashOf(this.#machine.outside(workspace), patterns.map(textOf));
    return {
      contexts: { ...scope.contexts, matrix, steps: this.#steps },
      functions: { ...scope.functions, hashFiles, format: formatText },
    };
  }
}

/** Hash of files' contents; empty where no file matches, as in a workflow. */
function hashOf(folder: string, patterns: readonly string[]): string {
  const files = globSync(patterns, { cwd: folder, exclude: ["**/node_modules/**"] }).sort();
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(folder, file)));
  return files.length === 0 ? "" : hash.digest("hex");
}

/** Puts values in place of `{0}`, `{1}` and so on. */
function formatText(template: ExpressionValue, ...values: readonly ExpressionValue[]): string {
  return textOf(template ?? "").replace(/\{(\d+)\}/g, (_, index: string) => textOf(values[Number(index)] ?? null));
}

function rendered(texts: Texts, scope: ExpressionScope): Texts {
  return Object.fromEntries(Object.entries(texts).map(([name, template]) => [name, renderTemplate(template, scope)]));
}
