import { readFileSync } from "node:fs";
import { env } from "node:process";
import { expect } from "vitest";

// What a property is tried with is the same on every run, so that what fails has been changed; PROPERTY_SEED=n tries something else.
const { testPath = "" } = expect.getState();

// Loading fast-check takes longer than most files' tests.
if (readFileSync(testPath, "utf8").includes('from "fast-check"')) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(env["PROPERTY_SEED"] ?? 1) });
}
