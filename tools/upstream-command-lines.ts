import { upstreamCommandLines, type UpstreamCommandLine } from "../e2e/embedded/support/upstream-command-lines.ts";

function typed(word: string): string {
  return word === "" || /\s/.test(word) ? `"${word}"` : word;
}

/** The command lines that a test runs, with the variables of the program that each sets. */
export function renderUpstreamCommandLines(lines: readonly UpstreamCommandLine[] = upstreamCommandLines): string {
  return [
    "| Published by | Arguments | Variables |",
    "| --- | --- | --- |",
    ...lines.map(({ name, source, words, env }) => {
      const variables = Object.keys(env).map((variable) => `\`${variable}\``);
      return `| ${name}: ${source} | \`${words.map(typed).join(" ")}\` | ${variables.join(", ")} |`;
    }),
  ].join("\n");
}
