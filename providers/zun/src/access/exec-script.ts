import { toCommandLine } from "./shell-words.ts";

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

/** Ends a command's input; it cannot be a line of base64. */
export const endOfInput = ".";
/** Bytes of input in one line: a terminal's lines hold 4,095 characters, and base64 makes 4 of 3. */
export const inputLineBytes = 2_700;

/** Makes the terminal hand bytes on as they are. */
const transparent = `stty -echo -opost -isig -ixon 2>/dev/null || { printf '%s!stty\\n' "$n"; exit 0; }`;
const report = `printf '%s$%d\\n' "$n" "$c"`;

/** A command without a terminal, whose input (if it wants any) comes as lines of base64, and whose errors go to another terminal. */
export function pipedScript(
  { nonce, command }: ExecScript,
  { stdin, errors }: { readonly stdin: boolean; readonly errors: string | undefined },
): string {
  // Without a terminal to write to the errors come with the output.
  const redirect = `if [ -n "$e" ] && [ -w "$e" ]; then "$@" 2>"$e"; c=$?; printf '%s$0\\n' "$n" >"$e"; else "$@" 2>&1; c=$?; fi`;
  const feed = `while IFS= read -r l && [ "$l" != ${endOfInput} ]; do printf %s "$l" | base64 -d || exit; done`;
  const script = [
    `n=$1 e=$2`,
    `shift 2`,
    transparent,
    ...(stdin ? [`command -v base64 >/dev/null || { printf '%s!base64\\n' "$n"; exit 0; }`] : []),
    `printf '%s^%d\\n' "$n" $$`,
    stdin ? `{ ${feed}; } 2>/dev/null | { ${redirect}; ${report}; }` : `{ ${redirect}; } </dev/null; ${report}`,
  ].join("; ");
  return toCommandLine(["sh", "-c", script, "sh", nonce, errors ?? "", ...command]);
}

/** A command on the terminal itself, which begins when a line comes: by then the terminal has its size. */
export function terminalScript({ nonce, command }: ExecScript): string {
  const script = `n=$1; shift; stty -echo 2>/dev/null; printf '%s^%d\\n' "$n" $$; IFS= read -r l; stty echo 2>/dev/null; "$@"; c=$?; ${report}`;
  return toCommandLine(["sh", "-c", script, "sh", nonce, ...command]);
}

/** Lends its terminal to another command's errors: says the terminal's path in place of its own number, and waits for a line. */
export function errorScript(nonce: string): string {
  const script = `n=$1; ${transparent}; printf '%s^%s\\n' "$n" "$(tty)"; IFS= read -r l`;
  return toCommandLine(["sh", "-c", script, "sh", nonce]);
}

/** Kills a command that {@link pipedScript} or {@link terminalScript} began, and all it began in turn. */
export function killCommand(pid: number): string {
  return toCommandLine(["sh", "-c", `kill -9 -${pid}; kill -9 ${pid}`]);
}
