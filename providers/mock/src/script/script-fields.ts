import { tryDurationMs } from "@virtual-kubelet/core";
import { parseQuantity, wholeUnits, type Quantity } from "@virtual-kubelet/kubernetes";

/**
 * How a pod's start fails. `image-pull-error` and `create-error` leave the container waiting with the kubelet's
 * reasons; `provider-error` and `terminal-error` let the provider's own call fail, to be tried again or for good.
 */
export type MockFailure = "image-pull-error" | "create-error" | "provider-error" | "terminal-error";

/** What a script may say of a pod or of one container. What is absent does not happen. */
export interface MockScriptSettings {
  /** Milliseconds a container waits with `ContainerCreating`. */
  readonly startDelayMs?: number | undefined;
  /** Milliseconds after its start until a container is ready. */
  readonly readyAfterMs?: number | undefined;
  /** A ready container becomes unready after this many milliseconds, ready again after as many more, and so on. */
  readonly flipReadyEveryMs?: number | undefined;
  /** Milliseconds after its start until a container exits. */
  readonly exitAfterMs?: number | undefined;
  /** What it exits with, 0 to 255. Default 0; 1 with `crashLoop`. */
  readonly exitCode?: number | undefined;
  readonly fail?: MockFailure | undefined;
  /** Short for exiting after 1 s with code 1. */
  readonly crashLoop?: boolean | undefined;
  /** Milliseconds a container takes to end once the pod is deleted; never longer than the grace. */
  readonly stopDelayMs?: number | undefined;
  /** What a container logs. */
  readonly log?: readonly string[] | undefined;
  /** Milliseconds between two lines of its log, which then come one after another, over and over. */
  readonly logEveryMs?: number | undefined;
  /** Average use of the processor, in billionths of a core. */
  readonly cpuNanoCores?: number | undefined;
  /** Average use of memory, in bytes. */
  readonly memoryBytes?: number | undefined;
}

/** How one field of a script is written. */
interface ScriptField<Value> {
  /** Its name in an annotation. */
  readonly annotation: string;
  /** Its name in the configuration. */
  readonly option: string;
  readonly expected: string;
  /** What happens. */
  readonly help: string;
  parse(text: string): Value | undefined;
}

const failures: readonly MockFailure[] = ["image-pull-error", "create-error", "provider-error", "terminal-error"];
const duration = { expected: "a duration such as 500ms, 2s or 1m30s", parse: tryDurationMs };

/** Every field a script has, as annotation and as option. */
export const scriptFields: { readonly [Key in keyof MockScriptSettings]-?: ScriptField<NonNullable<MockScriptSettings[Key]>> } = {
  startDelayMs: { annotation: "start-delay", help: "the container waits with ContainerCreating", option: "startDelay", ...duration },
  readyAfterMs: { annotation: "ready-after", help: "it runs, and is ready only then", option: "readyAfter", ...duration },
  flipReadyEveryMs: {
    annotation: "flip-ready-every",
    help: "once ready it turns unready, ready, unready, …",
    option: "flipReadyEvery",
    expected: "a duration of at least 10ms, such as 5s",
    parse: (text) => atLeast(10, tryDurationMs(text)),
  },
  exitAfterMs: { annotation: "exit-after", help: "it exits; restartPolicy decides what comes then", option: "exitAfter", ...duration },
  exitCode: {
    annotation: "exit-code",
    help: "what it exits with; default 0",
    option: "exitCode",
    expected: "an integer from 0 to 255",
    parse: parseExitCode,
  },
  fail: {
    annotation: "fail",
    help: "how its start fails",
    option: "fail",
    expected: `one of ${failures.join(", ")}`,
    parse: (text) => failures.find((failure) => failure === text),
  },
  crashLoop: {
    annotation: "crash-loop",
    help: "short for exit-after 1s and exit-code 1",
    option: "crashLoop",
    expected: "true or false",
    parse: parseBoolean,
  },
  stopDelayMs: { annotation: "stop-delay", help: "how long a deleted container takes to end", option: "stopDelay", ...duration },
  log: {
    annotation: "log",
    help: "what it logs",
    option: "log",
    expected: "text, a line or several",
    parse: (text) => text.replace(/\n$/, "").split("\n"),
  },
  logEveryMs: {
    annotation: "log-every",
    help: "its log comes a line at a time, over and over",
    option: "logEvery",
    expected: "a duration of at least 10ms, such as 1s",
    parse: (text) => atLeast(10, tryDurationMs(text)),
  },
  cpuNanoCores: {
    annotation: "cpu-usage",
    help: "its average use of the processor",
    option: "cpuUsage",
    expected: "an amount of CPU such as 250m or 1.5",
    parse: (text) => tryAmount(text, (quantity) => Number(quantity.nano)),
  },
  memoryBytes: {
    annotation: "memory-usage",
    help: "its average use of memory",
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
