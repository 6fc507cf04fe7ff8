import { z } from "zod";

/** Quantiles of the time from a pod's creation until it was observed running, in seconds. */
export interface StartQuantiles {
  readonly pods: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Results of the tests in one file of Kubernetes' source. */
export interface FileRecord {
  /** Such as `common/node/pods.go`. */
  readonly file: string;
  readonly of: number;
  readonly passed: number;
  /** Number of tests that need no kubelet, and the components that they exercise. */
  readonly others?: { readonly count: number; readonly who: string } | undefined;
}

/** Results of a group of tests under one policy. */
export interface GroupRecord {
  readonly title: string;
  readonly minutes: number;
  /** `undefined` if no pod was observed running. */
  readonly starts?: StartQuantiles | undefined;
  readonly files: readonly FileRecord[];
  /** Failed tests and the reasons. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** Rules that omit tests of the group, with the reasons. */
  readonly leftOut: readonly { readonly tests: string; readonly why: string; readonly count: number }[];
}

/** One run of `make conformance`: all groups under all policies, of one commit. */
export interface ConformanceRun {
  /** Commit of the work tree, which had no changes. */
  readonly commit: string;
  /** Day in UTC on which the run began. */
  readonly date: string;
  /** Components of the run, one line each. */
  readonly circumstances: readonly string[];
  readonly policies: readonly { readonly name: string; readonly about: string; readonly groups: readonly GroupRecord[] }[];
}

const schema: z.ZodType<ConformanceRun> = z.strictObject({
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  date: z.iso.date(),
  circumstances: z.array(z.string()),
  policies: z
    .array(
      z.strictObject({
        name: z.string(),
        about: z.string(),
        groups: z.array(
          z.strictObject({
            title: z.string(),
            minutes: z.number(),
            starts: z.strictObject({ pods: z.int(), p50: z.number(), p90: z.number(), p99: z.number() }).optional(),
            files: z.array(
              z.strictObject({
                file: z.string(),
                of: z.int(),
                passed: z.int(),
                others: z.strictObject({ count: z.int(), who: z.string() }).optional(),
              }),
            ),
            failed: z.array(z.strictObject({ name: z.string(), reason: z.string() })),
            leftOut: z.array(z.strictObject({ tests: z.string(), why: z.string(), count: z.int() })),
          }),
        ),
      }),
    )
    .nonempty(),
});

/** Reads the text of a record. @throws Error with the fields that are wrong */
export function parseConformanceRun(text: string): ConformanceRun {
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new Error(`record of Kubernetes' tests: ${z.prettifyError(parsed.error)}; run \`make conformance\` to write it again`);
}

/** The text of a record. */
export function renderConformanceRun(run: ConformanceRun): string {
  return `${JSON.stringify(run, undefined, 2)}\n`;
}
