/** Result of one check. */
export interface CheckResult {
  /** Subject of the check, in a few words. */
  readonly name: string;
  /** Problems, one line each; empty if the check passed. */
  readonly problems: readonly string[];
}

/** Prints a line for each check, with its problems, and returns the numbers of passed and failed checks and the names of the failed ones. */
export function printChecks(
  results: readonly CheckResult[],
  print: (text: string) => void = console.log,
): { passed: number; failed: number; failures: readonly string[] } {
  const failed = results.filter(({ problems }) => problems.length > 0);
  for (const { name, problems } of results) {
    print(`${problems.length === 0 ? "ok  " : "FAIL"} ${name}`);
    for (const problem of problems) print(`     ${problem.trimEnd().replaceAll("\n", "\n     ")}`);
  }
  return { passed: results.length - failed.length, failed: failed.length, failures: failed.map(({ name }) => name) };
}

/** Runs the checks when the module is the program itself, and sets the exit code. */
export async function runAsProgram(
  meta: ImportMeta,
  checks: () => Promise<readonly CheckResult[]> | readonly CheckResult[],
): Promise<void> {
  if (!meta.main) return;
  const { passed, failed } = printChecks(await checks());
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}
