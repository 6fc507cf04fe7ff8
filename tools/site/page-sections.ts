/** A heading of a page with the text below it, up to the next heading. */
export interface PageSection {
  /** Empty for the text before the first heading. */
  readonly heading: string;
  /** The heading's `id`; empty for the text before the first heading. */
  readonly anchor: string;
  readonly text: string;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#039": "'", nbsp: " " };

/** The text of HTML, on one line. */
export function textOf(html: string): string {
  return html
    .replace(/<(script|style|svg|button)\b[\s\S]*?<\/\1>|<!--[\s\S]*?-->/g, "")
    .replace(/<\/?(?:code|em|strong|a|span|b|i|wbr|mark)\b[^>]*>/g, "")
    .replace(/<[^>]+>/g, " ")
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, " ")
    .trim();
}

/** Splits the content of a page at its headings. */
export function sectionsOf(html: string): PageSection[] {
  const headings = [...html.matchAll(/<h([1-4]) id="([^"]+)"[^>]*>([\s\S]*?)<\/h\1>/g)];
  const starts = headings.map(({ index, 0: whole }) => index + whole.length);
  const before = { heading: "", anchor: "", text: textOf(html.slice(0, headings[0]?.index)) };
  const sections = headings.map(([, , anchor = "", heading = ""], position) => ({
    heading: textOf(heading),
    anchor,
    text: textOf(html.slice(starts[position], headings[position + 1]?.index)),
  }));
  return [before, ...sections].filter(({ heading, text }) => heading !== "" || text !== "");
}
