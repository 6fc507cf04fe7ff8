import { expect, test } from "vitest";
import { renderMatrix, type MatrixColumn } from "./capability-matrix.ts";

const columns: readonly MatrixColumn[] = [
  {
    provider: "first",
    record: {
      real: {
        backEnd: "an engine",
        version: "2.1",
        date: "2026-02-02",
        features: {
          logs: { state: "passed", required: true },
          exec: { state: "passed", untried: { "it has a terminal": "script(1) is not here" } },
          update: { state: "passed", earlier: { version: "1.0", date: "2026-01-01" } },
          stats: { state: "lacking", reason: "no method" },
          "port-forward": { state: "passed", earlier: { backEnd: "another engine", version: "1.5", date: "2026-01-02" } },
          attach: { state: "not-run", reason: "an older engine" },
          networks: { state: "not-run", reason: "no network" },
        },
      },
      fake: { backEnd: "an engine in memory", features: { networks: { state: "passed", required: true }, logs: { state: "passed" } } },
    },
  },
  {
    provider: "second",
    record: {
      fake: { backEnd: "a fake", version: "3", features: { exec: { state: "passed", required: true }, logs: { state: "passed" } } },
    },
  },
  { provider: "third", record: { own: { backEnd: "the provider itself", features: { logs: { state: "passed", required: true } } } } },
  { provider: "fourth", record: {} },
];
const matrix = renderMatrix(columns, []);

test("a feature is a row, a provider a column, and what is promised is bold", () => {
  expect(matrix.split("\n")[0]).toBe("| | first | second | third | fourth |");
  expect(matrix).toContain("(`logs`) | **yes** | on a fake | **yes** | not run |");
  expect(matrix).toContain("(`stats`) | no | not run | not run | not run |");
  expect(matrix).toContain("(`attach`) | not run | not run | not run | not run |");
});

test("what ran on a fake only is no yes", () => {
  expect(matrix).toContain("(`exec`) | yes | **on a fake** | not run | not run |");
  expect(matrix).toContain("(`networks`) | **on a fake** | not run | not run | not run |");
});

test("under the table stand the back end with version and day, and the reasons of what is missing", () => {
  expect(matrix).toContain(
    [
      "first:",
      "",
      "- run on the real back end: an engine 2.1, on 2026-02-02",
      "- `networks`: not run: no network",
      "- `attach`: not run: an older engine",
      "- `stats`: no: no method",
      "- `update`: last run on 1.0, on 2026-01-01",
      "- `port-forward`: last run on another engine 1.5, on 2026-01-02",
      "- `exec`: not tried: it has a terminal; script(1) is not here",
      "- run on a fake: an engine in memory",
    ].join("\n"),
  );
  expect(matrix).toContain("second:\n\n- never run on the real back end\n- run on a fake: a fake, as of version 3");
  expect(matrix).toContain("third:\n\n- run on the provider itself: it has no other back end");
  expect(matrix).toContain("fourth:\n\n- the suite has not run");
});

test("a check that the suite has only since the last run was not tried", () => {
  const features = { logs: { state: "passed", checks: ["it is so"] }, exec: { state: "lacking", reason: "x" } } as const;
  const suite = [
    { feature: "logs", name: "it is so" },
    { feature: "logs", name: "it is otherwise" },
    { feature: "exec", name: "it runs" },
  ] as const;

  expect(
    renderMatrix([{ provider: "first", record: { fake: { backEnd: "a fake", features } } }], suite)
      .split("\n")
      .slice(-2),
  ).toEqual(["- `exec`: no: x", "- `logs`: not tried: it is otherwise; it is newer than the last run"]);
});
