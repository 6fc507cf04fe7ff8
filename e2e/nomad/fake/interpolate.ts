/** Attributes of the client that jobs can refer to, in addition to the variables of their tasks. */
export const clientAttributes: Readonly<Record<string, string>> = { "attr.cpu.arch": "amd64", "attr.kernel.name": "linux" };

type Values = Readonly<Record<string, string>>;

/**
 * Replaces each `${NAME}` by its value. It cannot be escaped, and an unknown name stays unchanged. Source: Nomad, `ReplaceEnv` in
 * helper/args.
 */
export function replaceVariables(text: string, ...sources: readonly Values[]): string {
  return text.replaceAll(/\$\{([\w.-]+)\}/g, (whole, name: string) => sources.find((each) => name in each)?.[name] ?? whole);
}

/** Evaluates a text in a driver's configuration. Only the HCL that jobs of the tests contain is supported. */
export function evaluateText(text: string, env: Values): string {
  return text.replaceAll(
    /\$\$\{|%%\{|\$\{(?:env\["([^"]+)"\]|"(\$+)"|([\w.-]+))\}/g,
    (whole, variable?: string, quoted?: string, name = "") => {
      if (whole === "$${" || whole === "%%{") return whole.slice(1);
      if (quoted !== undefined) return quoted;
      return (variable === undefined ? (env[name as string] ?? clientAttributes[name as string]) : env[variable]) ?? "";
    },
  );
}

/** Environment variables of a task for its job's meta. Source: Nomad, `buildEnv` in client/taskenv. */
export function metaVariables(meta: Values, env: Values): Record<string, string> {
  return Object.fromEntries(
    Object.entries(meta).flatMap(([key, value]) =>
      [key, key.toUpperCase()].map((name) => [`NOMAD_META_${name}`, replaceVariables(value, clientAttributes, env)]),
    ),
  );
}
