import { stripVTControlCharacters } from "node:util";

/** Control characters, and characters that change the direction of text. */
// oxlint-disable-next-line eslint/no-control-regex -- these are what must not reach a terminal
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Returns text of others as one line that cannot control a terminal. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(controls, " ").replaceAll(/ {2,}/g, " ").trim();
}

const segmenter = new Intl.Segmenter();

/** The characters of a text as people count them. */
export function charactersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Cuts text to a number of characters; an ellipsis shows that something is missing. */
export function cutText(text: string, width: number): string {
  const characters = charactersOf(text);
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

/** Breaks text into lines of at most that many characters, between words where possible. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = charactersOf(text);
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : Math.max(1, width);
    lines.push(rest.slice(0, end).join(""));
    rest = rest.slice(rest[end] === " " ? end + 1 : end);
  }
  return [...lines, rest.join("")];
}
