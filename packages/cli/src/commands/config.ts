import { effectiveSettings } from "../config/effective.ts";
import { loadSettings } from "../config/load-settings.ts";
import { toConfigJson, toConfigYaml } from "../config/print.ts";
import { redact } from "../config/redact.ts";
import { configJsonSchema } from "../config/schema.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, type CommandLine } from "../command-line/flag-parser.ts";
import { checkRun } from "../dry-run/check-run.ts";
import { planNodes } from "../nodes/plan-nodes.ts";

/** `config validate`, `config print` and `config schema`. The first two take the flags of `run`. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const { stdout, stderr } = context;
  const format = choiceOf(line, "output", "yaml");
  if (line.args[0] === "schema") {
    stdout.write(await print(configJsonSchema(), line.flags.some(({ flag }) => flag.name === "output") ? format : "json"));
    return exitCodes.ok.code;
  }
  const loaded = await loadSettings(line, context);
  const planned = await planNodes(loaded, context);
  const isValidate = line.args[0] === "validate";
  const warnings = isValidate ? await checkRun(planned, loaded, context) : [];
  for (const warning of [...loaded.warnings, ...warnings]) stderr.write(`virtual-kubelet: ${warning}\n`);
  if (isValidate) {
    const nodes = loaded.settings.nodes.map(({ name, provider }) => `${name} (${provider})`);
    stdout.write(`configuration is valid: ${nodes.length === 1 ? "node" : "nodes"} ${nodes.join(", ")}\n`);
    return exitCodes.ok.code;
  }
  const effective = effectiveSettings(loaded.merged).map((setting) => ({
    ...setting,
    value: redact(setting.value, String(setting.path.at(-1))),
  }));
  stdout.write(format === "json" ? await print(toConfigJson(effective), "json") : await toConfigYaml(effective));
  return exitCodes.ok.code;
}

async function print(value: unknown, format: string): Promise<string> {
  if (format === "json") return `${JSON.stringify(value, undefined, 2)}\n`;
  const { stringify } = await import("yaml");
  return stringify(value, { lineWidth: 0 });
}
