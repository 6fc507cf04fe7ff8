/**
 * Replaces the text between `<!-- generated:NAME -->` and `<!-- /generated:NAME -->`. The marks stay.
 *
 * @throws Error if the page lacks the marks
 */
export function replaceRegion(page: string, name: string, content: string): string {
  const open = `<!-- generated:${name} -->`;
  const close = `<!-- /generated:${name} -->`;
  const start = page.indexOf(open);
  const end = page.indexOf(close);
  if (start < 0 || end < start) throw new Error(`there is no region "${open} … ${close}" to write to`);
  return `${page.slice(0, start + open.length)}\n\n${content.trim()}\n\n${page.slice(end)}`;
}
