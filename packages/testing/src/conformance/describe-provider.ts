import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { messageOf } from "@virtual-kubelet/errdefs";
import { longestMs, runCheck, type Check } from "./check.ts";
import { featureNames, features } from "./features.ts";
import type { ConformanceOptions, TestRunner } from "./options.ts";
import { providerReadmeProblems } from "./provider-readme.ts";
import { ProviderRig } from "./provider-rig.ts";
import { ReportBook } from "./report.ts";
import { planSuite } from "./suite-plan.ts";

/**
 * Declares the provider suite's tests for a provider. Await it at the top of a test file. The tests are Vitest's, or
 * those of the `runner` in the options.
 *
 * ```ts
 * import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
 * import { provider } from "../src/index.ts";
 *
 * await describeProvider({ provider, required: requiredFeatures.template });
 * ```
 *
 * Each test makes a provider of its own, deletes the pods it made, disposes the provider, and fails if anything stays
 * open. What a provider does not claim, by its methods and capabilities, is no test, and fails the suite if it is required:
 * the suite's title names it, and the report says of every feature and check how it went, or why it was not run.
 */
export async function describeProvider(options: ConformanceOptions): Promise<void> {
  const { provider: definition, runner = await vitestRunner() } = options;
  const { after, describe, test } = runner;
  const plan = planSuite(options, await sampleOf(options), definition.capabilities);
  const book = new ReportBook(options, plan);
  const timeout = longestMs(options);
  const runAndNote = async (check: Check): Promise<void> => {
    try {
      await runCheck(check, options);
      book.note({ check, state: "passed" });
    } catch (error) {
      book.note({ check, state: "failed", reason: messageOf(error) });
      throw error;
    }
  };

  const left = featureNames.filter((feature) => plan.features[feature].state !== "run");
  describe(`provider ${definition.name}${left.length > 0 ? ` (without ${left.join(", ")})` : ""}`, () => {
    test("has every feature that is required of it", { timeout }, async () => assert.deepEqual(plan.missing, []));
    if (options.readme !== undefined) {
      const path = options.readme;
      test("says in its README what maps, what is refused and what can be configured", { timeout }, async () => {
        const schema = definition.configSchema.toJSONSchema?.({ io: "input" });
        assert.deepEqual(providerReadmeProblems(readFileSync(path, "utf8"), schema), []);
      });
    }
    for (const feature of featureNames) {
      const { state, checks } = plan.features[feature];
      const due = checks.filter(({ needs }) => needs === undefined);
      if (state !== "run" || due.length === 0) continue;
      describe(`${feature}: ${features[feature]}`, () => {
        for (const { check } of due) test(check.name, { timeout }, () => runAndNote(check));
      });
    }
    after(() => {
      if (options.report !== undefined) book.write(options.report);
    });
  });
}

/** Creates a provider whose methods are only inspected, not called. */
async function sampleOf(options: ConformanceOptions): Promise<ProviderRig["provider"]> {
  await using rig = await ProviderRig.open(options);
  return rig.provider;
}

async function vitestRunner(): Promise<TestRunner> {
  const { afterAll, describe, test } = await import("vitest");
  return { after: afterAll, describe, test };
}
