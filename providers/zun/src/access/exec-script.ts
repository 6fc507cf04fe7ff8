import { toCommandLine } from "@virtual-kubelet/remote-pods";

/**
 * Scripts that a command is run with. Zun runs every command on a terminal, with one stream, no end of input and no exit code; so
 * a small script of `sh` brings these about, and marks what it says itself with a nonce:
 *
 * - `NONCE^PID` when it has begun (what comes before is the terminal's echo);
 * - `NONCE$CODE` when the command has ended;
 * - `NONCE!WORD` when the image lacks a program that the script needs.
 *
 * Source of the terminal: zun 18.0.0 zun/websocket/websocketproxy.py (`exec_start(exec_id, socket=True, tty=True)`).
 */
export interface ExecScript {
  /** What marks the script's own words; letters, digits and `-`. */
  readonly nonce: string;
  readonly command: readonly string[];
}

/** Where a command's errors go: another script's terminal. */
export interface ErrorTarget {
  readonly path: string;
  /** The other script's, which marks the end there. */
  readonly nonce: string;
}

/** Bytes of input in one frame. */
export const maxFrameBytes = 32_768;

/** Lets the command begin. */
export const go = "\n";

/** Input as the script takes it: a line with the number of bytes, and the bytes. */
export function inputFrame(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.byteLength}\n`), bytes]);
}

/** Ends a command's input. */
export const endOfInput = "0\n";

/** Makes the terminal hand bytes on as they are. */
const transparent = `stty raw -echo 2>/dev/null || { printf '%s!stty\n' "$n"; exit 0; }`;
const canFrame = `dd if=/dev/null iflag=fullblock 2>/dev/null || { printf '%s!dd\n' "$n"; exit 0; }`;
/** A client that is gone before the command has begun sends no line: then it never begins. */
const begin = `printf '%s^%d\n' "$n" $$; IFS= read -r l || exit`;
const feed = `while IFS= read -r l && [ "$l" -gt 0 ]; do dd bs="$l" count=1 iflag=fullblock || exit; done`;
const report = `printf '%s$%d\n' "$n" "$c"`;

/**
 * A command without a terminal: its input, if it wants any, comes in frames, so that its end can be told, and its errors go to
 * another terminal.
 */
export function pipedScript(
  { nonce, command }: ExecScript,
  { stdin, errors }: { readonly stdin: boolean; readonly errors: ErrorTarget | undefined },
): string {
  // Where the other terminal cannot be opened the errors come with the output.
  const run = `if [ -n "$e" ] && [ -w "$e" ]; then "$@" 2>"$e"; c=$?; printf '%s$0\n' "$m" >"$e"; else "$@" 2>&1; c=$?; fi`;
  const script = [
    `n=$1 m=$2 e=$3`,
    `shift 3`,
    transparent,
    ...(stdin ? [canFrame] : []),
    begin,
    stdin ? `{ ${feed}; } 2>/dev/null | { ${run}; ${report}; }` : `{ ${run}; } </dev/null; ${report}`,
  ].join("; ");
  return toCommandLine(["sh", "-c", script, "sh", nonce, errors?.nonce ?? "", errors?.path ?? "", ...command]);
}

/** A command on the terminal itself: it begins when a line comes, and by then the terminal has its size. */
export function terminalScript({ nonce, command }: ExecScript): string {
  const script = `n=$1; shift; stty -echo 2>/dev/null; ${begin}; stty echo 2>/dev/null; "$@"; c=$?; ${report}`;
  return toCommandLine(["sh", "-c", script, "sh", nonce, ...command]);
}

/** Lends its terminal to another command's errors: says the terminal's path in place of its own number, and waits for a line. */
export function errorScript(nonce: string): string {
  const script = `n=$1; ${transparent}; printf '%s^%s\n' "$n" "$(tty)"; IFS= read -r l`;
  return toCommandLine(["sh", "-c", script, "sh", nonce]);
}

/** Kills a command that {@link pipedScript} or {@link terminalScript} began, and all it began in turn. */
export function killCommand(pid: number): string {
  return toCommandLine(["sh", "-c", `kill -9 -${pid}; kill -9 ${pid}`]);
}
