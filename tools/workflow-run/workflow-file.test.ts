import { describe, expect, test } from "vitest";
import { jobOrder, matrixEntries, parseCommandFile, parseWorkflow, type StepsJob } from "./workflow-file.ts";

const sha = "0123456789abcdef0123456789abcdef01234567";

/** A workflow with these jobs, as YAML. */
function workflow(jobs: object): string {
  return JSON.stringify({ name: "W", on: { push: null }, permissions: { contents: "read" }, jobs });
}

/** A job that runs `true`, with these parts besides. */
function job(parts: object = {}): object {
  return { "runs-on": "ubuntu-latest", "timeout-minutes": 5, steps: [{ run: "true" }], ...parts };
}

describe("a workflow", () => {
  test("is read with its jobs, steps and called workflows", () => {
    const text = `
name: W
on:
  push:
    branches: [main]
permissions: {}
jobs:
  first:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@${sha} # v6
        with:
          persist-credentials: false
      - run: make test
  second:
    needs: first
    uses: ./.github/workflows/checks.yml
`;
    const { jobs } = parseWorkflow(text);
    expect(jobs["first"]).toMatchObject({
      needs: [],
      steps: [{ uses: `actions/checkout@${sha}`, with: { "persist-credentials": "false" } }, { run: "make test" }],
    });
    expect(jobs["second"]).toMatchObject({ needs: ["first"], uses: "./.github/workflows/checks.yml" });
  });

  test.for<[string, object, string]>([
    ["an action of a tag", { a: job({ steps: [{ uses: "actions/checkout@v6" }] }) }, "40 hexadecimal digits"],
    ["an action of a branch of this repository", { a: job({ steps: [{ uses: "./action" }] }) }, "40 hexadecimal digits"],
    ["a part of a step that is not tried", { a: job({ steps: [{ run: "true", shell: "sh" }] }) }, "shell"],
    ["a part of a job that is not tried", { a: job({ container: "debian" }) }, "container"],
    ["a step that does nothing", { a: job({ steps: [{ name: "idle" }] }) }, "either uses an action or runs a command"],
    ["another machine", { a: job({ "runs-on": "windows-latest" }) }, "ubuntu-latest"],
    ["a matrix with entries besides its lists", { a: job({ strategy: { matrix: { include: [{ a: 1 }] } } }) }, "matrix"],
    ["a job without an end", { a: { ...job(), "timeout-minutes": undefined } }, "timeout-minutes"],
    ["a workflow of another repository", { a: { uses: `other/repo/.github/workflows/x.yml@${sha}` } }, "uses"],
    ["the need of a job that is not there", { a: job({ needs: "b" }) }, "needs b"],
  ])("with %s is refused", ([, jobs, problem]) => {
    expect(() => parseWorkflow(workflow(jobs))).toThrow(problem);
  });
});

describe("the order of jobs", () => {
  test("has each after those that it needs", () => {
    const text = workflow({ c: job({ needs: ["a", "b"] }), b: job({ needs: "a" }), a: job() });
    expect(jobOrder(parseWorkflow(text))).toEqual(["a", "b", "c"]);
  });

  test("is refused where they need each other", () => {
    expect(() => jobOrder(parseWorkflow(workflow({ a: job({ needs: "b" }), b: job({ needs: "a" }) })))).toThrow("a, b need each other");
  });
});

describe("a matrix", () => {
  const stepsJob = (strategy?: object): StepsJob => parseWorkflow(workflow({ a: job({ strategy }) })).jobs["a"] as StepsJob;

  test("gives every combination of its values", () => {
    expect(matrixEntries(stepsJob({ matrix: { a: [1, 2], b: ["x", "y"] } }))).toEqual([
      { a: "1", b: "x" },
      { a: "1", b: "y" },
      { a: "2", b: "x" },
      { a: "2", b: "y" },
    ]);
  });

  test("that is not there gives one entry without values", () => {
    expect(matrixEntries(stepsJob())).toEqual([{}]);
  });
});

describe("what a step writes for those after it", () => {
  test("is a value in a line, or in lines up to a mark", () => {
    expect(parseCommandFile("a=1\nb=x=y\nc<<END\none\ntwo\nEND\nd=\n")).toEqual({ a: "1", b: "x=y", c: "one\ntwo", d: "" });
  });

  test.for([
    ["no name", "expected name=value"],
    ["a<<END\none\n", "no end"],
  ])("is refused as %j", ([text = "", problem = ""]) => {
    expect(() => parseCommandFile(text)).toThrow(problem);
  });
});
