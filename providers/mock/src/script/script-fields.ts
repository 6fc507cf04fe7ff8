import { tryDurationMs } from "@virtual-kubelet/core";
import { parseQuantity, wholeUnits, type Quantity } from "@virtual-kubelet/kubernetes";

/**
 * How the start of a pod fails. `image-pull-error` and `create-error` leave the container waiting with a kubelet's reasons.
 * `provider-error` and `terminal-error` make the provider's call fail, temporarily or for good.
 */
export type MockFailure = "image-pull-error" | "create-error" | "provider-error" | "terminal-error";

/** Script of a pod or of one container. Absent fields have no effect. */
export interface MockScriptSettings {
  /** Time in `ContainerCreating`, in milliseconds. */
  readonly startDelayMs?: number | undefined;
  /** Time from a container's start until it is ready, in milliseconds. */
  readonly readyAfterMs?: number | undefined;
  /** Interval at which a ready container becomes unready and ready again, in milliseconds. */
  readonly flipReadyEveryMs?: number | undefined;
  /** Time from a container's start until it exits, in milliseconds; `Infinity`: never. */
  readonly exitAfterMs?: number | undefined;
  /** Exit code, 0 to 255. Default: 0, or 1 with `crashLoop`. */
  readonly exitCode?: number | undefined;
  readonly fail?: MockFailure | undefined;
  /** Shorthand for exiting after 1 s with code 1. */
  readonly crashLoop?: boolean | undefined;
  /** Time that a container needs to end after the pod's deletion, in milliseconds; at most the grace period. */
  readonly stopDelayMs?: number | undefined;
  /** Lines of a container's log. */
  readonly log?: readonly string[] | undefined;
  /** Interval between lines of the log, in milliseconds. The lines are then repeated. */
  readonly logEveryMs?: number | undefined;
  /** Average CPU usage, in billionths of a core. */
  readonly cpuNanoCores?: number | undefined;
  /** Average memory usage, in bytes. */
  readonly memoryBytes?: number | undefined;
}

/** Syntax of a field. */
interface ScriptField<Value> {
  /** Name of the annotation. */
  readonly annotation: string;
  /** Name in the configuration. */
  readonly option: string;
  readonly expected: string;
  /** Description. */
  readonly help: string;
  parse(text: string): Value | undefined;
}

const failures: readonly MockFailure[] = ["image-pull-error", "create-error", "provider-error", "terminal-error"];
const duration = { expected: "a duration such as 500ms, 2s or 1m30s", parse: tryDurationMs };

/** Every field a script has, as annotation and as option. */
export const scriptFields: { readonly [Key in keyof MockScriptSettings]-?: ScriptField<NonNullable<MockScriptSettings[Key]>> } = {
  startDelayMs: { annotation: "start-delay", help: "time in ContainerCreating", option: "startDelay", ...duration },
  readyAfterMs: { annotation: "ready-after", help: "time from start until it is ready", option: "readyAfter", ...duration },
  flipReadyEveryMs: {
    annotation: "flip-ready-every",
    help: "interval at which a ready container alternates between unready and ready",
    option: "flipReadyEvery",
    expected: "a duration of at least 10ms, such as 5s",
    parse: (text) => atLeast(10, tryDurationMs(text)),
  },
  exitAfterMs: {
    annotation: "exit-after",
    help: "time from start until it exits, after which restartPolicy applies; without it never, or after 1s in the pod of a Job",
    option: "exitAfter",
    expected: `${duration.expected}, or never`,
    parse: (text) => (text === "never" ? Infinity : tryDurationMs(text)),
  },
  exitCode: {
    annotation: "exit-code",
    help: "exit code; default 0",
    option: "exitCode",
    expected: "an integer from 0 to 255",
    parse: parseExitCode,
  },
  fail: {
    annotation: "fail",
    help: "how the start fails",
    option: "fail",
    expected: `one of ${failures.join(", ")}`,
    parse: (text) => failures.find((failure) => failure === text),
  },
  crashLoop: {
    annotation: "crash-loop",
    help: "shorthand for exit-after 1s and exit-code 1",
    option: "crashLoop",
    expected: "true or false",
    parse: parseBoolean,
  },
  stopDelayMs: { annotation: "stop-delay", help: "time that a deleted container needs to end", option: "stopDelay", ...duration },
  log: {
    annotation: "log",
    help: "what it logs",
    option: "log",
    expected: "text of one or more lines",
    parse: (text) => text.replace(/\n$/, "").split("\n"),
  },
  logEveryMs: {
    annotation: "log-every",
    help: "interval between lines of the log, which then repeat",
    option: "logEvery",
    expected: "a duration of at least 10ms, such as 1s",
    parse: (text) => atLeast(10, tryDurationMs(text)),
  },
  cpuNanoCores: {
    annotation: "cpu-usage",
    help: "average CPU usage",
    option: "cpuUsage",
    expected: "an amount of CPU such as 250m or 1.5",
    parse: (text) => tryAmount(text, (quantity) => Number(quantity.nano)),
  },
  memoryBytes: {
    annotation: "memory-usage",
    help: "average memory usage",
    option: "memoryUsage",
    expected: "an amount of memory such as 100Mi",
    parse: (text) => tryAmount(text, (quantity) => Number(wholeUnits(quantity))),
  },
};

/** Names of {@link scriptFields}, in the order of the table. */
export const scriptKeys: readonly (keyof MockScriptSettings)[] = Object.keys(scriptFields) as (keyof MockScriptSettings)[];

function atLeast(minimum: number, value: number | undefined): number | undefined {
  return value !== undefined && value >= minimum ? value : undefined;
}

function parseExitCode(text: string): number | undefined {
  return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : undefined;
}

function parseBoolean(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

function tryAmount(text: string, toNumber: (quantity: Quantity) => number): number | undefined {
  try {
    return atLeast(0, toNumber(parseQuantity(text)));
  } catch {
    return undefined;
  }
}
