/** Reserved words of the language. Source: k8s.io/apiserver v0.36.3 pkg/cel/escaping.go. */
const reserved: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

const escapes: Readonly<Record<string, string>> = { __: "underscores", ".": "dot", "-": "dash", "/": "slash" };
const unescapes: ReadonlyMap<string, string> = new Map(Object.entries(escapes).map(([text, name]) => [name, text]));

/** Identifier for a property, such as `a__dot__b`; `undefined` if the property cannot be reached. */
export function escapeProperty(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (name === "" || /^\d/.test(name) || /[^\w./-]/.test(name)) return undefined;
  return name.replaceAll(/__|[-./]/g, (part) => `__${escapes[part] ?? ""}__`);
}

/** Property that an identifier stands for; `undefined` for an unknown escape. */
export function unescapeProperty(identifier: string): string | undefined {
  let isValid = true;
  const name = identifier.replaceAll(/__([^_]+)__/g, (whole: string, part: string) => {
    const text = unescapes.get(part) ?? (reserved.has(part) && whole === identifier ? part : undefined);
    isValid &&= text !== undefined;
    return text ?? "";
  });
  return isValid ? name : undefined;
}
