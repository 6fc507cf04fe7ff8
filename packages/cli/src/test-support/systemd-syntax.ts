/**
 * Splits a line like systemd: quotes are removed, escapes decoded, specifiers replaced. Source: systemd v252 src/basic/extract-word.c with
 * EXTRACT_UNQUOTE and EXTRACT_CUNESCAPE, src/shared/specifier.c, and src/core/load-fragment.c, config_parse_exec.
 *
 * @throws Error for what systemd refuses, for a specifier other than `%%`, and for the word `;`, which ends a command
 */
export function decodeWords(line: string): string[] {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && " \t\n\r".includes(line[at] ?? "")) at++;
    if (at >= line.length) return words.map(replaceSpecifiers);
    if (/^;(\s|$)/.test(line.slice(at))) throw new Error(`${line}: a second command`);
    let word = "";
    let quote: string | undefined;
    for (; at < line.length; at++) {
      const char = line[at] ?? "";
      if (char === "\\") {
        const { text, length } = decodeEscape(line.slice(at));
        word += text;
        at += length - 1;
      } else if (quote !== undefined) {
        if (char === quote) quote = undefined;
        else word += char;
      } else if (char === '"' || char === "'") quote = char;
      else if (" \t\n\r".includes(char)) break;
      else word += char;
    }
    if (quote !== undefined) throw new Error(`${line}: open quote`);
    words.push(word);
  }
}

function decodeEscape(text: string): { readonly text: string; readonly length: number } {
  const escape = /^\\(?:([abfnrtvs\\"'])|x([\da-f]{2})|u([\da-f]{4}))/i.exec(text);
  if (!escape) throw new Error(`${text}: unknown escape`);
  const [{ length }, letter = "", ...codes] = escape;
  const code = codes.find((each) => each !== undefined);
  return { text: code === undefined ? (simpleEscapes[letter] ?? letter) : String.fromCodePoint(Number.parseInt(code, 16)), length };
}

const simpleEscapes: Readonly<Record<string, string>> = { a: "\u0007", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", s: " " };

function replaceSpecifiers(word: string): string {
  return word.replaceAll(/%(.?)/gs, (specifier, letter: string) => {
    if (letter !== "%") throw new Error(`${word}: the specifier ${specifier} would be replaced`);
    return "%";
  });
}

/** Replaces variables in an argument. Source: systemd v252 src/basic/env-util.c, replace_env_argv. @throws Error for a variable */
export function replaceVariables(word: string): string {
  return word.replaceAll(/\$(.?)/gs, (variable, letter: string) => {
    if (letter === "$") return "$";
    if (/[\w{]/.test(letter)) throw new Error(`${word}: the variable ${variable} would be replaced`);
    return variable;
  });
}

/** Decodes a line of an environment file. Source: systemd v252 src/basic/env-file.c. */
export function decodeEnvironmentFile(line: string): string {
  const [, name, quoted] = /^(\w+)="((?:[^"\\]|\\.)*)"$/s.exec(line) ?? [];
  if (name === undefined || quoted === undefined) throw new Error(`${line}: no assignment with one quoted value`);
  return `${name}=${quoted.replaceAll(/\\(.)/gs, (escape, char: string) => ('"\\`$'.includes(char) ? char : escape))}`;
}
