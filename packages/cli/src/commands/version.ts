import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, type CommandLine } from "../command-line/flag-parser.ts";
import { versionInfo } from "../version-info.ts";

/** `version`. */
export async function execute(line: CommandLine, { stdout }: Context): Promise<number> {
  const info = versionInfo();
  const isJson = choiceOf(line, "output", "text") === "json";
  stdout.write(
    isJson
      ? `${JSON.stringify(info, undefined, 2)}\n`
      : `virtual-kubelet ${info.virtualKubelet} (Kubernetes ${info.kubernetes}, Node.js ${info.node})\n`,
  );
  return exitCodes.ok.code;
}
