/** Request to a runner. */
export interface RunRequest {
  /** Sources that stand in for files, by absolute path. */
  readonly texts: Readonly<Record<string, string>>;
  /** Test files to run, in this order, by absolute path. */
  readonly tests: readonly string[];
}

/** How one test file went. */
interface TestFileResult {
  readonly file: string;
  readonly durationMs: number;
  /** Regions that it reached; empty unless the runner records them. */
  readonly reached: readonly string[];
}

/** Outcome of a run. */
export interface RunResult {
  /** `invalid`: the substituted source is not a valid program. */
  readonly outcome: "passed" | "failed" | "timed out" | "invalid";
  /** The first failure: test and message; empty if all passed. */
  readonly failure: string;
  readonly files: readonly TestFileResult[];
}

/** How a runner is started, in its only argument as JSON. */
export interface RunnerOptions {
  /** Folder of the package, relative to the top. */
  readonly folder: string;
  /** Each test file in a worker of its own, with {@link TestFileResult.reached} recorded. */
  readonly recordReach: boolean;
  /** Threads start quicker; some tests need processes of their own. */
  readonly pool: "threads" | "forks";
  /** Test files at a time; more than one only where each has a worker of its own. */
  readonly maxWorkers: number;
  /** Limit of one test and one hook. */
  readonly testTimeoutMs: number;
}
