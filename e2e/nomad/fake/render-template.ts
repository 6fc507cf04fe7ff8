import type { Json } from "./state.ts";

/** Rendered template, or the missing variable that it waits for. */
export type Rendered = { readonly text: Buffer } | { readonly missing: string };

/** Renders a template. Only the provider's templates are supported: items of variables, conditions on them, Base64 and JSON. */
export function renderTemplate(template: string, variable: (path: string) => Json | undefined): Rendered {
  const parts: Buffer[] = [];
  let rest = template;
  for (let found = nextBlock(rest); found; found = nextBlock(rest)) {
    parts.push(renderExpressions(rest.slice(0, found.start), {}));
    const items = variable(found.path)?.["Items"] as Record<string, string> | undefined;
    if (!items) return { missing: found.path };
    parts.push(renderInner(found.inner, items));
    rest = rest.slice(found.end);
  }
  parts.push(renderExpressions(rest, {}));
  return { text: Buffer.concat(parts) };
}

function nextBlock(text: string): { start: number; end: number; path: string; inner: string } | undefined {
  const open = /\{\{ with nomadVar "([^"]+)" \}\}/.exec(text);
  if (!open) return undefined;
  let depth = 1;
  const marks = /\{\{ (with|if|end)\b[^}]*\}\}/g;
  marks.lastIndex = open.index + open[0].length;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    depth += mark[1] === "end" ? -1 : 1;
    if (depth > 0) continue;
    const inner = text.slice(open.index + open[0].length, mark.index);
    return { start: open.index, end: mark.index + mark[0].length, path: open[1] ?? "", inner };
  }
  throw new SyntaxError(`template: a block has no end: ${text.slice(0, 80)}`);
}

function renderInner(inner: string, items: Readonly<Record<string, string>>): Buffer {
  const condition = /^\{\{ if \.(\w+)\.Key \}\}([^]*)\{\{ else \}\}([^]*)\{\{ end \}\}$/.exec(inner);
  if (!condition) return renderExpressions(inner, items);
  return renderExpressions((Object.hasOwn(items, condition[1] ?? "") ? condition[2] : condition[3]) ?? "", items);
}

function renderExpressions(text: string, items: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const match of text.matchAll(/\{\{ ([^}]*) \}\}/g)) {
    parts.push(Buffer.from(text.slice(at, match.index)), evaluate(match[1] ?? "", items));
    at = match.index + match[0].length;
  }
  parts.push(Buffer.from(text.slice(at)));
  return Buffer.concat(parts);
}

function evaluate(expression: string, items: Readonly<Record<string, string>>): Buffer {
  const [source = "", ...pipes] = expression.split(" | ");
  const item = /^\.(\w+?)(?:\.Value)?$/.exec(source)?.[1];
  let value = item === undefined ? Buffer.from(JSON.parse(source) as string) : Buffer.from(items[item] ?? "");
  for (const pipe of pipes) {
    if (pipe === "base64Decode") value = Buffer.from(value.toString(), "base64");
    else if (pipe === "toJSON") value = Buffer.from(JSON.stringify(value.toString()));
    else throw new SyntaxError(`template: function "${pipe}" not defined`);
  }
  return value;
}
