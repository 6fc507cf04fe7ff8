import { expect, test } from "vitest";
import { compileJsonPath } from "./json-path.ts";

const value = {
  spec: {
    size: 3,
    "odd-name": "x",
    list: [
      { name: "a", port: 1 },
      { name: "b", port: 2 },
    ],
  },
  status: { conditions: [{ type: "Ready", status: "True" }] },
  metadata: { annotations: { "example.com/key": "v" } },
};

test.each([
  [".spec.size", 3],
  [".spec.odd-name", "x"],
  [".spec.list[1].port", 2],
  [".spec.list[*].name", "a"],
  ['.status.conditions[?(@.type=="Ready")].status', "True"],
  ['.status.conditions[?(@.type == "Broken")].status', undefined],
  [String.raw`.metadata.annotations.example\.com/key`, "v"],
  [".metadata.annotations['example.com/key']", "v"],
  [".spec.none.deeper", undefined],
  [".spec.list[9].port", undefined],
  ["{nonsense", undefined],
])("%s finds %j", (path, expected) => {
  expect(compileJsonPath(path)(value)).toEqual(expected);
});
