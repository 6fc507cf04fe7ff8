/**
 * Paths of fields that occur twice in an object of a JSON text, such as `spec.containers[0].image`, in order. `JSON.parse` silently keeps
 * the last one; the API server warns or refuses.
 *
 * @param text - valid JSON
 */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  scanFields(text, (parent, key, isDuplicate) => {
    if (isDuplicate) found.push(childPath(parent, key));
  });
  return found;
}

/**
 * Sorts problems of a JSON text by their place in it, as a decoder finds them. Duplicate fields below an unknown field are left out, because
 * no decoder reads them.
 *
 * @param text - valid JSON
 */
export function problemsInOrder(
  text: string,
  { duplicates, unknown }: Readonly<Record<"duplicates" | "unknown", readonly string[]>>,
): string[] {
  const isDuplicated = new Set(duplicates);
  const isUnknown = new Set(unknown);
  const problems = new Set<string>();
  let skipped: string | undefined;
  scanFields(text, (parent, key, isDuplicate) => {
    if (skipped !== undefined && /^[.[]|^$/.test(parent.path.slice(skipped.length)) && parent.path.startsWith(skipped)) return;
    const path = childPath(parent, key);
    if (isUnknown.has(path)) {
      problems.add(unknownField(path));
      skipped = path;
    } else if (isDuplicate && isDuplicated.has(path)) problems.add(duplicateField(path));
  });
  return [...problems];
}

export function duplicateField(path: string): string {
  return `duplicate field ${JSON.stringify(path)}`;
}

export function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`;
}

function scanFields(text: string, visit: (parent: OpenValue, key: string, isDuplicate: boolean) => void): void {
  const open: OpenValue[] = [];
  let key = "";
  for (let at = 0; at < text.length; at++) {
    const parent = open.at(-1);
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        if (parent?.keys !== undefined && parent.expectsKey) {
          key = JSON.parse(text.slice(at, end + 1)) as string;
          visit(parent, key, parent.keys.has(key));
          parent.keys.add(key);
          parent.expectsKey = false;
        }
        at = end;
        break;
      }
      case "{":
        open.push({ path: childPath(parent, key), keys: new Set(), expectsKey: true, index: 0 });
        break;
      case "[":
        open.push({ path: childPath(parent, key), keys: undefined, expectsKey: false, index: 0 });
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        if (parent?.keys === undefined) {
          if (parent !== undefined) parent.index++;
        } else parent.expectsKey = true;
        break;
      default:
    }
  }
}

/** An object or list that is being read. */
interface OpenValue {
  readonly path: string;
  /** Fields of an object so far; `undefined` for a list. */
  readonly keys: Set<string> | undefined;
  expectsKey: boolean;
  /** Index of the next list item. */
  index: number;
}

function childPath(parent: OpenValue | undefined, key: string): string {
  if (parent === undefined) return "";
  if (parent.keys === undefined) return `${parent.path}[${parent.index}]`;
  return parent.path === "" ? key : `${parent.path}.${key}`;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}
