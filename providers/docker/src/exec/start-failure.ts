/** How an engine begins to say, where a command's output is due, that it could not be started. */
const opening = "OCI runtime exec failed: ";

/** What an engine says in place of a command's output if it could not start it; `undefined` for real output. */
export function tryStartFailure(firstOutput: Buffer): string | undefined {
  return firstOutput.toString("latin1", 0, opening.length) === opening ? firstOutput.toString("utf8").trim() : undefined;
}

/** The exit code of a command that could not be started, as a shell would tell it; engines differ. */
export function startFailureCode(message: string): 126 | 127 {
  return /executable file not found|no such file or directory/i.test(message) ? 127 : 126;
}
