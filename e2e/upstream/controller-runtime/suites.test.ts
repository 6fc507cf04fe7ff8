import { afterAll, beforeAll, expect, test } from "vitest";
import { controllerRuntimeSuites, ensureControllerRuntime, type ControllerRuntimeTests } from "../../../tools/controller-runtime.ts";
import { writeAssets, type Assets } from "../assets.ts";
import { knownMisses } from "./known-misses.ts";
import { namesOf, readRealResults } from "./real-results.ts";
import { runSuite } from "./run-suite.ts";

const real = readRealResults();

let tests: ControllerRuntimeTests;
let assets: Assets;
beforeAll(async () => {
  tests = await ensureControllerRuntime();
  assets = writeAssets();
});
afterAll(() => assets[Symbol.dispose]());

test("the results of the real server are of this version and of these suites", () => {
  expect(real).toMatchObject({ version: tests.version, kubernetes: expect.stringMatching(/^v1\.36\./) });
  expect(Object.keys(real.suites)).toEqual(controllerRuntimeSuites);
});

test.each(controllerRuntimeSuites)("%s: what passes on the real server passes here, except the known misses", async (suite) => {
  const { passed = 0, failed = [] } = real.suites[suite] ?? {};
  const misses = Object.keys(knownMisses[suite] ?? {});

  const outcomes = await runSuite(tests, suite, assets.directory);

  const messages = outcomes.flatMap(({ name, outcome, message }) => (outcome === "failed" ? [`${name}: ${message ?? ""}`] : []));
  expect(namesOf(outcomes, "failed"), messages.join("\n\n")).toEqual([...failed, ...misses].toSorted());
  expect(outcomes.filter(({ outcome }) => outcome === "passed").length + misses.length).toBe(passed);
});
