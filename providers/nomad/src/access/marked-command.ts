import type { Random } from "@virtual-kubelet/clock";

// Nomad does not end a command whose connection has gone, and loses the exit code of one that leaves input unread. With exec and raw_exec it
// also waits for the end of the input before it tells that a command has ended. So a shell around the command tells when it has begun, as
// which process, and when and how it has ended, each by a line on standard error that nothing else writes, and reads the rest of the input. The
// docker driver drops what it has not read yet when the shell ends: a line behind the command's output tells that there is no more of it, and
// the input, and with it the shell, ends only then.
// Source: Nomad 2.0.6, `runNoTTY` in drivers/shared/executor/exec_utils.go, `execStreaming` in grpc_client.go beside it, and `ExecTaskStreaming`
// in drivers/docker/driver.go.

/** Shell that runs the commands. */
export const shellPath = "/bin/sh";

/**
 * Rest of a mark and its maximum length. The length is limited because a command can read its mark from its shell's arguments and write it
 * unterminated.
 */
const markWords = /^ (\d+)(?: (\d*))?$/;
const maxWordsBytes = 64;

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
  readonly #mark: string;
  readonly #output: MarkScanner;
  readonly #errors: MarkScanner;
  readonly #begun = Promise.withResolvers<CommandProcess>();
  readonly #over = new AbortController();
  #exitCode: number | undefined;
  #process: CommandProcess | undefined;
  #isOutputWhole = false;

  constructor(command: readonly string[], random: Pick<Random, "uuid">) {
    this.#mark = `vk-${random.uuid()}`;
    this.#output = new MarkScanner(this.#mark, () => this.#noteOutputEnd());
    this.#errors = new MarkScanner(this.#mark, (first, second) => this.#note(first, second));
    this.words = [shellPath, "-c", around, "sh", this.#mark, begin, ...command];
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
    return this.#errors.take(chunk);
  }

  /** The same for standard output. */
  takeOutput(chunk: Uint8Array): Buffer {
    return this.#output.take(chunk);
  }

  /** Output that was held back, once no more arrives. */
  rest(): { readonly stdout: Buffer; readonly stderr: Buffer } {
    return { stdout: this.#output.rest(), stderr: this.#errors.rest() };
  }

  #note(first: number, second: number): void {
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

/** Finds marks in a stream that comes in pieces. */
class MarkScanner {
  readonly #markBytes: Buffer;
  readonly #onMark: (first: number, second: number) => void;
  #held = Buffer.alloc(0);

  constructor(mark: string, onMark: (first: number, second: number) => void) {
    this.#markBytes = Buffer.from(`\0${mark}`);
    this.#onMark = onMark;
  }

  take(chunk: Uint8Array): Buffer {
    let bytes = Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    const own: Buffer[] = [];
    for (;;) {
      const start = bytes.indexOf(this.#markBytes);
      const after = start + this.#markBytes.byteLength;
      const line = start < 0 ? "" : bytes.toString("latin1", after, after + maxWordsBytes);
      const end = line.indexOf("\n");
      if (start < 0 || (end < 0 && line.length < maxWordsBytes)) {
        const heldFrom = start < 0 ? this.#beginningOfMark(bytes) : start;
        this.#held = bytes.subarray(heldFrom);
        return Buffer.concat([...own, bytes.subarray(0, heldFrom)]);
      }
      const words = markWords.exec(line.slice(0, Math.max(end, 0)));
      own.push(bytes.subarray(0, words ? start : after));
      if (words) this.#onMark(Number(words[1]), words[2] ? Number(words[2]) : Number.NaN);
      bytes = bytes.subarray(words ? after + end + 1 : after);
    }
  }

  rest(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }

  /** Offset of a beginning of a mark at the end of the bytes; their length if there is none. */
  #beginningOfMark(bytes: Buffer): number {
    const zero = bytes.lastIndexOf(0);
    if (zero < 0) return bytes.byteLength;
    const tail = bytes.subarray(zero);
    return this.#markBytes.subarray(0, tail.byteLength).equals(tail) ? zero : bytes.byteLength;
  }
}
