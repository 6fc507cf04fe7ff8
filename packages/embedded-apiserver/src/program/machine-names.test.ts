import { hostname } from "node:os";
import { expect, test } from "vitest";
import { machineNames } from "./machine-names.ts";

test("a server on all addresses has the machine's names, and one on a single address does not", () => {
  expect(machineNames("0.0.0.0")).toEqual(expect.arrayContaining([hostname(), "127.0.0.1"]));
  expect(machineNames("::")).toContain("127.0.0.1");
  expect(machineNames("127.0.0.1")).toEqual([]);
  expect(machineNames(undefined)).toEqual([]);
});
