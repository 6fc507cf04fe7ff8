import { featureNames, notChosen, type ConformanceReport, type Feature, type FeatureReport } from "@virtual-kubelet/testing/conformance";
import { z } from "zod";

/** How a feature of a provider stands. */
export interface FeatureRecord {
  readonly state: "passed" | "lacking" | "not-run";
  /** Whether the suite fails without it. */
  readonly required?: boolean | undefined;
  /** Why it is lacking or not run. */
  readonly reason?: string | undefined;
  /** Checks of it that could not be tried, and why. */
  readonly untried?: Readonly<Record<string, string>> | undefined;
}

/** What is known of a provider: the short form of the suite's reports, committed as `conformance.json` beside it. */
export interface ConformanceRecord {
  /** What the suite ran against. */
  readonly against?: string | undefined;
  readonly features: Readonly<Partial<Record<Feature, FeatureRecord>>>;
}

const schema = z.strictObject({
  against: z.string().optional(),
  features: z.partialRecord(
    z.enum(featureNames as [Feature, ...Feature[]]),
    z.strictObject({
      state: z.enum(["passed", "lacking", "not-run"]),
      required: z.boolean().optional(),
      reason: z.string().optional(),
      untried: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

/**
 * Reads a conformance.json.
 *
 * @param path - names the file in messages
 * @throws Error with one line
 */
export function parseRecord(text: string, path: string): ConformanceRecord {
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${path}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is no record"}; delete it and run \`make generate\``);
}

/**
 * What is known after a run of the suite. What this machine could not try stays as it was known: a feature or a check
 * that did not run takes nothing back.
 */
export function updateRecord(before: ConformanceRecord | undefined, { against, features }: ConformanceReport): ConformanceRecord {
  const entries = featureNames.map((feature) => [feature, updateFeature(before?.features[feature], features[feature])] as const);
  return { ...(against !== undefined && { against }), features: Object.fromEntries(entries.filter(([, record]) => record)) };
}

function updateFeature(before: FeatureRecord | undefined, report: FeatureReport): FeatureRecord | undefined {
  const { state, reason, checks } = report;
  const required = report.required ? { required: true } : {};
  // A failure is the suite's to tell, and a run of some tests only tells nothing of the others.
  if (state === "failed" || checks.some((check) => check.reason === notChosen)) return before;
  if (state === "lacking") return { state, ...required, ...(reason !== undefined && { reason }) };
  if (state === "not-run" && before?.state === "passed") return { ...before, ...required };
  const wasTried = (name: string): boolean => before?.state === "passed" && before.untried?.[name] === undefined;
  const untried = checks.filter(({ name, state: how }) => how === "not-run" && !wasTried(name));
  const reasons = Object.fromEntries(untried.map((check) => [check.name, check.reason ?? "it was not tried"]));
  if (state === "not-run") return { state, ...required, reason: reason ?? [...new Set(Object.values(reasons))].join("; ") };
  return { state, ...required, ...(untried.length > 0 && { untried: reasons }) };
}

/** The text of a conformance.json. */
export function renderRecord(record: ConformanceRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
