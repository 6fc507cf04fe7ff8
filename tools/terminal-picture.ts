/** Size of a character cell and of the space around the text, in pixels. */
const cell = { width: 8.4, height: 20 };
const padding = 16;

/** Text before this line belongs to the picture; what follows are hints for a reader at a terminal. */
const endOfPicture = "";

/** Lines of the demo's output that the picture shows. */
export function shownLines(output: string): readonly string[] {
  const lines = output.split("\n");
  return lines.slice(0, Math.max(0, lines.indexOf(endOfPicture)));
}

/**
 * Renders lines of the demo as an SVG that follows the reader's color scheme. The same lines give the same text, whatever the machine.
 *
 * @param lines - each with a time, a mark and a message, as the demo prints them
 */
export function renderTerminal(command: string, lines: readonly string[]): string {
  const all = [`$ ${command}`, ...lines];
  const width = Math.ceil(Math.max(...all.map((line) => line.length)) * cell.width + 2 * padding);
  const height = all.length * cell.height + 2 * padding;
  const texts = all.map((line, index) => `<text x="${padding}" y="${padding + cell.height * (index + 0.7)}">${spans(line)}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>Output of ${escape(command)}</title>`,
    "<style>",
    "rect{fill:#f6f8fa;stroke:#d0d7de}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}",
    ".d{fill:#656d76}.g{fill:#1a7f37}.c{fill:#0969da}",
    "@media(prefers-color-scheme:dark){rect{fill:#161b22;stroke:#30363d}text{fill:#e6edf3}.d{fill:#8d96a0}.g{fill:#3fb950}.c{fill:#58a6ff}}",
    "</style>",
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...texts,
    "</svg>",
    "",
  ].join("\n");
}

/** The time is dim, and the mark has the color that it has on a terminal. */
function spans(line: string): string {
  const [, time, mark, message] = /^(\s*[\d.]+ s {2})([✓·])(.*)$/.exec(line) ?? [];
  if (time === undefined) return escape(line);
  return `<tspan class="d">${escape(time)}</tspan><tspan class="${mark === "✓" ? "g" : "c"}">${mark}</tspan>${escape(message ?? "")}`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
