import type { Random } from "@virtual-kubelet/clock";
import { MarkScanner, type OutputPiece } from "@virtual-kubelet/remote-pods";

// Nomad does not end a command whose connection has gone, and loses the exit code of one that leaves input unread. With exec and raw_exec it
// also waits for the end of the input before it tells that a command has ended. So a shell around the command tells when it has begun, as
// which process, and when and how it has ended, each by a line on standard error that nothing else writes, and reads the rest of the input. The
// docker driver drops what it has not read yet when the shell ends: a line behind the command's output tells that there is no more of it, and
// the input, and with it the shell, ends only then.
// Source: Nomad 2.0.6, `runNoTTY` in drivers/shared/executor/exec_utils.go, `execStreaming` in grpc_client.go beside it, and `ExecTaskStreaming`
// in drivers/docker/driver.go.

/** Shell that runs the commands. */
export const shellPath = "/bin/sh";

/** Process of a command. The two numbers together are unique. */
export interface CommandProcess {
  readonly id: number;
  /** Start time in ticks of its machine's clock; `NaN` without /proc. */
  readonly startTicks: number;
}

/**
 * Reads the start time of a process into `t`: the 20th word after its name. The name may contain any character, even parentheses and line ends;
 * because the other words are numbers and one letter, the last parenthesis ends the name.
 */
const readStart = (file: string): string =>
  `s=; while IFS= read -r l; do s="$s $l"; done <"${file}"; f() { t=\${20}; }; set -f; f \${s##*)}`;
/** Begins the command in its own process. `exec` runs no builtin of the shell's, and what the shell itself says goes to /dev/null. */
const begin = `m=$1; shift; ${readStart("/proc/$$/stat")}; set +f; printf '\\000%s %s %s\\n' "$m" $$ "$t" >&3; exec 2>&3 3>&-; exec "$@"`;
const around = `m=$1 b=$2; shift 2; exec 3>&2 2>/dev/null; ${shellPath} -c "$b" sh "$m" "$@"; printf '\\000%s %s\\n' "$m" $? >&3; printf '\\000%s 0\\n' "$m"; exec cat >/dev/null 3>&-`;
/** Kills the process, unless another process has its id by now. */
const kill = `${readStart("/proc/$1/stat")}; [ "$t" = "$2" ] && kill -KILL "$1"`;

/** Words that run a command by a shell without marks. */
export function shellWords(command: readonly string[]): readonly string[] {
  return [shellPath, "-c", 'exec "$@"', "sh", ...command];
}

/** Command run by a shell that marks its start and its end. */
export class MarkedCommand {
  /** What to run. */
  readonly words: readonly string[];
  /** Resolves when the command has begun. */
  readonly begun: Promise<CommandProcess>;
  readonly #output: MarkScanner<ShellMark>;
  readonly #errors: MarkScanner<ShellMark>;
  readonly #begun = Promise.withResolvers<CommandProcess>();
  readonly #over = new AbortController();
  #exitCode: number | undefined;
  #process: CommandProcess | undefined;
  #isOutputWhole = false;

  constructor(command: readonly string[], random: Pick<Random, "uuid">) {
    const mark = `vk-${random.uuid()}`;
    this.#output = new MarkScanner(`\0${mark}`, readMark);
    this.#errors = new MarkScanner(`\0${mark}`, readMark);
    this.words = [shellPath, "-c", around, "sh", mark, begin, ...command];
    this.begun = this.#begun.promise;
  }

  get hasBegun(): boolean {
    return this.#process !== undefined;
  }

  /** Aborted when the command has ended and all its output has arrived. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** `undefined` until it has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** The words that kill the command; `undefined` if it has not begun, or has ended. */
  get killWords(): readonly string[] | undefined {
    if (!this.#process || this.over.aborted) return undefined;
    const { id, startTicks } = this.#process;
    return [shellPath, "-c", kill, "sh", String(id), String(startTicks)];
  }

  /** Removes the marks from a piece of standard error. @returns the rest; a possible beginning of a mark is held back */
  take(chunk: Uint8Array): Buffer {
    return outputOf(this.#errors.push(chunk), (mark) => this.#note(mark));
  }

  /** The same for standard output. */
  takeOutput(chunk: Uint8Array): Buffer {
    return outputOf(this.#output.push(chunk), () => this.#noteOutputEnd());
  }

  /** Output that was held back, once no more arrives. */
  rest(): { readonly stdout: Buffer; readonly stderr: Buffer } {
    return { stdout: outputOf(this.#output.end(), () => {}), stderr: outputOf(this.#errors.end(), () => {}) };
  }

  #note({ first, second }: ShellMark): void {
    if (this.#process) {
      this.#exitCode ??= first;
      return this.#endIfWhole();
    }
    // It is written before the command runs.
    this.#process = { id: first, startTicks: second };
    this.#begun.resolve(this.#process);
  }

  #noteOutputEnd(): void {
    this.#isOutputWhole = true;
    this.#endIfWhole();
  }

  #endIfWhole(): void {
    if (this.#isOutputWhole && this.#exitCode !== undefined) this.#over.abort();
  }
}

/** Two numbers that the shell has said: a process, or an exit code and nothing. */
interface ShellMark {
  readonly kind: "mark";
  readonly first: number;
  /** `NaN` if absent. */
  readonly second: number;
}

/** @param line - rest of a line that begins with the mark. A command can read its mark from its shell's arguments, and write anything behind it. */
function readMark(line: string): ShellMark | undefined {
  const [, first, second = ""] = /^ (\d+)(?: (\d*))?$/.exec(line) ?? [];
  return first === undefined ? undefined : { kind: "mark", first: Number(first), second: second === "" ? Number.NaN : Number(second) };
}

/** The output among the pieces of a stream. */
function outputOf(pieces: readonly (OutputPiece | ShellMark)[], onMark: (mark: ShellMark) => void): Buffer {
  const output: Buffer[] = [];
  for (const piece of pieces)
    if (piece.kind === "output") output.push(piece.bytes);
    else onMark(piece);
  return Buffer.concat(output);
}
