import { basename, dirname } from "node:path";

/** As much of Ginkgo's JSON report as we look at. */
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
}

/** Ginkgo's JSON report: one entry a suite. */
export type GinkgoReport = readonly { readonly SpecReports: readonly GinkgoSpec[] | null }[];

/** How one of Kubernetes' tests went. */
export interface SpecResult {
  readonly name: string;
  /** Such as `common/node/pods.go`. */
  readonly file: string;
  /** A selected test that was skipped counts as failed, because the run should prove it. */
  readonly passed: boolean;
  /** Why it did not, in a line. */
  readonly reason?: string | undefined;
  readonly seconds: number;
  /** Log of its steps. */
  readonly output: string;
}

/** Names of the tests that a dry run chose. */
export function chosenSpecs(dryRun: GinkgoReport): ReadonlySet<string> {
  return new Set(
    itsOf(dryRun)
      .filter(({ State }) => State === "passed")
      .map(nameOf),
  );
}

/** How each of the chosen tests went; one that the report does not have has failed. */
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
        output: spec.CapturedGinkgoWriterOutput ?? "",
      };
    });
  const reported = new Set(results.map(({ name }) => name));
  const lost = [...chosen].filter((name) => !reported.has(name));
  return [...results, ...lost.map((name) => ({ name, file: "?", passed: false, reason: "it was not run", seconds: 0, output: "" }))];
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

/** The beginning of a message, without line ends. */
function oneLine(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length > 150 ? `${line.slice(0, 150)}…` : line;
}
