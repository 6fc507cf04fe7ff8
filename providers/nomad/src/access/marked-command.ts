import type { Random } from "@virtual-kubelet/clock";

// Nomad does not end a command whose connection has gone, and loses the exit code of one that leaves input unread. With exec and raw_exec it
// also waits for the end of the input before it tells that a command has ended. So a shell around the command tells when it has begun, as
// which process, and when and how it has ended, each by a line on standard error that nothing else writes, and reads the rest of the input. The
// docker driver drops what it has not read yet when the shell ends: a line behind the command's output tells that there is no more of it, and
// the input, and with it the shell, ends only then.
// Source: Nomad 2.0.6, `runNoTTY` in drivers/shared/executor/exec_utils.go, `execStreaming` in grpc_client.go beside it, and `ExecTaskStreaming`
// in drivers/docker/driver.go.

/** The shell that commands are run by. */
export const shellPath = "/bin/sh";

/** What follows the word of a mark, and how long it may be: a command can read its mark from its shell's arguments, and write it without an end. */
const markWords = /^ (\d+)(?: (\d*))?$/;
const maxWordsBytes = 64;

/** Process of a command; together the two numbers are no other's. */
export interface CommandProcess {
  readonly id: number;
  /** When it began, in ticks of its machine's clock; `NaN` where there is no /proc. */
  readonly startTicks: number;
}

/**
 * Reads when a process began into `t`: the 20th word behind its name, which may have any character in it, parentheses and line ends too. All
 * other words are numbers but one letter, so the last parenthesis ends the name.
 */
const readStart = (file: string): string =>
  `s=; while IFS= read -r l; do s="$s $l"; done <"${file}"; f() { t=\${20}; }; set -f; f \${s##*)}`;
/** Begins the command in its own process. `exec` runs no builtin of the shell's, and what the shell itself says goes to /dev/null. */
const begin = `m=$1; shift; ${readStart("/proc/$$/stat")}; set +f; printf '\\000%s %s %s\\n' "$m" $$ "$t" >&3; exec 2>&3 3>&-; exec "$@"`;
const around = `m=$1 b=$2; shift 2; exec 3>&2 2>/dev/null; ${shellPath} -c "$b" sh "$m" "$@"; printf '\\000%s %s\\n' "$m" $? >&3; printf '\\000%s 0\\n' "$m"; exec cat >/dev/null 3>&-`;
/** Kills the process, unless its id is another's by now. */
const kill = `${readStart("/proc/$1/stat")}; [ "$t" = "$2" ] && kill -KILL "$1"`;

/** The words that run a command by a shell and nothing more. */
export function shellWords(command: readonly string[]): readonly string[] {
  return [shellPath, "-c", 'exec "$@"', "sh", ...command];
}

/** A command by a shell that marks its begin and its end. */
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

  /** Is aborted when the command has ended, and all that it has written has come. */
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

  /** Takes the marks out of what comes on standard error. @returns the rest; the beginning of what may be a mark is held back */
  take(chunk: Uint8Array): Buffer {
    return this.#errors.take(chunk);
  }

  /** The same for standard output. */
  takeOutput(chunk: Uint8Array): Buffer {
    return this.#output.take(chunk);
  }

  /** What was held back of standard output and standard error, once nothing more comes. */
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

  /** Where the bytes end in the beginning of a mark; their length if they do not. */
  #beginningOfMark(bytes: Buffer): number {
    const zero = bytes.lastIndexOf(0);
    if (zero < 0) return bytes.byteLength;
    const tail = bytes.subarray(zero);
    return this.#markBytes.subarray(0, tail.byteLength).equals(tail) ? zero : bytes.byteLength;
  }
}
