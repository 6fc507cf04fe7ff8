/**
 * Scripts that run a command in a container. Azure starts one program without arguments on a terminal, and reports neither its exit code nor its
 * errors apart. So `sh` is started, and gets its work as input: a short line, and after the mark `^` a script. The script marks what it says with a
 * nonce:
 *
 * - `NONCE^PID`: it has begun; all before is the terminal's echo and the shell's prompt.
 * - `NONCE>TEXT`: a line of errors; `NONCE)TEXT`: the last one, which has no end of line.
 * - `NONCE$CODE`: the command has ended. `NONCE.`: all its output has been sent.
 * - `NONCE!WORD`: the image lacks a program that the script needs.
 */
export interface ExecScript {
  /** Letters, digits and `-`. */
  readonly nonce: string;
  readonly command: readonly string[];
}

/** Program that runs all scripts. */
export const shell = "/bin/sh";

/** Bytes of input in one frame. */
const maxFrameBytes = 32_768;

/** Ends a command's input. */
export const endOfInput = "0\n";

/** Returns input as the script of {@link pipedScript} reads it: frames of a line with their length, and the bytes. */
export function inputFrames(bytes: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += maxFrameBytes) {
    const frame = bytes.subarray(at, at + maxFrameBytes);
    frames.push(Buffer.from(`${frame.length}\n`), frame);
  }
  return Buffer.concat(frames);
}

/**
 * Returns the line that the shell gets first. It makes the terminal hand bytes on as they are, and then reads the script, because shells and
 * terminals cut long lines.
 */
export function firstLine(nonce: string, script: string): string {
  const lacks = (program: string): string => `{ printf '%s!${program}\\n' "$n"; exit 0; }`;
  return [
    ` n='${nonce}'; s=$(stty -g 2>/dev/null)`,
    `stty raw -echo 2>/dev/null || ${lacks("stty")}`,
    `dd if=/dev/null 2>/dev/null || ${lacks("dd")}`,
    `printf '%s^%d\\n' "$n" $$`,
    `exec ${shell} -c "$(dd bs=1 count=${Buffer.byteLength(script)} 2>/dev/null)" sh "$s"\n`,
  ].join("; ");
}

/** Returns the script of a command without a terminal. */
export function pipedScript({ nonce, command }: ExecScript, { stdin }: { readonly stdin: boolean }): string {
  const feed = `while IFS= read -r l && [ "$l" -gt 0 ]; do dd bs="$l" count=1 iflag=fullblock || exit; done`;
  const run = `"$@" 3>&- 5>&-; echo $? >&5`;
  const work = stdin ? `{ ${feed}; } 2>/dev/null 3>&- 5>&- | { ${run}; }` : `{ ${run}; } </dev/null`;
  const errors = `while IFS= read -r l; do printf '%s>%s\\n' "$n" "$l"; done; [ -z "$l" ] || printf '%s)%s\\n' "$n" "$l"`;
  const report = `IFS= read -r c; printf '%s$%d\\n' "$n" "$c"; while read -r l; do :; done; printf '%s.\\n' "$n"`;
  return [
    `n='${nonce}'`,
    `set -- ${words(command)}`,
    ...(stdin ? [`dd if=/dev/null iflag=fullblock 2>/dev/null || { printf '%s!dd\\n' "$n"; exit 0; }`] : []),
    "exec 3>&1",
    `{ { { ${work}; } 2>&1 >&3 | { ${errors}; } >&3 5>&-; } 5>&1; } | { ${report}; }`,
  ].join("; ");
}

/** Returns the script of a command on the terminal, which gets its former settings back. */
export function terminalScript({ nonce, command }: ExecScript): string {
  return `n='${nonce}'; s=$1; set -- ${words(command)}; stty "$s" 2>/dev/null; "$@"; c=$?; printf '%s$%d\\n%s.\\n' "$n" $c "$n"`;
}

/** Returns input for a shell that ends a script with everything that it has started. */
export function killLine(pid: number): string {
  return ` kill -9 -${pid} ${pid} 2>/dev/null; exit\n`;
}

/** Quotes words for a shell. */
function words(list: readonly string[]): string {
  return list.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}
