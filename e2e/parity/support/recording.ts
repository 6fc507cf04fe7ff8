import { Answer, WatchEvent } from "./api.ts";

const lineWidth = 130;

/** Replacements for values that differ between runs. The order matters, because names of namespaces contain digits. */
const placeholders: readonly (readonly [pattern: RegExp, placeholder: string])[] = [
  [/\bparity-[a-z0-9]{8}\b/g, "NAMESPACE"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UID"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/g, "MICROTIME"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME"],
  [/\b10\.\d+\.\d+\.\d+\/\d+/g, "RANGE"],
  [/\b10\.\d+\.\d+\.\d+\b/g, "IP"],
  [/\b(resource version: |current: |record \(|in the precondition \()\d+/g, "$1VERSION"],
  [/\bkube-api-access-[a-z0-9]{5}\b/g, "kube-api-access-SUFFIX"],
];

/** Fields whose value differs between runs, and their replacements. */
const placeholderFields: Readonly<Record<string, string>> = {
  resourceVersion: "VERSION",
  nodePort: "PORT",
  continue: "TOKEN",
  healthCheckNodePort: "PORT",
};

/**
 * Text of a response, event or object that is the same in every run and on every server: sorted keys, replacements for values that differ
 * between runs, and no `managedFields`.
 */
export function recorded(value: unknown): string {
  const text =
    value instanceof Answer
      ? `${String(value.status)} ${printBody(value)}`
      : value instanceof WatchEvent
        ? `${value.type} ${print(value.object)}`
        : print(value);
  return placeholders.reduce((result, [pattern, placeholder]) => result.replace(pattern, placeholder), text);
}

/** Error without the parts that all errors have. */
function printBody({ status, body }: Answer): string {
  const { kind, apiVersion, metadata, status: outcome, code, ...said } = (body ?? {}) as Record<string, unknown>;
  const isPlain = kind === "Status" && apiVersion === "v1" && print(metadata) === "{}" && outcome === "Failure" && code === status;
  return isPlain ? `Failure ${print(said)}` : print(body);
}

/** Formats JSON with short values on one line. */
function print(value: unknown, indent = "", key?: string): string {
  if (value instanceof Answer || value instanceof WatchEvent) return `${indent === "" ? "" : "\n" + indent}${recorded(value)}`;
  if (typeof value !== "object" || value === null) return printScalar(value, key);
  const brackets = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => print(item, inner))
    : Object.entries(value)
        .filter(([name]) => name !== "managedFields")
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, item]) => `${name}: ${print(item, inner, name)}`);
  const line = `${brackets[0]}${items.join(", ")}${brackets[1]}`;
  if (line.length + indent.length <= lineWidth && !line.includes("\n")) return line;
  return `${brackets[0]}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${brackets[1]}`;
}

function printScalar(value: unknown, key: string | undefined): string {
  const placeholder = key === undefined ? undefined : placeholderFields[key];
  // An empty version is a distinct value.
  if (placeholder !== undefined && value !== "" && value !== "0") return placeholder;
  if (typeof value === "string") return printText(withoutQuotations(value));
  return JSON.stringify(value) ?? "undefined";
}

/** The real server prints objects and diffs as Go structs, with managed fields. */
function withoutQuotations(text: string): string {
  return text.replace(/Invalid value: "(\{|map\[)(?:[^"\\]|\\.)*"/g, 'Invalid value: "OBJECT"').replace(/\n(@@[^]*)?$/, "\nDIFFERENCE");
}

function printText(value: string): string {
  // Avoids escaped quotes.
  if (value.includes('"') && !/['\\\n]/.test(value)) return `'${value}'`;
  return JSON.stringify(value);
}
