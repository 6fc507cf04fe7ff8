/** Prefix of an engine's message, sent in place of output, about a command that could not start. */
const opening = "OCI runtime exec failed: ";

/** The engine's message about a command that could not start; `undefined` for real output. */
export function tryStartFailure(firstOutput: Buffer): string | undefined {
  return firstOutput.toString("latin1", 0, opening.length) === opening ? firstOutput.toString("utf8").trim() : undefined;
}

/** Exit code of a command that could not start, like a shell's, because engines differ. */
export function startFailureCode(message: string): 126 | 127 {
  return /executable file not found|no such file or directory/i.test(message) ? 127 : 126;
}
