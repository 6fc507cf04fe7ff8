import { toCommandLine } from "@virtual-kubelet/remote-pods";

/** Bytes of input in one frame. */
export const maxFrameBytes = 32_768;
/** Lets the command begin. */
export const go = "\n";
/** Ends a command's input. */
export const endOfInput = "0\n";

/** Input as the script takes it: a line with the number of bytes, and the bytes. */
export function inputFrame(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.byteLength}\n`), bytes]);
}

/**
 * Returns the command line for a command without a terminal. ECS runs every command on a terminal, with one stream, no end of input and mostly no
 * exit code. A script of `sh` makes up for this. Its own words are lines that begin with the nonce:
 *
 * - `NONCE^PID` when it has begun (what comes before is the terminal's echo);
 * - `NONCE$CODE` when the command has ended;
 * - `NONCE!WORD` when the image lacks a program that the script needs.
 *
 * @param nonce - letters, digits and `-`
 */
export function pipedScript(command: readonly string[], nonce: string, { stdin }: { readonly stdin: boolean }): string {
  const missing = (program: string): string => `{ printf '%s!${program}\\n' "$n"; exit 0; }`;
  const feed = `while IFS= read -r l && [ "$l" -gt 0 ]; do dd bs="$l" count=1 iflag=fullblock || exit; done`;
  const report = `printf '%s$%d\\n' "$n" "$c"`;
  const script = [
    `n=$1; shift`,
    `stty raw -echo 2>/dev/null || ${missing("stty")}`,
    ...(stdin ? [`dd if=/dev/null iflag=fullblock 2>/dev/null || ${missing("dd")}`] : []),
    // A client that is gone before the command has begun sends no line: then it never begins.
    `printf '%s^%d\\n' "$n" $$; IFS= read -r l || exit`,
    stdin ? `{ ${feed}; } 2>/dev/null | { "$@" 2>&1; c=$?; ${report}; }` : `"$@" 2>&1 </dev/null; c=$?; ${report}`,
  ].join("; ");
  return toCommandLine(["sh", "-c", script, "sh", nonce, ...command]);
}
