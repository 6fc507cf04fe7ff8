/** Whether the text can be an npm scope. */
export function isScope(text: string): boolean {
  return /^@[a-z0-9][a-z0-9._-]*$/.test(text);
}

/**
 * Replaces one npm scope with another in a file's text: in `@scope/name`, in pnpm's `@scope+name`, in globs, and
 * where the scope stands alone between quotes. Names that only begin like the scope are left alone.
 */
export function rewriteScope(text: string, from: string, to: string): string {
  const escaped = from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`(?<![\\w@.-])${escaped}(?=[/+"'\`])`, "g"), to);
}
