import { expect, test } from "vitest";
import { entryTimeProblem, hasUnknownFields, isEntryList, isReadableEntryList } from "./entry-list.ts";

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

test.each([
  [[{ manager: "m", time: "2026-01-01T00:00:00.5+01:00", fieldsV1: "f:a" }], true, undefined],
  [[{ time: null }], true, undefined],
  [[{ manager: 5 }], false, undefined],
  [[{}, { time: 5 }], false, "json: cannot unmarshal number into Go value of type string"],
  [[{ time: "now" }], false, 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"'],
])("the managers %j of a configuration can be read: %s, with the problem %s", (value, expected, problem) => {
  expect(isReadableEntryList(value)).toBe(expected);
  expect(entryTimeProblem(value)).toBe(problem);
});
