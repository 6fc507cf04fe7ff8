import type { Json } from "./state.ts";

const term = /^\s*([\w.]+)((?:\["[^"]*"\])?)\s*(==|matches)\s*("(?:[^"\\]|\\.)*")\s*$/;

/**
 * Whether an object matches a filter. Only the provider's filters are supported: terms with `==` and `matches`, joined by `and`. @throws
 * Error for other filters, as Nomad does
 */
export function fits(filter: string, object: Json): boolean {
  return filter
    .replaceAll(/[()]/g, " ")
    .split(" and ")
    .every((text) => {
      const [, path, key = "", operator, quoted] = term.exec(text) ?? [];
      if (path === undefined || quoted === undefined) throw new SyntaxError(`failed to read filter expression: ${text}`);
      const keys = [...path.split("."), ...(key === "" ? [] : [JSON.parse(key.slice(1, -1)) as string])];
      const value = keys.reduce<unknown>((current, each) => (current as Json | null | undefined)?.[each], object);
      const wanted = JSON.parse(quoted) as string;
      return operator === "==" ? value === wanted : typeof value === "string" && new RegExp(wanted).test(value);
    });
}
