import { expect, test } from "vitest";
import { z } from "zod";
import { renderConfigTable } from "./config-table.ts";
import { providerReadmeProblems } from "./provider-readme.ts";

const schema = z.toJSONSchema(
  z.strictObject({
    address: z.string().default("http://127.0.0.1:4646").meta({ env: "BACKEND_ADDR", description: "Where the back end answers" }),
    region: z.enum(["eu", "us"]).optional().describe("Where pods run; default eu"),
    pools: z
      .array(z.strictObject({ name: z.string().describe("Its name") }))
      .optional()
      .describe("Pools | of hosts"),
  }),
  { io: "input" },
);

test("the table of a configuration has its keys, defaults, variables and descriptions", () => {
  expect(renderConfigTable(schema)).toBe(
    [
      "| key | default | variable | meaning |",
      "| --- | --- | --- | --- |",
      '| `address` | `"http://127.0.0.1:4646"` | `BACKEND_ADDR` | Where the back end answers |',
      "| `region` | `eu` |  | Where pods run; one of `eu`, `us` |",
      "| `pools` | none |  | Pools \\| of hosts |",
      "| `pools[].name` | none |  | Its name |",
    ].join("\n"),
  );
  expect(renderConfigTable(z.toJSONSchema(z.strictObject({})))).toBe("There is nothing to configure.");
});

test("a complete README has no problems", () => {
  expect(providerReadmeProblems(readme(), schema)).toEqual([]);
});

test("a README's missing parts are reported", () => {
  expect(providerReadmeProblems("# p", schema)).toEqual([
    'has no section "## What maps"',
    'has no section "## What is refused"',
    "has no table of its configuration between <!-- generated:config --> and <!-- /generated:config -->",
  ]);
  expect(providerReadmeProblems(readme("- all"), schema)).toEqual(['says next to nothing under "## What maps"']);
  expect(providerReadmeProblems(readme().replace("of hosts", "of guests"), schema)).toEqual([
    `has a table of its configuration that is not what the schema says, which is:\n\n${renderConfigTable(schema)}\n`,
  ]);
});

function readme(maps = "- a pod is a job of the back end, and each of its containers a task of that job"): string {
  return [
    "# p",
    "## What maps",
    maps,
    "## What is refused",
    "- host networks, privileged containers, and volumes of every other type",
    "## Configuration",
    "<!-- generated:config -->",
    "",
    renderConfigTable(schema),
    "",
    "<!-- /generated:config -->",
  ].join("\n");
}
