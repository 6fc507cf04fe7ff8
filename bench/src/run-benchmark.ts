import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { guide } from "./guide.ts";

/**
 * Runs one benchmark as a program: takes its numbers from the command line, such as `--rounds 3`, writes the guide unless there is
 * `--no-guide`, and prints the report as JSON.
 *
 * @param defaults - numbers by the names of their flags
 * @throws Error if a flag is unknown, or its value is not a whole number of 0 or more
 */
export async function runBenchmark<Load extends Readonly<Record<string, number>>, Report>(
  defaults: Load,
  measure: (load: Load) => Promise<Report>,
  write: (file: string, report: Report) => void,
): Promise<void> {
  const options: ParseArgsOptionsConfig = { "no-guide": { type: "boolean", default: false } };
  for (const [flag, number] of Object.entries(defaults)) options[flag] = { type: "string", default: String(number) };
  const { values } = parseArgs({ options });
  const numbers = Object.fromEntries(Object.keys(defaults).map((flag) => [flag, wholeNumber(flag, values[flag])])) as Load;
  const report = await measure(numbers);
  if (!values["no-guide"]) write(guide, report);
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
}

function wholeNumber(flag: string, text: unknown): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${flag} is ${JSON.stringify(text)}, expected a whole number of 0 or more`);
}
