import { choiceOf, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { allExplanations, type ExplainedProvider } from "../explain/all-explanations.ts";
import type { Explanation } from "../explain/explanation.ts";
import { findExplanations, nearestName } from "../explain/find-explanations.ts";
import { renderExplanations, renderList } from "../explain/render-explanations.ts";
import { UsageError } from "../program-error.ts";
import { installedProviders, loadProvider } from "../providers/load-provider.ts";

/** `explain NAME` explains an error code, reason, condition, refused field or exit code; without a name it lists all. */
export async function execute(line: CommandLine, { stdout, cwd }: Context): Promise<number> {
  const [name] = line.args;
  const all = allExplanations(await explainedProviders(valueOf(line, "provider"), cwd));
  const found = name === undefined ? all : findExplanations(name, all);
  if (name !== undefined && found.length === 0) throw unknown(name, all);
  if (choiceOf(line, "output", "text") === "json") stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
  else stdout.write(name === undefined ? renderList(found) : renderExplanations(found));
  return exitCodes.ok.code;
}

/** The built-in providers that are installed, and the one that the command line names. */
async function explainedProviders(named: string | undefined, cwd: string): Promise<readonly ExplainedProvider[]> {
  const builtIn = await installedProviders(cwd);
  const other = named === undefined ? undefined : await loadProvider(named, { cwd, setting: "--provider" });
  return other === undefined || builtIn.includes(other) ? builtIn : [...builtIn, other];
}

function unknown(name: string, all: readonly Explanation[]): UsageError {
  const similar = nearestName(name, all);
  if (similar === undefined && /^(spec|metadata)\./.test(name))
    return new UsageError(
      `${JSON.stringify(name)}: no field for which a capability or a policy refuses a pod; "virtual-kubelet explain" lists them`,
    );
  const hint = similar === undefined ? '"virtual-kubelet explain" lists all' : `did you mean ${similar}?`;
  return new UsageError(
    `${JSON.stringify(name)}: nothing is known of it, expected an error code, a reason, a condition, a field of a pod or an exit code; ${hint}`,
  );
}
