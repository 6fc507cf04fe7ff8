/** Compiled patterns; rules use the same few again and again. */
const compiled = new Map<string, RegExp>();
const maxCompiled = 1000;

const posixClasses: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/**
 * Compiles a pattern in Go's syntax (RE2), which JavaScript's differs from in a few places.
 *
 * Source: https://pkg.go.dev/regexp/syntax.
 *
 * @throws SyntaxError for a pattern that JavaScript does not know either
 */
export function compileGoRegExp(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const { source, flags } = translate(pattern);
  const made = new RegExp(source, `u${flags}`);
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

const part = /\\Q([^]*?)(?:\\E|$)|\[\[:(\^?)([a-z]+):\]\]|\[:(\^?)([a-z]+):\]|\\p([A-Z])|\\P([A-Z])|\\([^])|\(\?P<|\(\?([ims]+)\)|[^]/gu;

function translate(pattern: string): { readonly source: string; readonly flags: string } {
  let source = "";
  let flags = "";
  let inClass = false;
  for (const [text, quoted, wholeNot, whole, classNot, posix, letter, notLetter, escaped, setFlags] of pattern.matchAll(part)) {
    if (quoted !== undefined) source += quoted.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
    else if (whole !== undefined) source += `[${wholeNot}${posixClasses[whole] ?? ""}]`;
    else if (posix !== undefined) source += classNot === "^" ? "" : (posixClasses[posix] ?? "");
    else if (letter !== undefined) source += `\\p{${letter}}`;
    else if (notLetter !== undefined) source += `\\P{${notLetter}}`;
    else if (escaped !== undefined) source += escape(escaped, inClass);
    else if (text === "(?P<") source += "(?<";
    else if (setFlags !== undefined) flags = [...new Set(flags + setFlags)].join("");
    else source += plain(text, inClass);
    if (text === "[") inClass = true;
    else if (text === "]") inClass = false;
  }
  return { source, flags };
}

function escape(character: string, inClass: boolean): string {
  if (character === "z") return "$";
  if (character === "A") return "^";
  if (character === "a") return "\\x07";
  // In a class, a hyphen keeps its backslash. Elsewhere JavaScript permits no needless ones.
  if (/^[^\w\s]$/u.test(character) && !/^[\\^$.*+?()[\]{}|/]$/.test(character)) return inClass && character === "-" ? "\\-" : character;
  return `\\${character}`;
}

function plain(text: string, inClass: boolean): string {
  return inClass && (text === "[" || text === "(" || text === ")" || text === "{" || text === "}" || text === "/" || text === "|")
    ? `\\${text}`
    : text;
}

/** Go's error for a pattern that does not compile, such as "error parsing regexp: unexpected ): `)`"; `undefined` if it does. */
export function goRegExpProblem(pattern: string): string | undefined {
  try {
    compileGoRegExp(pattern);
    return undefined;
  } catch (error) {
    return `error parsing regexp: ${goProblem(pattern, error instanceof Error ? error.message : "")}`;
  }
}

function goProblem(pattern: string, message: string): string {
  if (message.includes("Unmatched ')'")) return `unexpected ): \`${pattern}\``;
  if (message.includes("Unterminated group")) return `missing closing ): \`${pattern}\``;
  if (message.includes("Unterminated character class")) return `missing closing ]: \`${pattern.slice(pattern.indexOf("["))}\``;
  if (message.includes("Nothing to repeat")) return `missing argument to repetition operator: \`${/[*+?]/.exec(pattern)?.[0] ?? ""}\``;
  if (message.includes("Range out of order in character class"))
    return `invalid character class range: \`${/.-./.exec(pattern)?.[0] ?? ""}\``;
  if (message.includes("\\ at end of pattern")) return "trailing backslash at end of expression: ``";
  if (message.includes("Invalid group")) return `invalid or unsupported Perl syntax: \`${/\(\?.{0,2}/.exec(pattern)?.[0] ?? ""}\``;
  return `invalid escape sequence: \`${/\\./.exec(pattern)?.[0] ?? pattern}\``;
}
