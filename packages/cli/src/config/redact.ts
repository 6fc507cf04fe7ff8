/** Names of fields whose values are secret. */
const secretName =
  /token|passw(or)?d|authorization|cookie|credential|private[-_]?key|access[-_]?key|api[-_]?key|client[-_]?secret|secret[-_]?(key|value)|^secret$/i;

/** Suffixes of fields that describe a secret but are safe to show: its name, its file, its expiry. */
const aboutSecret = /(name|file|path|dir|directory|ttl|timeout|mode|webhook)$/i;

/** Names that only look secret: AWS's `clientToken` makes a request idempotent. */
const notSecret: ReadonlySet<string> = new Set(["clientToken"]);

/** Patterns of secrets in any text. */
const secretTexts: readonly [pattern: RegExp, replacement: string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, "$1 [redacted]"],
  [/\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g, "[redacted]"],
  [/(:\/\/)[^\s/@]+@/g, "$1[redacted]@"],
  // Not the line that begins a key alone: messages about keys name it.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----(?=(\s|\\[rn])*(Proc-Type|[\w+/=]{4}))[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, "[redacted]"],
];

/** Removes tokens, passwords in URLs, and private keys from a text. */
export function redactText(text: string): string {
  let redacted = text;
  for (const [pattern, replacement] of secretTexts) redacted = redacted.replace(pattern, replacement);
  return redacted;
}

/** A copy of JSON data without secrets, which are recognized by their field's name or their format. */
export function redact(value: unknown, name: string = ""): unknown {
  if (value === undefined || value === null) return value;
  if (typeof value === "object") {
    if (Array.isArray(value)) return value.map((entry) => redact(entry, name));
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redact(entry, key)]));
  }
  // A switch such as automountServiceAccountToken says nothing of a token.
  if (typeof value !== "boolean" && secretName.test(name) && !aboutSecret.test(name) && !notSecret.has(name)) return "[redacted]";
  return typeof value === "string" ? redactText(value) : value;
}
