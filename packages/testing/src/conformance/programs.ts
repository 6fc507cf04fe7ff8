import type { Container } from "@virtual-kubelet/core";

/** Behavior of a container of the suite. Each provider maps it to a container; see {@link shellPrograms}. */
export type Program =
  /** Runs until it is told to stop, and then stops at once. */
  | { readonly kind: "run" }
  /** Runs, and ignores the request to stop. */
  | { readonly kind: "ignore-end" }
  /** Ends by itself. */
  | { readonly kind: "exit"; readonly exitCode: number; readonly afterSeconds: number }
  /** Writes lines, and runs on. */
  | { readonly kind: "print"; readonly lines: readonly string[] }
  /** Writes lines to its standard error, and runs on. */
  | { readonly kind: "print-errors"; readonly lines: readonly string[] }
  /** Allocates and writes this much memory, and keeps running. */
  | { readonly kind: "hold-memory"; readonly bytes: number }
  /** Writes a line at each interval, the first at once, and exits with code 0 soon after the last. */
  | { readonly kind: "print-slowly"; readonly lines: readonly string[]; readonly everySeconds: number }
  /** Writes lines, and ends. */
  | { readonly kind: "print-and-exit"; readonly lines: readonly string[]; readonly exitCode: number }
  /** Copies its input to its output, line by line, until the input ends. */
  | { readonly kind: "echo-input" }
  /** Answers HTTP on a port. */
  | { readonly kind: "http"; readonly port: number };

/** Container that runs a {@link Program}. */
export interface Recipe {
  /** Image, command and other fields; the suite sets name, environment, mounts and ports. */
  readonly container: Partial<Container>;
  /** Annotations of the pod. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Returns the recipe for a program in the container with this name. */
export type Recipes = (program: Program, container: string) => Recipe;

/**
 * Programs as scripts of `sh`, for providers whose containers run commands.
 *
 * @param image - with sh, sleep, cat, printf, head, tr and, for ports, `nc -l -p` as Busybox has it; default `busybox:1.37`
 */
export function shellPrograms({ image = "busybox:1.37" }: { readonly image?: string | undefined } = {}): Recipes {
  return (program) => ({ container: { image, command: ["sh", "-c", shellScript(program)] } });
}

/** A script of `sh` that does what the program says. */
export function shellScript(program: Program): string {
  // A shell that waits for one long sleep hears no signal until the sleep is over.
  const forever = "while :; do sleep 0.1; done";
  const run = `trap 'exit 0' TERM INT; ${forever}`;
  switch (program.kind) {
    case "run":
      return run;
    case "ignore-end":
      return `trap '' TERM INT; ${forever}`;
    case "exit":
      return `trap 'exit 143' TERM; sleep ${program.afterSeconds} & wait $!; exit ${program.exitCode}`;
    case "print":
      return `${print(program.lines)}; ${run}`;
    case "print-errors":
      return `{ ${print(program.lines)}; } >&2; ${run}`;
    case "hold-memory":
      return `held=$(head -c ${program.bytes} /dev/zero | tr '\\0' x); ${run}`;
    case "print-slowly":
      return `${program.lines.map((line) => print([line])).join(`; sleep ${program.everySeconds}; `)}; sleep ${program.everySeconds / 2}`;
    case "print-and-exit":
      return `${print(program.lines)}; exit ${program.exitCode}`;
    case "echo-input":
      return "exec cat";
    case "http":
      return `while :; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nhello\\n' | nc -l -p ${program.port}; done`;
    default:
      return program satisfies never;
  }
}

function print(lines: readonly string[]): string {
  return `printf '%s\\n' ${lines.map((line) => `'${line.replaceAll("'", "'\\''")}'`).join(" ")}`;
}
