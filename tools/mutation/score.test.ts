import { expect, test } from "vitest";
import { parseScore, percentNoticed, renderScores, type Score } from "./score.ts";

const score: Score = { mutants: 2345, sample: 200, seed: 1, noticed: 165, timedOut: 5, survived: 25, notCovered: 5, accepted: 12 };

test("tests that no longer end have noticed, and an accepted survivor has not been noticed", () => {
  expect(percentNoticed(score)).toBe(85);
});

test("the guide's table names what a package promises, and rounds in no one's favour", () => {
  const lines = renderScores({ core: score, cli: { ...score, noticed: 164 } }).split("\n");
  expect(lines.slice(2)).toEqual([
    "| `core` | 2,345 | 200 | 170 | 25 | 5 | 12 | 85 % (promised: 85 %) |",
    "| `cli` | 2,345 | 200 | 169 | 25 | 5 | 12 | 84 % |",
  ]);
});

test("what is written is read back, and anything else is refused with the file's name", () => {
  expect(parseScore(JSON.stringify(score), "core.json")).toEqual(score);
  expect(() => parseScore(JSON.stringify({ ...score, noticed: "many" }), "core.json")).toThrow(/^core\.json: noticed: /);
});
