import { posix } from "node:path";
import { UsageError } from "./command.ts";
import { nestedShell } from "./nested-shell.ts";
import type { Builtin } from "./shell.ts";
import { ExitSignal, LoopSignal, signalNumber } from "./signals.ts";

const cd: Builtin = async (shell, { args, machine }) => {
  const target = args[1] ?? shell.variable("HOME") ?? "/";
  const path = posix.resolve(shell.directory, target === "-" ? (shell.variable("OLDPWD") ?? "/") : target);
  machine.files.directory(path);
  shell.set("OLDPWD", shell.directory);
  shell.directory = path;
  shell.set("PWD", path);
  return 0;
};

const exportVariables: Builtin = async (shell, { args, stdout }) => {
  if (args.length === 1) for (const [name, value] of shell.environment()) await stdout.write(`export ${name}='${value}'\n`);
  for (const arg of args.slice(1)) {
    const at = arg.indexOf("=");
    const name = at < 0 ? arg : arg.slice(0, at);
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new UsageError(`${arg}: bad variable name`);
    if (at >= 0) shell.set(name, arg.slice(at + 1));
    shell.export(name);
  }
  return 0;
};

const exit: Builtin = async (shell, { args }) => {
  const code = args[1] ?? String(shell.lastCode);
  if (!/^\d+$/.test(code)) throw new UsageError(`Illegal number: ${code}`);
  throw new ExitSignal(Number(code));
};

const kill: Builtin = async (shell, { args }) => {
  const [, first = "", ...rest] = args;
  const named = first.startsWith("-");
  const number = named ? signalNumber(first.slice(first === "-s" ? 2 : 1) || (rest.shift() ?? "")) : 15;
  if (number === undefined) throw new UsageError(`${first}: bad signal`);
  const pids = named ? rest : [first, ...rest];
  if (pids.length === 0) throw new UsageError("expected a process id");
  if (pids.some((pid) => pid !== shell.variable("$"))) throw new UsageError("no such process");
  if (number === 0) return 0;
  throw new ExitSignal(128 + number);
};

const readLine: Builtin = async (shell, { args, stdin }) => {
  const names = args.slice(1).filter((arg) => arg !== "-r");
  const line = await stdin.readLine();
  if (line === undefined) return 1;
  const words = line.trim().split(/[ \t]+/);
  for (const [index, name] of (names.length > 0 ? names : ["REPLY"]).entries())
    shell.set(name, index < names.length - 1 ? (words.shift() ?? "") : words.splice(0).join(" "));
  return 0;
};

const leave =
  (kind: "break" | "continue"): Builtin =>
  async (_shell, { args }) => {
    throw new LoopSignal(kind, Math.max(1, Number(args[1] ?? 1) || 1));
  };

const unset: Builtin = async (shell, { args }) => {
  for (const name of args.slice(1)) shell.unset(name);
  return 0;
};

const shift: Builtin = async (shell, { args }) => {
  shell.parameters.splice(0, Number(args[1] ?? 1) || 0);
  return 0;
};

/** Accepted without effect, since this shell receives no signals and has no options. */
const ignored: Builtin = async () => 0;

export const builtins: Readonly<Record<string, Builtin>> = {
  ash: nestedShell,
  bash: nestedShell,
  dash: nestedShell,
  sh: nestedShell,
  ".": async (shell, { args: [, path = ""], machine, ...streams }) => {
    const node = machine.files.get(posix.resolve(shell.directory, path));
    return shell.runText(node.kind === "file" ? Buffer.from(node.content).toString("utf8") : "", streams);
  },
  break: leave("break"),
  cd,
  continue: leave("continue"),
  eval: (shell, { args, ...streams }) => shell.runText(args.slice(1).join(" "), streams),
  exec: async (shell, { args, ...streams }) => {
    if (args.length > 1) throw new ExitSignal(await shell.runWords(args.slice(1), streams));
    return 0;
  },
  exit,
  export: exportVariables,
  kill,
  read: readLine,
  set: ignored,
  shift,
  trap: ignored,
  umask: ignored,
  unset,
  wait: ignored,
};
