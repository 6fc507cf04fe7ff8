import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { demoOutput, demoPicture } from "../../tools/demo-output.ts";
import { renderTerminal, shownLines } from "../../tools/terminal-picture.ts";
import { root } from "../../tools/workspace.ts";

/** What a line looks like, without its times, names, ports and addresses. */
function shapeOf(line: string): string {
  return line
    .replace(/^\s*[\d.]+ s/, "TIME")
    .replace(/after [\d.]+ s/, "after TIME")
    .replace(/127\.0\.0\.1:\d+/, "ADDRESS")
    .replace(/hello-[a-z0-9]+-[a-z0-9]+/, "POD")
    .replace(/\d+\.\d+\.\d+\.\d+/, "IP");
}

/** Pods come in any order, so each kind of line counts once. */
const shapesOf = (lines: readonly string[]): string[] => [...new Set(lines.map(shapeOf))].toSorted();

/** Texts of an SVG that {@link renderTerminal} made. */
function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text = ""]) => text.replace(/<[^>]*>/g, ""));
}

test("the picture in the README shows what the demo prints today", async () => {
  const [command, ...shown] = textsOf(readFileSync(demoPicture, "utf8"));

  expect(command).toBe("$ make demo");
  expect(shapesOf(shown)).toEqual(shapesOf(shownLines(await demoOutput())));
});

test("the picture is what the tool makes of its lines", () => {
  const svg = readFileSync(demoPicture, "utf8");

  expect(renderTerminal("make demo", textsOf(svg).slice(1))).toBe(svg);
});

test.each(["demo.svg", "pod.svg"])("%s is small, has a title, and a dark scheme", (name) => {
  const svg = readFileSync(join(root, "docs/pictures", name), "utf8");

  expect(svg.length).toBeLessThan(8_000);
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /);
  expect(svg).toContain("<title>");
  expect(svg).toContain("@media(prefers-color-scheme:dark)");
});
