/**
 * Replaces the text between `<!-- generated:NAME -->` and `<!-- /generated:NAME -->`. The marks stay.
 * Without content, nothing but the marks is left.
 *
 * @throws Error if the page lacks the marks
 */
export function replaceRegion(page: string, name: string, content: string): string {
  const open = `<!-- generated:${name} -->`;
  const close = `<!-- /generated:${name} -->`;
  const start = page.indexOf(open);
  const end = page.indexOf(close);
  if (start < 0 || end < start) throw new Error(`there is no region "${open} … ${close}" to write to`);
  const inner = content.trim() === "" ? "" : `${content.trim()}\n\n`;
  return `${page.slice(0, start + open.length)}\n\n${inner}${page.slice(end)}`;
}
