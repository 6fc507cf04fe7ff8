import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, type CommandLine } from "../flag-parser.ts";
import { didYouMean } from "../nearest.ts";
import { ProgramError } from "../program-error.ts";
import { builtInProvider, builtInProviders } from "../providers/registry.ts";

/** `providers` lists the built-in ones; `providers NAME` says whether there is one of that name, as upstream does. */
export async function execute(line: CommandLine, { stdout }: Context): Promise<number> {
  const [name] = line.args;
  const isJson = choiceOf(line, "output", "text") === "json";
  const chosen = name === undefined ? builtInProviders : [builtInProvider(name) ?? unknown(name)];
  if (isJson) {
    const listed = await Promise.all(
      chosen.map(async (provider) => ({
        name: provider.name,
        aliases: provider.aliases,
        capabilities: (await provider.load()).capabilities,
      })),
    );
    stdout.write(`${JSON.stringify(name === undefined ? listed : listed[0], undefined, 2)}\n`);
  } else {
    for (const provider of chosen) stdout.write(`${[name ?? provider.name, ...(name === undefined ? provider.aliases : [])].join(" ")}\n`);
  }
  return exitCodes.ok.code;
}

function unknown(name: string): never {
  const names = builtInProviders.flatMap((provider) => [provider.name, ...provider.aliases]);
  throw new ProgramError(`no such provider ${name}${didYouMean(name, names)}`, exitCodes.failure.code);
}
