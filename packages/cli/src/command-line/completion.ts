import { commandNames, commands, findCommand } from "./commands.ts";
import type { CommandName, Flag } from "./flag.ts";
import { flagsOf } from "./flags.ts";
import { builtInProviders } from "../providers/registry.ts";

/**
 * Completion script for bash. Source it, or put it into a folder of bash-completion.
 *
 * All scripts are generated from {@link flagsOf} and {@link commands}.
 */
export function bashCompletion(): string {
  const cases = commands.map(({ name }) => {
    const values = shownFlags(name)
      .filter((flag) => flag.type !== "boolean")
      .map((flag) => `        ${heads(flag).join("|")}) ${bashValues(flag)}; return;;`);
    return `    ${name})
      case "$previous" in
${values.join("\n")}
      esac
      words="${[...(wordsOf(name) ?? []), ...shownFlags(name).flatMap(heads)].join(" ")}";;`;
  });
  return `# bash completion of virtual-kubelet
_virtual_kubelet() {
  local current previous command words prefix=""
  COMPREPLY=()
  current="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  command="\${COMP_WORDS[1]}"
  # --flag=VALUE is three words where "=" breaks words, as it does by default, else one.
  if [[ $current == = ]]; then
    current=""
  elif [[ $previous == = && $COMP_CWORD -gt 2 ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $current == --*=* ]]; then
    previous="\${current%%=*}"
    prefix="$previous="
    current="\${current#*=}"
  fi
  if [[ $COMP_CWORD -eq 1 && $command != -* ]]; then
    COMPREPLY=($(compgen -W "${commandNames.join(" ")}" -- "$current"))
    return
  fi
  [[ $command == -* ]] && command=run
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _virtual_kubelet virtual-kubelet
`;
}

/** Completion script for zsh, for a folder of \`$fpath\` under the name \`_virtual-kubelet\`. */
export function zshCompletion(): string {
  const cases = commands.map(({ name }) => {
    const flags = shownFlags(name).flatMap((flag) =>
      heads(flag).map((head) => `'${head}${flag.type === "boolean" ? "" : "="}[${zshText(flag.help)}]${zshValues(flag)}'`),
    );
    const words = wordsOf(name);
    const argument = words ? ` '1:argument:(${words.join(" ")})'` : "";
    return `    ${name}) _arguments ${flags.join(" ")}${argument};;`;
  });
  return `#compdef virtual-kubelet
_virtual-kubelet() {
  local -a commands=(${commands.map(({ name, summary }) => `'${name}:${zshText(summary)}'`).join(" ")})
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe command commands
    return
  fi
  local command=$words[2]
  if [[ $command == -* ]]; then command=run; else shift words; (( CURRENT-- )); fi
  case $command in
${cases.join("\n")}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _virtual-kubelet "$@"; else compdef _virtual-kubelet virtual-kubelet; fi
`;
}

/** Completion script for fish, for \`~/.config/fish/completions/virtual-kubelet.fish\`. */
export function fishCompletion(): string {
  const isFirst = "__fish_use_subcommand";
  const lines = commands.map(({ name, summary }) => `complete -c virtual-kubelet -f -n ${isFirst} -a ${name} -d ${fishText(summary)}`);
  for (const { name } of commands) {
    const seen = name === "run" ? `'${isFirst}; or __fish_seen_subcommand_from run'` : `'__fish_seen_subcommand_from ${name}'`;
    for (const flag of shownFlags(name)) {
      const short = flag.short === undefined ? "" : ` -s ${flag.short}`;
      lines.push(`complete -c virtual-kubelet -n ${seen} -l ${flag.name}${short}${fishValues(flag)} -d ${fishText(flag.help)}`);
    }
    const words = wordsOf(name);
    if (words) lines.push(`complete -c virtual-kubelet -f -n ${seen} -a '${words.join(" ")}'`);
  }
  return `# fish completion of virtual-kubelet\n${lines.join("\n")}\n`;
}

function shownFlags(command: CommandName): readonly Flag[] {
  return flagsOf(command).filter(({ obsolete, insteadUse }) => obsolete === undefined && insteadUse === undefined);
}

function heads({ name, short }: Flag): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

function wordsOf(command: CommandName): readonly string[] | undefined {
  if (command === "help") return commandNames;
  if (command === "providers") return providerNames();
  return findCommand(command)?.words;
}

function providerNames(): string[] {
  return builtInProviders.flatMap(({ name, aliases }) => [name, ...aliases]);
}

/** Possible values of a flag; \`undefined\` if they are not enumerable. */
function choicesOf({ name, choices }: Flag): readonly string[] | undefined {
  return name === "provider" ? providerNames() : choices;
}

function bashValues(flag: Flag): string {
  const choices = choicesOf(flag);
  if (choices) return `COMPREPLY=($(compgen -P "$prefix" -W "${choices.join(" ")}" -- "$current"))`;
  if (flag.value === "FILE") return 'COMPREPLY=($(compgen -P "$prefix" -f -- "$current"))';
  return flag.value === "DIR" ? 'COMPREPLY=($(compgen -P "$prefix" -d -- "$current"))' : "COMPREPLY=()";
}

function zshValues(flag: Flag): string {
  if (flag.type === "boolean") return "";
  const choices = choicesOf(flag);
  return `:${(flag.value ?? "value").toLowerCase().replaceAll(":", " ")}:${choices ? `(${choices.join(" ")})` : flag.value === "FILE" ? "_files" : " "}`;
}

function fishValues(flag: Flag): string {
  if (flag.type === "boolean") return " -f";
  const choices = choicesOf(flag);
  return choices ? ` -x -a '${choices.join(" ")}'` : flag.value === "FILE" ? " -r -F" : " -x";
}

function zshText(text: string): string {
  return text.replaceAll("'", "'\\''").replaceAll("[", "(").replaceAll("]", ")").replaceAll(":", "\\:");
}

function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
