import { featureNames, notChosen, type ConformanceReport, type Feature, type FeatureReport } from "@virtual-kubelet/testing/conformance";
import { z } from "zod";

/** Kind of back end of a run of the suite; see `ReportedBackEnd`. */
export type RunKind = ConformanceReport["against"]["kind"];

/** Kinds, the most conclusive one first. */
const kinds: readonly RunKind[] = ["real", "own", "fake"];

/** When a run was, and on which version. */
interface RunMoment {
  readonly version?: string | undefined;
  /** Day in UTC; of real back ends only. */
  readonly date?: string | undefined;
}

/** Recorded result of a feature of a provider. */
export interface FeatureRecord {
  readonly state: "passed" | "lacking" | "not-run";
  /** Whether the suite fails without it. */
  readonly required?: boolean | undefined;
  /** Why it is lacking or not run. */
  readonly reason?: string | undefined;
  /** Checks of it that have passed, in this run or an earlier one. */
  readonly checks?: readonly string[] | undefined;
  /** Checks of it that could not be tried, and why. */
  readonly untried?: Readonly<Record<string, string>> | undefined;
  /** The other run that produced this result, if the last one could not try it; `backEnd` if that differs. */
  readonly earlier?: (RunMoment & { readonly backEnd?: string | undefined }) | undefined;
}

/** Results of the runs against one kind of back end; date and version are those of the last run. */
export interface RunRecord extends RunMoment {
  readonly backEnd: string;
  readonly features: Readonly<Partial<Record<Feature, FeatureRecord>>>;
}

/** Results of the suite for a provider, by kind of back end: a summary of the reports, committed as the provider's `conformance.json`. */
export type ConformanceRecord = Readonly<Partial<Record<RunKind, RunRecord>>>;

const moment = { version: z.string().optional(), date: z.iso.date().optional() };

const schema: z.ZodType<ConformanceRecord> = z.partialRecord(
  z.enum(kinds),
  z.strictObject({
    backEnd: z.string(),
    ...moment,
    features: z.partialRecord(
      z.enum(featureNames as [Feature, ...Feature[]]),
      z.strictObject({
        state: z.enum(["passed", "lacking", "not-run"]),
        required: z.boolean().optional(),
        reason: z.string().optional(),
        checks: z.array(z.string()).optional(),
        untried: z.record(z.string(), z.string()).optional(),
        earlier: z.strictObject({ ...moment, backEnd: z.string().optional() }).optional(),
      }),
    ),
  }),
);

/** Kinds of back ends in the record, the most conclusive one first. */
export function runsOf(record: ConformanceRecord): (readonly [RunKind, RunRecord])[] {
  return kinds.flatMap((kind) => (record[kind] ? [[kind, record[kind]] as const] : []));
}

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
 * Updates a record with a run of the suite. Results that this machine could not produce are kept: a feature or a check
 * that did not run overwrites nothing, and for a real back end the record names the run that produced a result.
 */
export function updateRecord(before: ConformanceRecord | undefined, { against, date, features }: ConformanceReport): ConformanceRecord {
  const { kind, name, version } = against;
  const known = before?.[kind];
  const entries = featureNames.map((feature) => [feature, updateFeature(known, name, feature, features[feature])] as const);
  const run: RunRecord = {
    backEnd: name,
    ...(version !== undefined && { version }),
    ...(kind === "real" && { date }),
    features: Object.fromEntries(entries.filter(([, record]) => record)),
  };
  return { ...before, [kind]: run };
}

function updateFeature(known: RunRecord | undefined, backEnd: string, feature: Feature, report: FeatureReport): FeatureRecord | undefined {
  const { state, reason, checks } = report;
  const before = known?.features[feature];
  const required = report.required ? { required: true } : {};
  // The suite itself reports failures, and a partial run says nothing about the other checks.
  if (state === "failed" || checks.some((check) => check.reason === notChosen))
    return before && { ...before, ...earlierOf(known, backEnd, before) };
  if (state === "lacking") return { state, ...required, ...(reason !== undefined && { reason }) };
  if (state === "not-run" && before?.state === "passed") return { ...before, ...required, ...earlierOf(known, backEnd, before) };
  // A check that was added after the last successful run is not among that run's checks.
  const passed = checks.filter(({ name, state: how }) => how === "passed" || (how === "not-run" && before?.checks?.includes(name)));
  const untried = checks.filter((check) => check.state === "not-run" && !passed.includes(check));
  const reasons = Object.fromEntries(untried.map((check) => [check.name, check.reason ?? "it was not tried"]));
  if (state === "not-run") return { state, ...required, reason: reason ?? [...new Set(Object.values(reasons))].join("; ") };
  return { state, ...required, checks: passed.map(({ name }) => name), ...(untried.length > 0 && { untried: reasons }) };
}

/** The run that produced the recorded result of a feature. */
function earlierOf(known: RunRecord | undefined, backEnd: string, { earlier }: FeatureRecord): Pick<FeatureRecord, "earlier"> {
  if (earlier !== undefined || known?.date === undefined) return {};
  const { version, date } = known;
  return {
    earlier: { ...(known.backEnd !== backEnd && { backEnd: known.backEnd }), ...(version !== undefined && { version }), date },
  };
}

/** Whether two records have the same results, regardless of dates and versions. */
export function sameFindings(before: ConformanceRecord, after: ConformanceRecord): boolean {
  return renderRecord(before, withoutRun) === renderRecord(after, withoutRun);
}

function withoutRun(key: string, value: unknown): unknown {
  return key === "date" || key === "version" || key === "earlier" ? undefined : value;
}

/** The text of a conformance.json. */
export function renderRecord(record: ConformanceRecord, replacer?: (key: string, value: unknown) => unknown): string {
  return `${JSON.stringify(Object.fromEntries(runsOf(record)), replacer, 2)}\n`;
}
