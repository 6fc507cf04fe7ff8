import { parseBoolean, type GivenFlag } from "../command-line/flag-parser.ts";
import type { Flag } from "../command-line/flag.ts";
import { envNamesOf, flags, obsoleteEnv } from "../command-line/flags.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { ConfigError } from "../program-error.ts";
import type { ConfigPath, LayerEntry, Source } from "./layers.ts";

/** Upstream's log levels that are called differently here. Source: sirupsen/logrus, ParseLevel. */
const logLevels: Readonly<Record<string, string>> = { trace: "debug", warning: "warn", fatal: "error", panic: "error" };

const nodeNamePath = "nodes[].name";

/**
 * Values from the environment, weaker ones first. Empty variables are ignored, except for the taint's value.
 *
 * @param nodeCount - number of nodes in the configuration; a variable for a node applies to all of them
 * @throws ConfigError for a malformed label
 */
export function envEntries(env: Readonly<Record<string, string | undefined>>, nodeCount: number): LayerEntry[] {
  return flags.flatMap((flag) => {
    if (flag.path === nodeNamePath && nodeCount > 1) return [];
    return envNamesOf(flag)
      .toReversed()
      .flatMap((name) => {
        const text = env[name];
        if (text === undefined || (text === "" && flag.name !== "taint-value")) return [];
        const texts = flag.type === "labels" ? text.split(",") : [text];
        return texts.flatMap((entry) => entriesOf(flag, entry, { kind: "env", name }, nodeCount));
      });
  });
}

/**
 * Values from the command line, weaker ones first.
 *
 * @param nodeCount - number of nodes in the configuration
 * @throws ConfigError for a malformed label, and for a node name if there are several nodes
 */
export function flagEntries(given: readonly GivenFlag[], nodeCount: number): LayerEntry[] {
  return given.flatMap(({ flag, text }) => {
    if (flag.path === nodeNamePath && nodeCount > 1) {
      throw new ConfigError(
        `--${flag.name}: ${JSON.stringify(text)}: needs a configuration with one node, but it has ${nodeCount}; name the nodes in the file`,
      );
    }
    return entriesOf(flag, text, { kind: "flag", name: flag.name }, nodeCount);
  });
}

/** Warnings about the deprecated and obsolete settings in use, one line each. */
export function settingWarnings(
  given: readonly GivenFlag[],
  env: Readonly<Record<string, string | undefined>>,
  nodeCount: number,
): string[] {
  const warnings = new Set<string>();
  for (const { flag } of given) {
    if (flag.insteadUse !== undefined) warnings.add(`--${flag.name} is deprecated: use ${flag.insteadUse}`);
    if (flag.obsolete !== undefined) warnings.add(`--${flag.name} has no effect: ${flag.obsolete}`);
  }
  for (const [name, why] of Object.entries(obsoleteEnv)) if (env[name]) warnings.add(`${name} has no effect: ${why}`);
  if (nodeCount > 1 && env["DEFAULT_NODE_NAME"]) warnings.add(`DEFAULT_NODE_NAME has no effect: the configuration has ${nodeCount} nodes`);
  for (const warning of unknownVariables(env)) warnings.add(warning);
  return [...warnings];
}

/** Warnings about variables with the program's prefix that set nothing, one line each. */
function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = flags.flatMap(envNamesOf);
  return Object.keys(env)
    .filter((name) => name.startsWith("VKUBELET_") && !known.includes(name) && !isServiceVariable(name, env))
    .map((name) => `${name} has no effect: unknown variable${didYouMean(name, known)}`);
}

/** Whether Kubernetes sets the variable in pods, for a service such as `vkubelet-metrics`. */
function isServiceVariable(name: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const service = /^(VKUBELET(?:_.+)?)_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_.+)?)?)$/.exec(name)?.[1];
  return service !== undefined && env[`${service}_SERVICE_HOST`] !== undefined;
}

function entriesOf(flag: Flag, text: string, source: Source & { readonly name: string }, nodeCount: number): LayerEntry[] {
  if (flag.path === undefined) return [];
  const { key, value } = typed(flag, text, source);
  return placesOf(flag.path, nodeCount).map((path) => ({ path: key === undefined ? path : [...path, key], value, source }));
}

/** Converts a text to the flag's type. Malformed text stays as it is, and the schema rejects it. */
function typed(
  flag: Flag,
  text: string,
  source: { readonly kind: string; readonly name: string },
): { readonly key?: string; readonly value: unknown } {
  switch (flag.type) {
    case "boolean":
      return { value: parseBoolean(text) ?? text };
    case "integer":
      return { value: /^-?\d+$/.test(text) ? Number(text) : text };
    case "labels": {
      const equals = text.indexOf("=");
      if (equals > 0) return { key: text.slice(0, equals), value: text.slice(equals + 1) };
      throw new ConfigError(`${source.kind === "flag" ? "--" : ""}${source.name}: ${JSON.stringify(text)}: expected KEY=VALUE`);
    }
    case "string":
      // Azure's chart says "Linux", as upstream's help does.
      if (flag.name === "os") return { value: text.toLowerCase() };
      if (flag.name !== "log-level") return { value: text };
      return { value: logLevels[text.toLowerCase()] ?? text.toLowerCase() };
    default:
      return flag.type satisfies never;
  }
}

/** Expands `nodes[].taint.key` to the path in each node. */
function placesOf(path: string, nodeCount: number): ConfigPath[] {
  const [first = "", ...rest] = path.split(".");
  if (first !== "nodes[]") return [[first, ...rest]];
  return Array.from({ length: nodeCount }, (_, index) => ["nodes", index, ...rest]);
}
