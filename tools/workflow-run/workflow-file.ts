import { parse } from "yaml";
import { z } from "zod";

/** Texts by name, such as an action's inputs or a step's environment; numbers and booleans have become texts. */
export type Texts = Readonly<Record<string, string>>;

/** One step of a job: exactly one of `uses` and `run` is there. */
export interface WorkflowStep {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly if?: string | undefined;
  /** Such as `actions/checkout@` and the 40 hexadecimal digits of a commit. */
  readonly uses?: string | undefined;
  readonly with: Texts;
  readonly run?: string | undefined;
  readonly env: Texts;
}

interface AnyJob {
  readonly name?: string | undefined;
  readonly needs: readonly string[];
  readonly if?: string | undefined;
  readonly permissions?: Texts | undefined;
}

/** A job that has steps of its own. */
export interface StepsJob extends AnyJob {
  readonly "runs-on": "ubuntu-latest";
  readonly "timeout-minutes": number;
  readonly environment?: string | undefined;
  /** Templates, by the output's name. */
  readonly outputs: Texts;
  readonly env: Texts;
  readonly strategy?:
    | { readonly "fail-fast"?: boolean | undefined; readonly matrix: Readonly<Record<string, readonly string[]>> }
    | undefined;
  readonly steps: readonly WorkflowStep[];
}

/** A job that calls another workflow of this repository. */
interface CallingJob extends AnyJob {
  /** Such as `./.github/workflows/checks.yml`. */
  readonly uses: string;
}

/** A workflow of GitHub Actions, as far as this project's use it. */
export interface Workflow {
  readonly name: string;
  /** What starts it, by name. */
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Texts;
  readonly env: Texts;
  readonly jobs: Readonly<Record<string, StepsJob | CallingJob>>;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const texts = z.record(z.string(), scalar.transform(String)).default({});
const permissions = z.record(z.string(), z.enum(["none", "read", "write"]));

/** An action of others is fixed to a commit, because a tag can be moved. */
const pinnedAction = z
  .string()
  .regex(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/, "an action is named with the 40 hexadecimal digits of its commit");

const step = z
  .strictObject({
    id: z.string().optional(),
    name: z.string().optional(),
    if: z.string().optional(),
    uses: pinnedAction.optional(),
    with: texts,
    run: z.string().optional(),
    env: texts,
  })
  .refine(({ uses, run }) => (uses === undefined) !== (run === undefined), "a step either uses an action or runs a command");

const anyJob = {
  name: z.string().optional(),
  needs: z.union([z.string().transform((name) => [name]), z.array(z.string())]).default([]),
  if: z.string().optional(),
  permissions: permissions.optional(),
};

const stepsJob: z.ZodType<StepsJob> = z.strictObject({
  ...anyJob,
  "runs-on": z.literal("ubuntu-latest"),
  "timeout-minutes": z.number(),
  environment: z.string().optional(),
  outputs: texts,
  env: texts,
  strategy: z
    .strictObject({
      "fail-fast": z.boolean().optional(),
      // Neither `include` nor `exclude`: those are no lists of scalars.
      matrix: z.record(z.string(), z.array(scalar.transform(String)).nonempty()),
    })
    .optional(),
  steps: z.array(step).nonempty(),
});

const callingJob: z.ZodType<CallingJob> = z.strictObject({ ...anyJob, uses: z.string().regex(/^\.\/\.github\/workflows\/[\w-]+\.yml$/) });

const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions,
  concurrency: z.strictObject({ group: z.string(), "cancel-in-progress": scalar }).optional(),
  env: texts,
  jobs: z.record(z.string(), z.looseObject({})),
});

/**
 * Reads a workflow. Unknown keys are errors, so that no part of a workflow goes untested.
 *
 * @throws Error with every problem and where it is
 */
export function parseWorkflow(text: string): Workflow {
  const { jobs: unread, ...rest } = read("the workflow", workflow, parse(text));
  const jobs: Record<string, StepsJob | CallingJob> = {};
  for (const [name, job] of Object.entries(unread))
    jobs[name] = "uses" in job ? read(`the job ${name}`, callingJob, job) : read(`the job ${name}`, stepsJob, job);
  for (const [name, { needs }] of Object.entries(jobs)) {
    const unknown = needs.find((needed) => !Object.hasOwn(jobs, needed));
    if (unknown !== undefined) throw new Error(`the job ${name} needs ${unknown}, and there is no such job`);
  }
  return { ...rest, jobs };
}

/** @throws Error that names what was read */
function read<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error !== undefined) throw new Error(`${what} is not understood:\n${z.prettifyError(error)}`);
  return data;
}

/** Names of the jobs in an order in which each comes after those that it needs. @throws Error if they need each other in a circle */
export function jobOrder({ jobs }: Workflow): readonly string[] {
  const ordered = new Set<string>();
  while (ordered.size < Object.keys(jobs).length) {
    const ready = Object.entries(jobs).filter(([name, { needs }]) => !ordered.has(name) && needs.every((needed) => ordered.has(needed)));
    if (ready.length === 0)
      throw new Error(
        `the jobs ${Object.keys(jobs)
          .filter((name) => !ordered.has(name))
          .join(", ")} need each other`,
      );
    for (const [name] of ready) ordered.add(name);
  }
  return [...ordered];
}

/** Every combination of a matrix's values; one empty combination where there is no matrix. */
export function matrixEntries({ strategy }: StepsJob): readonly Readonly<Record<string, string>>[] {
  return Object.entries(strategy?.matrix ?? {}).reduce<Record<string, string>[]>(
    (entries, [name, values]) => entries.flatMap((entry) => values.map((value) => ({ ...entry, [name]: value }))),
    [{}],
  );
}

/**
 * Parses a step's `GITHUB_OUTPUT`, `GITHUB_ENV` or a similar file: `name=value` in a line, or `name<<END` and lines until `END`.
 *
 * @throws SyntaxError at a line that is neither
 */
export function parseCommandFile(text: string): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  const lines = text.split("\n");
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    if (line === "") continue;
    const [, name = "", sign, rest = ""] = /^([^=<]+)(=|<<)(.*)$/.exec(line) ?? [];
    if (sign === undefined) throw new SyntaxError(`expected name=value or name<<END, found ${JSON.stringify(line)}`);
    if (sign === "=") values[name] = rest;
    else {
      const end = lines.indexOf(rest);
      if (end < 0) throw new SyntaxError(`the value of ${name} has no end: there is no line ${JSON.stringify(rest)}`);
      values[name] = lines.splice(0, end).join("\n");
      lines.shift();
    }
  }
  return values;
}
