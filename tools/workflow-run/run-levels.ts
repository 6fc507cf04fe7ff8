import { matrixEntries, type Workflow } from "./workflow-file.ts";
import { renderTemplate } from "./expression.ts";

/** Facts about a level of tests. */
export interface RunnableLevel {
  readonly name: string;
  /** Whether `make test` runs it without being told to. */
  readonly quick: boolean;
}

/** The level that runs the workflows; no workflow runs it. */
export const workflowsLevel = "workflows";

/** Problems in the levels that jobs pass to `.ci/run`: a level that no job runs, and an unknown level. */
export function runLevelProblems(workflows: readonly Workflow[], levels: readonly RunnableLevel[]): string[] {
  const named = new Set(workflows.flatMap(namesIn));
  const isRun = ({ name, quick }: RunnableLevel): boolean => named.has(name) || (quick && named.has("quick"));
  return [
    ...levels.filter((level) => level.name !== workflowsLevel && !isRun(level)).map(({ name }) => `no job runs the level ${name}`),
    ...[...named]
      .filter((name) => name !== "quick" && levels.every((level) => level.name !== name))
      .map((name) => `a job runs ${name}, and there is no such level`),
  ];
}

/** The words after each `.ci/run`. */
function namesIn({ jobs }: Workflow): readonly string[] {
  return Object.values(jobs).flatMap((job) => {
    if ("uses" in job) return [];
    return matrixEntries(job).flatMap((matrix) =>
      job.steps.flatMap(({ run = "" }) => {
        const [, words = ""] = /^\.ci\/run\b(.*)$/m.exec(run) ?? [];
        return renderTemplate(words, { contexts: { matrix }, functions: {} }).split(/\s+/).filter(Boolean);
      }),
    );
  });
}
