import { expect, test } from "vitest";
import { runLevelProblems } from "./run-levels.ts";
import { parseWorkflow, type Workflow } from "./workflow-file.ts";

const levels = [
  { name: "unit", quick: true },
  { name: "docs", quick: false },
  { name: "zun", quick: false },
  { name: "workflows", quick: false },
];

/** A workflow whose jobs run these commands. */
function running(...commands: readonly string[]): Workflow {
  const jobs = Object.fromEntries(
    commands.map((run, index) => [`job${index}`, { "runs-on": "ubuntu-latest", "timeout-minutes": 1, steps: [{ run }] }]),
  );
  return parseWorkflow(JSON.stringify({ name: "W", on: {}, permissions: {}, jobs }));
}

test("jobs that run every level but the workflows' own are right", () => {
  expect(runLevelProblems([running(".ci/run quick"), running("make build", ".ci/run docs zun")], levels)).toEqual([]);
});

test("a level that no job runs is told", () => {
  expect(runLevelProblems([running(".ci/run unit", ".ci/run docs")], levels)).toEqual(["no job runs the level zun"]);
});

test("quick levels are told where no job runs them", () => {
  expect(runLevelProblems([running(".ci/run docs zun")], levels)).toEqual(["no job runs the level unit"]);
});

test("a name that no level has is told", () => {
  expect(runLevelProblems([running(".ci/run quick docs zun dockre")], levels)).toEqual(["a job runs dockre, and there is no such level"]);
});
