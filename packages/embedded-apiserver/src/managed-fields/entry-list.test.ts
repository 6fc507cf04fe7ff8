import { expect, test } from "vitest";
import { hasUnknownFields, isEntryList } from "./entry-list.ts";

test.each([
  [[], true],
  [[{ manager: "m", operation: "None", time: "2026-01-01T00:00:00Z", fieldsV1: { "f:a": {} } }], true],
  [[{ manager: null, other: 5 }], true],
  [null, false],
  [{}, false],
  [["m"], false],
  [[{ manager: 5 }], false],
  [[{ fieldsV1: "f:a" }], false],
  [[{ time: "yesterday" }], false],
])("%j has the types of managers: %s", (value, expected) => {
  expect(isEntryList(value)).toBe(expected);
});

test("fields that a manager does not have are found", () => {
  expect(hasUnknownFields([{ manager: "m", subresource: "status" }])).toBe(false);
  expect(hasUnknownFields([{ manager: "m" }, { manger: "m" }])).toBe(true);
});
