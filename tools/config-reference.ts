import { exitCodes } from "../packages/cli/src/exit-codes.ts";
import type { Flag } from "../packages/cli/src/command-line/flag.ts";
import { envNamesOf, flags, obsoleteEnv } from "../packages/cli/src/command-line/flags.ts";
import { code, table } from "./markdown-table.ts";

function usage({ name, short, value }: Flag): string {
  const long = value === undefined ? `--${name}` : `--${name}=${value}`;
  return code(short === undefined ? long : `-${short}, ${long}`);
}

function meaning({ help, choices, default: standard, commands }: Flag): string {
  const parts = [help];
  if (choices !== undefined) parts.push(`one of ${choices.map(code).join(", ")}`);
  if (standard !== undefined) parts.push(`default: ${standard}`);
  if (!commands.includes("run")) parts.push(`only of ${commands.map(code).join(", ")}`);
  return parts.join("; ");
}

/** The flags that do something, with their places in the configuration file and their environment variables. */
export function renderFlags(all: readonly Flag[] = flags): string {
  const live = all.filter((flag) => flag.obsolete === undefined && flag.insteadUse === undefined && flag.name !== "help");
  return table(
    ["Flag; place in the file; variables", "What it sets"],
    live.map((flag) => {
      const names = [flag.path ?? "", ...envNamesOf(flag)].filter((name) => name !== "").map(code);
      return [[`**${usage(flag)}**`, ...names].join("<br>"), meaning(flag)];
    }),
  );
}

/** Flags that are accepted for scripts written for upstream, and their replacements. */
export function renderObsolete(all: readonly Flag[] = flags, environment: Readonly<Record<string, string>> = obsoleteEnv): string {
  const renamed = all.flatMap((flag) =>
    flag.insteadUse === undefined ? [] : [[code(`--${flag.name}`), `the same as ${code(flag.insteadUse)}, which is the one to use`]],
  );
  const reasons = new Map<string, string[]>();
  for (const { name, obsolete } of all)
    if (obsolete !== undefined) reasons.set(obsolete, [...(reasons.get(obsolete) ?? []), code(`--${name}`)]);
  for (const [name, why] of Object.entries(environment)) reasons.set(why, [...(reasons.get(why) ?? []), code(name)]);
  return table(
    ["Flag or variable", "What becomes of it"],
    [...renamed, ...[...reasons].map(([why, names]) => [names.join(", "), `does nothing: ${why}`])],
  );
}

/** The program's exit codes. */
export function renderExitCodes(
  codes: Readonly<Record<string, { readonly code: number; readonly meaning: string }>> = { ...exitCodes },
): string {
  return table(
    ["Exit code", "What it says"],
    Object.values(codes).map(({ code: number, meaning: text }) => [String(number), text]),
  );
}
