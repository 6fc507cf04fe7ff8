import type { ProviderDefinition } from "@virtual-kubelet/core";
import { valueAt } from "../config/layers.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, type CommandLine } from "../command-line/flag-parser.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { UsageError } from "../program-error.ts";
import { findProvider, installedProviders } from "../providers/load-provider.ts";
import { builtInProvider, builtInProviders } from "../providers/registry.ts";

interface ShownProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly capabilities: ProviderDefinition["capabilities"];
  /** JSON Schema of its configuration, if it has any. */
  readonly settings?: object | undefined;
}

/** `providers` lists the built-in providers; `providers NAME` shows the capabilities and settings of a built-in or installed one. */
export async function execute(line: CommandLine, { stdout, cwd }: Context): Promise<number> {
  const [name] = line.args;
  const isJson = choiceOf(line, "output", "text") === "json";
  if (name !== undefined) {
    const definition = (await findProvider(name, { cwd, setting: "providers" })) ?? unknown(name);
    const shown = { ...toShown(definition), settings: definition.configSchema.toJSONSchema?.({ io: "input" }) };
    stdout.write(isJson ? toJson(shown) : describe(shown));
  } else if (isJson) {
    stdout.write(toJson((await installedProviders(cwd)).map(toShown)));
  } else {
    for (const provider of builtInProviders) stdout.write(`${[provider.name, ...provider.aliases].join(" ")}\n`);
  }
  return exitCodes.ok.code;
}

function toShown({ name, aliases = [], capabilities }: ProviderDefinition): ShownProvider {
  return { name, aliases: builtInProvider(name)?.aliases ?? aliases, capabilities };
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function describe({ name, aliases, capabilities, settings }: ShownProvider): string {
  const entries = Object.entries(capabilities);
  const can = entries.filter(([, value]) => value === true).map(([key]) => key);
  const lists = entries.filter(([, value]) => Array.isArray(value)).map(([key, value]) => `${key}: ${String(value).replaceAll(",", ", ")}`);
  const fields = settingsOf(settings);
  return [
    name,
    ...(aliases.length > 0 ? [`aliases: ${aliases.join(", ")}`] : []),
    `supported: ${can.length > 0 ? can.join(", ") : "a single container only"}`,
    ...lists,
    ...(fields.length > 0 ? ["settings (--provider-config, or providerConfig in the file):", ...fields.map((field) => `  ${field}`)] : []),
    "",
  ].join("\n");
}

function settingsOf(schema: object | undefined): string[] {
  const properties = valueAt(schema, ["properties"]);
  if (typeof properties !== "object" || properties === null) return [];
  return Object.entries(properties).map(([key, node]: [string, unknown]) => {
    const variable = valueAt(node, ["env"]);
    const help = valueAt(node, ["description"]);
    const head = typeof variable === "string" ? `${key} ($${variable})` : key;
    return typeof help === "string" ? `${head}: ${help}` : head;
  });
}

function unknown(name: string): never {
  const names = builtInProviders.flatMap((provider) => [provider.name, ...provider.aliases]);
  throw new UsageError(
    `${JSON.stringify(name)}: unknown provider, expected one of ${names.join(", ")}, an installed npm package, or the path of a module${didYouMean(name, names)}`,
  );
}
