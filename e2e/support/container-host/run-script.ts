import type { Duplex } from "node:stream";
import type { HostTerminalSize, LogLine, RunSpec } from "./container-host.ts";

/** Streams of a scripted command. */
export interface ScriptedSession {
  /** Read: standard input of the command; written: its output. The host ends it when the command has ended. */
  readonly stream: Duplex;
  /** Current size of the terminal; `undefined` if there is none. */
  size(): HostTerminalSize | undefined;
}

/** Behavior of a pretended run. Durations are milliseconds on the host's clock. */
export interface RunScript {
  /** Duration of the image pull. Default: 0. */
  readonly pullMs?: number | undefined;
  /** Duration from the pull's end to the start. Default: 0. */
  readonly startMs?: number | undefined;
  /** Refusal in place of the start: after the pull, or after the start's duration. */
  readonly refused?: { readonly why: "image" | "start"; readonly message: string } | undefined;
  /** End of the run by itself, counted from its start. Default: it runs until it is stopped. */
  readonly exit?: { readonly afterMs: number; readonly exitCode: number; readonly isOutOfMemory?: boolean | undefined } | undefined;
  /** Effect of SIGTERM. Default: exit code 0 at once. */
  readonly onTerminate?: "ignore" | { readonly afterMs: number; readonly exitCode: number } | undefined;
  /** Output, counted from the start, in order. `text` includes its line feed. */
  readonly lines?:
    | readonly (Pick<LogLine, "text"> & { readonly afterMs: number; readonly stream?: LogLine["stream"] | undefined })[]
    | undefined;
  /** Runs a command and returns its exit code. Default: every command is unknown, with exit code 127. */
  readonly exec?: ((command: readonly string[], session: ScriptedSession) => Promise<number>) | undefined;
  /** Resources used while it runs. Default: 10,000,000 ns of CPU per second and 8 MiB. */
  readonly usage?: { readonly cpuNanosecondsPerSecond: number; readonly memoryBytes: number } | undefined;
}

/** Chooses the behavior of a run. */
export type ChooseScript = (run: RunSpec, group: string) => RunScript;
