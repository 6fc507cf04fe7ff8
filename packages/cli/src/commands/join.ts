import { messageOf } from "@virtual-kubelet/errdefs";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, type CommandLine } from "../command-line/flag-parser.ts";
import { joinCluster, type JoinResult } from "../join/join-cluster.ts";
import { joinOptionsOf, type JoinOptions } from "../join/join-options.ts";
import { joiningClients } from "../join/joining-client.ts";
import { createProgramLogger } from "../logging/program-logger.ts";
import { shellWord } from "../doctor/shell-words.ts";
import { ProgramError } from "../program-error.ts";

/** `join`: the credentials of `system:node:NAME` for this machine. With `-o json`, the steps go to standard error. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const isJson = choiceOf(line, "output", "text") === "json";
  const options = await joinOptionsOf(line, context);
  const steps = isJson ? context.stderr : context.stdout;
  const dependencies = {
    context,
    openClient: joiningClients(context),
    logger: createProgramLogger({ level: "warn", format: "text" }, context),
    say: (text: string) => steps.write(`${text}\n`),
  };
  let result: JoinResult;
  try {
    result = await joinCluster(options, dependencies, context.signal);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    throw new ProgramError(`${messageOf(error)} before the node had joined; the same command continues`, exitCodes.failure.code, {
      cause: error,
    });
  }
  context.stdout.write(isJson ? `${JSON.stringify(result, undefined, 2)}\n` : nextSteps(result, options));
  return exitCodes.ok.code;
}

/** What is left to do, with commands to copy. */
function nextSteps({ kubeconfig, node }: JoinResult, { directory, isDirectoryChosen }: JoinOptions): string {
  const run = ["virtual-kubelet", "run", "--nodename", node, "--kubeconfig", kubeconfig];
  if (isDirectoryChosen) run.push("--cert-dir", directory);
  return [
    "",
    "An administrator gives the node its rights, once:",
    `  virtual-kubelet manifests all --nodename ${node} --provider PROVIDER | kubectl apply -f -`,
    "Then run it:",
    `  ${run.map(shellWord).join(" ")} --provider PROVIDER`,
    "",
  ].join("\n");
}
