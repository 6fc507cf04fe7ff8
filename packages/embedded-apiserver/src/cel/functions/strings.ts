import { declare, type FunctionPart } from "../signatures.ts";
import { ArrayList, CelList, EvaluationError, type Value } from "../values.ts";
import { formatText } from "./format-text.ts";
import { compileGoRegExp, goRegExpProblem, type GoRegExp } from "../../go-regexp/go-regexp.ts";

/** Source of this file: github.com/google/cel-go v0.26.0 ext/strings.go (version 2), and k8s.io/apiserver v0.36.3 pkg/cel/library/regex.go. */

const characters = (text: Value | undefined): string[] => Array.from(String(text));

function outOfRange(index: Value): EvaluationError {
  return new EvaluationError(`index out of range: ${String(index)}`);
}

function charAt(text: Value, index: Value): string {
  const all = characters(text);
  const at = Number(index);
  if (at < 0 || at > all.length) throw outOfRange(index);
  return all[at] ?? "";
}

function matchesAt(all: readonly string[], wanted: readonly string[], at: number): boolean {
  return wanted.every((character, offset) => all[at + offset] === character);
}

function indexOf(text: Value, wanted: Value, offset: Value = 0n): bigint {
  if (wanted === "") return BigInt(Number(offset));
  const all = characters(text);
  const sought = characters(wanted);
  if (Number(offset) < 0) throw outOfRange(offset);
  for (let at = Number(offset); at <= all.length - sought.length; at++) if (matchesAt(all, sought, at)) return BigInt(at);
  return -1n;
}

function lastIndexOf(text: Value, wanted: Value, offset?: Value): bigint {
  const all = characters(text);
  if (wanted === "") return offset === undefined ? BigInt(all.length) : BigInt(Number(offset));
  const sought = characters(wanted);
  const from = offset === undefined ? all.length - 1 : Number(offset);
  if (from < 0 && offset !== undefined) throw outOfRange(offset);
  if (from >= all.length) return -1n;
  for (let at = Math.min(from, all.length - sought.length); at >= 0; at--) if (matchesAt(all, sought, at)) return BigInt(at);
  return -1n;
}

function substring(text: Value, start: Value, end?: Value): string {
  const all = characters(text);
  const [from, to] = [Number(start), end === undefined ? all.length : Number(end)];
  if (end !== undefined && from > to) throw new EvaluationError(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0 || from > all.length) throw outOfRange(start);
  if (to < 0 || to > all.length) throw outOfRange(end ?? null);
  return all.slice(from, to).join("");
}

function replace(text: Value, from: Value, to: Value, limit: Value = -1n): string {
  const [old, added, count] = [String(from), String(to), Number(limit)];
  if (count < 0 && old !== "") return String(text).replaceAll(old, () => added);
  const parts = old === "" ? ["", ...characters(text), ""] : String(text).split(old);
  const separators = count < 0 ? parts.length : count;
  return parts.map((part, index) => (index === 0 ? part : (index <= separators ? added : old) + part)).join("");
}

function split(text: Value, separator: Value, limit: Value = -1n): ArrayList {
  const count = Number(limit);
  if (count === 0) return new ArrayList([]);
  const parts = separator === "" ? characters(text) : String(text).split(String(separator));
  if (count < 0 || parts.length <= count) return new ArrayList(parts);
  return new ArrayList([...parts.slice(0, count - 1), parts.slice(count - 1).join(String(separator))]);
}

function join(list: Value, separator: Value = ""): string {
  const parts = [...(list as CelList)];
  for (const part of parts) if (typeof part !== "string") throw new EvaluationError(`join: invalid input: ${String(part)}`);
  return parts.join(String(separator));
}

const quoted: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

function quote(text: Value): string {
  return `"${characters(text)
    .map((character) => quoted[character] ?? character)
    .join("")}"`;
}

/** Text without the white space that Go's `strings.TrimSpace` removes. */
function trim(text: Value): string {
  return String(text).replaceAll(/^(?:(?!\ufeff)[\s\u0085])+|(?:(?!\ufeff)[\s\u0085])+$/g, "");
}

function expression(pattern: Value | undefined, prefix: string): GoRegExp {
  const problem = goRegExpProblem(String(pattern));
  if (problem !== undefined) throw new EvaluationError(prefix + problem);
  return compileGoRegExp(String(pattern));
}

function findAll(text: Value, pattern: Value, limit: Value = -1n): ArrayList {
  const most = Number(limit) < 0 ? undefined : Number(limit);
  return new ArrayList(expression(pattern, "Illegal regex: ").findAll(String(text), most));
}

const ascii = (text: Value, pattern: RegExp, change: (text: string) => string): string => String(text).replaceAll(pattern, change);

export const stringFunctions: readonly FunctionPart[] = [
  declare("contains", ["contains_string string.(string) -> bool"], (text, part) => String(text).includes(String(part))),
  declare("startsWith", ["starts_with_string string.(string) -> bool"], (text, part) => String(text).startsWith(String(part))),
  declare("endsWith", ["ends_with_string string.(string) -> bool"], (text, part) => String(text).endsWith(String(part))),
  declare("matches", ["matches (string, string) -> bool", "matches_string string.(string) -> bool"], (text, pattern) =>
    expression(pattern, "").test(String(text)),
  ),
  declare("charAt", ["string_char_at_int string.(int) -> string"], charAt),
  declare("indexOf", ["string_index_of_string string.(string) -> int", "string_index_of_string_int string.(string, int) -> int"], indexOf),
  declare(
    "lastIndexOf",
    ["string_last_index_of_string string.(string) -> int", "string_last_index_of_string_int string.(string, int) -> int"],
    lastIndexOf,
  ),
  declare("lowerAscii", ["string_lower_ascii string.() -> string"], (text) => ascii(text ?? "", /[A-Z]/g, (part) => part.toLowerCase())),
  declare("upperAscii", ["string_upper_ascii string.() -> string"], (text) => ascii(text ?? "", /[a-z]/g, (part) => part.toUpperCase())),
  declare(
    "replace",
    [
      "string_replace_string_string string.(string, string) -> string",
      "string_replace_string_string_int string.(string, string, int) -> string",
    ],
    replace,
  ),
  declare(
    "split",
    ["string_split_string string.(string) -> list(string)", "string_split_string_int string.(string, int) -> list(string)"],
    split,
  ),
  declare("substring", ["string_substring_int string.(int) -> string", "string_substring_int_int string.(int, int) -> string"], substring),
  declare("trim", ["string_trim string.() -> string"], trim),
  declare("format", ["string_format string.(list(dyn)) -> string"], (text, values) => formatText(String(text), [...(values as CelList)])),
  declare("strings.quote", ["strings_quote (string) -> string"], quote),
  declare("join", ["list_join list(string).() -> string", "list_join_string list(string).(string) -> string"], join),
  declare(
    "find",
    ["string_find_string string.(string) -> string"],
    (text, pattern) => expression(pattern, "Illegal regex: ").find(String(text)) ?? "",
  ),
  declare(
    "findAll",
    ["string_find_all_string string.(string) -> list(string)", "string_find_all_string_int string.(string, int) -> list(string)"],
    findAll,
  ),
];
