import { expect, test } from "vitest";
import { applyTable, type FieldTable } from "./field-table.ts";

interface Home {
  kept?: number;
  dropped?: number;
  changed?: number;
  list?: string[];
}

const table: FieldTable<Home, { readonly add: number }> = {
  kept: "keep",
  dropped: "drop",
  list: "keep",
  changed: ({ kept = 0 }, { add }) => (add === 0 ? undefined : kept + add),
};

test("fields are kept, dropped and made, also those that the object does not have", () => {
  const far = applyTable({ kept: 1, dropped: 2 }, table, { scope: { add: 5 }, onUnknown: () => {} });

  expect(far).toStrictEqual({ kept: 1, changed: 6 });
});

test("a field without a value, or with an empty list, is left out", () => {
  expect(applyTable({ changed: 1, list: [] }, table, { scope: { add: 0 }, onUnknown: () => {} })).toStrictEqual({});
});

test("a field that the table lacks is left out and told", () => {
  const unknown: string[] = [];
  const home: Home & { newer: boolean } = { kept: 1, newer: true };
  const far = applyTable<Home, { readonly add: number }>(home, table, { scope: { add: 0 }, onUnknown: (field) => unknown.push(field) });

  expect(far).toStrictEqual({ kept: 1 });
  expect(unknown).toEqual(["newer"]);
});
