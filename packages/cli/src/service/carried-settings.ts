import { existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { CommandLine, GivenFlag } from "../command-line/flag-parser.ts";
import type { Flag } from "../command-line/flag.ts";
import { envNamesOf, flagsOf } from "../command-line/flags.ts";
import { absolutePath, type LoadedSettings } from "../config/load-settings.ts";
import { redact } from "../config/redact.ts";
import type { Context } from "../context.ts";
import { builtInProvider } from "../providers/registry.ts";
import type { ProviderSetup } from "../providers/provider-setup.ts";

/** An environment variable. */
interface Variable {
  readonly name: string;
  readonly value: string;
}

/** Settings of a command line and its environment, independent of the working directory, the environment and the home folder. */
export interface CarriedSettings {
  /** Flags of `run`, one word each. */
  readonly flags: readonly string[];
  /** Variables that everybody may see. */
  readonly variables: readonly Variable[];
  /** Variables that may contain secrets. */
  readonly secretVariables: readonly Variable[];
}

/** Variables besides settings that can contain a password: proxies, and headers of traces. */
const ambientSecrets = /^(?:OTEL_\w+|(?:HTTPS?|NO)_PROXY|(?:https?|no)_proxy)$/;

/** Files and folders with authorities that Node.js trusts. */
const trustFiles: readonly string[] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/** Collects what a later run has to be given so that it has the settings of this command line. */
export function carriedSettings(
  line: CommandLine,
  { settings }: Pick<LoadedSettings, "settings">,
  setups: readonly Pick<ProviderSetup, "filledIn">[],
  context: Pick<Context, "env" | "cwd" | "homeDir">,
): CarriedSettings {
  const { env } = context;
  const flags = line.flags.filter(({ flag }) => flag.path !== undefined || flag.name === "config").map((given) => flagWord(given, context));
  const variables: Variable[] = [];
  const secretVariables: Variable[] = [];
  const seen = new Set<string>();
  const add = (list: Variable[], name: string, value: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    list.push({ name, value });
  };
  for (const flag of flagsOf("run")) {
    for (const name of envNamesOf(flag)) {
      const text = env[name];
      if (text === undefined || (text === "" && flag.name !== "taint-value")) continue;
      const value =
        name === "KUBECONFIG"
          ? text
              .split(delimiter)
              .filter(Boolean)
              .map((path) => resolve(context.cwd, path))
              .join(delimiter)
          : absoluteValue(flag, text, context);
      add(redact(value, name) === value ? variables : secretVariables, name, value);
    }
  }
  if (env["POD_IP"]) add(variables, "POD_IP", env["POD_IP"]);
  for (const { variable } of setups.flatMap(({ filledIn }) => filledIn)) add(secretVariables, variable, env[variable] ?? "");
  for (const name of trustFiles) if (env[name]) add(variables, name, resolve(context.cwd, env[name]));
  const libraries = settings.nodes.flatMap(({ provider }) => builtInProvider(provider)?.libraryVariables ?? []);
  for (const name of Object.keys(env)
    .filter((each) => [ambientSecrets, ...libraries].some((pattern) => pattern.test(each)))
    .toSorted())
    if (env[name]) add(secretVariables, name, env[name]);
  const kubeconfig = settings.cluster.kubeconfig === undefined ? homeKubeconfig(context) : undefined;
  return { flags: kubeconfig === undefined ? flags : [...flags, `--kubeconfig=${kubeconfig}`], variables, secretVariables };
}

/** The default kubeconfig, because services of the machine have no `HOME`. */
function homeKubeconfig({ env }: Pick<Context, "env">): string | undefined {
  const path = join(env["HOME"] ?? "", ".kube/config");
  return existsSync(path) ? resolve(path) : undefined;
}

function flagWord({ flag, text }: GivenFlag, context: Pick<Context, "cwd" | "homeDir">): string {
  if (flag.type === "boolean" && text === "true") return `--${flag.name}`;
  return `--${flag.name}=${absoluteValue(flag, text, context)}`;
}

function absoluteValue(flag: Flag, text: string, context: Pick<Context, "cwd" | "homeDir">): string {
  if (text === "") return text;
  if (flag.name === "config") return resolve(context.cwd, text);
  if (flag.value === "FILE" || flag.value === "DIR") return absolutePath(context.cwd, text, context);
  return flag.name === "provider" && text.startsWith(".") ? resolve(context.cwd, text) : text;
}
