import assert from "node:assert/strict";
import { messageOf } from "@virtual-kubelet/errdefs";
import { runCheck } from "@virtual-kubelet/testing/conformance";
import { expect, test } from "vitest";
import { brokenProviders } from "./support/broken-providers.ts";

// The suite must be able to fail: each of these providers is a good one with one fault, and one check finds it. That the good ones pass
// all checks is held by mock.test.ts, recording-provider.test.ts and real-process-provider.test.ts.

/** For what is deleted after a check, and for a busy machine. */
const clearingUpMs = 30_000;

test.each(brokenProviders)("a provider that $fault is found out", async ({ check, options, says }) => {
  const run = options();
  await using _options = { [Symbol.asyncDispose]: async () => run[Symbol.asyncDispose]?.() };
  expect(check.needs?.(run, () => true)).toBeUndefined();
  const startedMs = performance.now();
  const error: unknown = await runCheck(check, run).then(
    () => assert.fail("the check passed"),
    (thrown: unknown) => thrown,
  );

  expect(messageOf(error)).toMatch(says);
  expect(performance.now() - startedMs).toBeLessThan((run.timeouts?.checkMs ?? 0) + clearingUpMs);
});

test("each fault is another", () => {
  expect(new Set(brokenProviders.map(({ fault }) => fault)).size).toBe(brokenProviders.length);
});
