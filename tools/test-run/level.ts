import type { Output } from "../run.ts";
import type { Counts } from "./vitest-report.ts";

/** Context of a run of a level. */
export interface LevelRun {
  /** Only tests in files whose path contains one of these; empty: all of them. */
  readonly files: readonly string[];
  /** File for the output of the level's commands. */
  readonly output: Output;
  /** Writes a line to that output. */
  say(line: string): void;
}

/** A kind of check that `make test` runs. */
export interface Level {
  readonly name: string;
  readonly about: string;
  /** Part of `make test` without `ALL=1`. */
  readonly quick: boolean;
  /**
   * `compute` keeps the processors busy; `wait` spends most of its time waiting for processes and timers. One level of each
   * kind runs at a time, as long as there are both.
   */
  readonly kind: "compute" | "wait";
  /** Whether it consists of test files, so that it can be narrowed to some of them. */
  readonly hasFiles: boolean;
  /** Missing requirement and how to get it; `undefined` if the level can run. */
  missing?(): string | undefined;
  /** Begins builds that take minutes, before the level's turn. Called at most once; {@link run} tells what went wrong. */
  prepare?(): Promise<unknown>;
  run(context: LevelRun): Promise<Counts>;
}

/** Result of one level. */
export interface Outcome {
  readonly level: Level;
  readonly counts: Counts;
  readonly seconds: number;
  /** Why it did not run, if it did not. */
  readonly leftOut: string | undefined;
}
