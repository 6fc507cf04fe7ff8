import { expect, test } from "vitest";
import { select, type Choices } from "./selection.ts";

const choices: Choices = {
  levels: [
    { name: "static", quick: true },
    { name: "unit", quick: true },
    { name: "docker", quick: false },
  ],
  packages: ["core", "docker"],
};

test("without a choice the quick levels run, and the others are named", () => {
  expect(select({}, choices)).toEqual({
    levels: ["static", "unit"],
    notRun: ["docker"],
    package: undefined,
    files: [],
    requireAll: false,
  });
});

test("ALL=1 runs every level", () => {
  expect(select({ ALL: "1", REQUIRE_ALL: "1" }, choices)).toMatchObject({
    levels: ["static", "unit", "docker"],
    notRun: [],
    requireAll: true,
  });
});

test("LEVEL runs the levels it names, in the order of the list, with or without commas", () => {
  expect(select({ LEVEL: "docker,static" }, choices)).toMatchObject({ levels: ["static", "docker"], notRun: [] });
  expect(select({ LEVEL: " docker  unit " }, choices).levels).toEqual(["unit", "docker"]);
});

test("PACKAGE is a short or a full name, and looks in every level", () => {
  expect(select({ PACKAGE: "core" }, choices)).toMatchObject({ package: "core", levels: ["static", "unit", "docker"] });
  expect(select({ PACKAGE: "@virtual-kubelet/provider-docker", LEVEL: "unit" }, choices)).toMatchObject({
    package: "docker",
    levels: ["unit"],
  });
});

test("FILES are parts of paths", () => {
  expect(select({ FILES: "pods.test streams" }, choices).files).toEqual(["pods.test", "streams"]);
});

test.each([
  [{ LEVEL: "unti" }, 'LEVEL has "unti"; expected one or more of static, unit, docker'],
  [{ PACKAGE: "coer" }, 'PACKAGE is "coer"; expected one of core, docker'],
  [{ ALL: "yes" }, 'ALL is "yes"; expected 1, or nothing'],
  [{ REQUIRE_ALL: "true" }, 'REQUIRE_ALL is "true"; expected 1, or nothing'],
  [{ ALL: "1", LEVEL: "unit" }, "LEVEL=unit and ALL=1 contradict each other; leave one of them out"],
])("%o is refused in one sentence", (environment, message) => {
  expect(() => select(environment, choices)).toThrow(message);
});
