import { basename, dirname } from "node:path";

/** Fields of a test in Ginkgo's JSON report that we read. */
export interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly LeafNodeLocation: { readonly FileName: string };
  readonly State: string;
  readonly Failure?: { readonly Message: string };
  /** The test's log of its steps, including the name of its namespace. */
  readonly CapturedGinkgoWriterOutput?: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly NumAttempts?: number;
}

/** Ginkgo's JSON report, with one entry per suite. */
export type GinkgoReport = readonly { readonly SpecReports: readonly GinkgoSpec[] | null }[];

/** Result of one of Kubernetes' tests. */
export interface SpecResult {
  readonly name: string;
  /** Such as `common/node/pods.go`. */
  readonly file: string;
  /** A selected test that was skipped counts as failed, because the run should prove it. */
  readonly passed: boolean;
  /** Reason of the failure on one line; `undefined` if it passed. */
  readonly reason?: string | undefined;
  readonly seconds: number;
  /** Number of attempts; more than 1 only if the run allows it. */
  readonly attempts: number;
  /** Log of the test's steps. */
  readonly output: string;
}

/** Names of the tests that a dry run selected. */
export function chosenSpecs(dryRun: GinkgoReport): ReadonlySet<string> {
  return new Set(
    itsOf(dryRun)
      .filter(({ State }) => State === "passed")
      .map(nameOf),
  );
}

/** Result of each selected test; a test that is missing from the report has failed. */
export function specResults(report: GinkgoReport, chosen: ReadonlySet<string>): readonly SpecResult[] {
  const results = itsOf(report)
    .filter((spec) => chosen.has(nameOf(spec)))
    .map((spec): SpecResult => {
      const passed = spec.State === "passed";
      return {
        name: nameOf(spec),
        file: fileOf(spec),
        passed,
        reason: passed ? undefined : `${spec.State}: ${oneLine(spec.Failure?.Message ?? "without a word")}`,
        seconds: spec.RunTime / 1e9,
        attempts: spec.NumAttempts ?? 1,
        output: spec.CapturedGinkgoWriterOutput ?? "",
      };
    });
  const reported = new Set(results.map(({ name }) => name));
  const lost = [...chosen].filter((name) => !reported.has(name));
  return [
    ...results,
    ...lost.map((name) => ({ name, file: "?", passed: false, reason: "it was not run", seconds: 0, attempts: 0, output: "" })),
  ];
}

function itsOf(report: GinkgoReport): readonly GinkgoSpec[] {
  return report.flatMap(({ SpecReports }) => SpecReports ?? []).filter(({ LeafNodeType }) => LeafNodeType === "It");
}

function nameOf({ ContainerHierarchyTexts, LeafNodeText }: GinkgoSpec): string {
  return [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" ");
}

function fileOf({ LeafNodeLocation }: GinkgoSpec): string {
  const path = LeafNodeLocation.FileName;
  return /\/test\/e2e\/(.*)$/.exec(path)?.[1] ?? `${basename(dirname(path))}/${basename(path)}`;
}

/** The beginning of a message, on one line. */
function oneLine(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length > 150 ? `${line.slice(0, 150)}…` : line;
}
