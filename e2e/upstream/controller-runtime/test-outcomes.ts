/** Outcome of a test of a suite. */
export interface TestOutcome {
  /** Texts of the containers and the test, or the name of a test of Go. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Message of a failure, if it was told. */
  readonly message?: string;
}

/** The parts of Ginkgo's JSON report that are looked at. */
export interface GinkgoSuite {
  readonly SpecReports:
    | readonly {
        readonly ContainerHierarchyTexts: readonly string[] | null;
        readonly LeafNodeText: string;
        readonly LeafNodeType: string;
        readonly State: string;
        readonly Failure?: { readonly Message?: string };
      }[]
    | null;
}

/**
 * Outcomes of one run: Ginkgo's specs, and tests of Go, except those that only run a suite of Ginkgo. Setup and teardown count if they fail.
 *
 * @param output - of the program with `-test.v`
 */
export function toOutcomes(output: string, suites: readonly GinkgoSuite[]): TestOutcome[] {
  const outcomes: TestOutcome[] = [];
  for (const { SpecReports: specs } of suites) {
    for (const { ContainerHierarchyTexts: texts, LeafNodeText: text, LeafNodeType: type, State: state, Failure: failure } of specs ?? []) {
      if (type !== "It" && state === "passed") continue;
      const name = [...(texts ?? []), text].join(" ").trim() || type;
      const outcome = state === "passed" ? "passed" : state === "pending" || state === "skipped" ? "skipped" : "failed";
      outcomes.push({ name, outcome, ...(failure?.Message === undefined ? {} : { message: failure.Message }) });
    }
  }
  const ofGinkgo = testsThatRunSuites(output);
  for (const [, verdict, name = ""] of output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)) {
    if (ofGinkgo.has(name)) continue;
    outcomes.push({ name, outcome: verdict === "PASS" ? "passed" : verdict === "FAIL" ? "failed" : "skipped" });
  }
  return outcomes;
}

/** Names of the tests of Go that print the head of a suite. */
function testsThatRunSuites(output: string): ReadonlySet<string> {
  const names = new Set<string>();
  let running = "";
  for (const line of output.split("\n")) {
    running = /^=== RUN +(\S+)/.exec(line)?.[1] ?? running;
    if (line.startsWith("Running Suite: ")) names.add(running);
  }
  return names;
}
