import { expect, test } from "vitest";
import { renderMatrix } from "./capability-matrix.ts";

const matrix = renderMatrix([
  {
    provider: "first",
    record: {
      against: "an engine",
      features: {
        logs: { state: "passed", required: true },
        exec: { state: "passed", untried: { "it has a terminal": "script(1) is not here" } },
        stats: { state: "lacking", reason: "no method" },
        attach: { state: "not-run", reason: "an older engine" },
      },
    },
  },
  { provider: "second", record: { features: {} } },
]);

test("a feature is a row, a provider a column, and what is promised is bold", () => {
  expect(matrix.split("\n")[0]).toBe("| | first | second |");
  expect(matrix).toContain("(`logs`) | **yes** | not run |");
  expect(matrix).toContain("(`exec`) | yes | not run |");
  expect(matrix).toContain("(`stats`) | no | not run |");
  expect(matrix).toContain("(`attach`) | not run | not run |");
});

test("what is missing has its reason under the table, and who misses nothing is not named there", () => {
  expect(matrix).toContain(
    [
      "first:",
      "",
      "- run against: an engine",
      "- `attach`: not run: an older engine",
      "- `stats`: no: no method",
      "- `exec`: not tried: it has a terminal; script(1) is not here",
    ].join("\n"),
  );
  expect(matrix).not.toContain("second:");
});
