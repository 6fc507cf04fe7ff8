import { valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { UsageError } from "../program-error.ts";

const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The namespaces of `--namespaces`; `undefined` for all. @throws UsageError for something that is not a namespace */
export function namespacesOf(line: CommandLine): readonly string[] | undefined {
  const text = valueOf(line, "namespaces");
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const wrong = names.find((name) => !namespacePattern.test(name));
  if (wrong !== undefined)
    throw new UsageError(`--namespaces: ${JSON.stringify(wrong)}: expected names of namespaces, such as team-a,team-b`);
  return names;
}
