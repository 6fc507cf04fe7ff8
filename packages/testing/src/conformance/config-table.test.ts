import { expect, test } from "vitest";
import { renderConfigTable } from "./config-table.ts";

/** The table's lines without the head. */
function linesOf(properties: Readonly<Record<string, object>>): readonly string[] {
  return renderConfigTable({ type: "object", properties }).split("\n").slice(2);
}

test("a default at the end of a description has its own column, and the word within a sentence stays there", () => {
  expect(
    linesOf({
      cpu: { description: "CPUs of the node; default 20" },
      models: { description: "Models, the default one first; the rest by choice", default: [] },
      region: { description: "Region; default: from the file" },
    }),
  ).toEqual([
    "| `cpu` | `20` | CPUs of the node |",
    "| `models` | `[]` | Models, the default one first; the rest by choice |",
    "| `region` | none | Region; default: from the file |",
  ]);
});

test("annotations of the policy have no lines of their own, because the policy's line names them", () => {
  const annotations = { description: "Allowed values of the annotations a.example.com/x", properties: { "a.example.com/x": {} } };

  expect(linesOf({ policy: { description: "Policy", properties: { annotations } } })).toEqual([
    "| `policy` | none | Policy |",
    "| `policy.annotations` | none | Allowed values of the annotations a.example.com/x |",
  ]);
});
