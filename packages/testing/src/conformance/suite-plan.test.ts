import { expect, test } from "vitest";
import type { Provider } from "@virtual-kubelet/core";
import type { Feature } from "./features.ts";
import type { ConformanceOptions } from "./options.ts";
import { planSuite } from "./suite-plan.ts";

const provider = { attachToContainer: async () => {}, runInContainer: async () => ({ exitCode: 0 }) } as unknown as Provider;

/** Reasons why checks of a feature do not run, by check. */
function leftOut(feature: Feature, lacksPart: ConformanceOptions["lacksPart"]): Readonly<Record<string, string>> {
  const options = { required: [], lacksPart, backend: { leftovers: async () => [] } } as unknown as ConformanceOptions;
  const { checks } = planSuite(options, provider, { probes: true }).features[feature];
  return Object.fromEntries(checks.flatMap(({ check, needs }) => (needs === undefined ? [] : [[check.name, needs]])));
}

test.for([
  ["attach", "attach-input", [/^input reaches the container/]],
  ["lifecycle", "grace-periods", [/killed when its grace period ends/, /without grace/, /shorter grace period/]],
  ["probes", "startup-probes", [/^until the startup probe has passed/, /^a failed liveness or startup probe/]],
] as const)("of %s, only checks that need a lacking part do not run: %s", ([feature, part, names]) => {
  expect(leftOut(feature, {})).toEqual({});
  const left = leftOut(feature, { [part]: "the back end has none" });

  expect(Object.keys(left)).toEqual(names.map((name) => expect.stringMatching(name)));
  expect(new Set(Object.values(left))).toEqual(new Set(["the back end has none"]));
});
