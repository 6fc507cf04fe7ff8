import type { Provider } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { RecordingProvider } from "../recording-provider/recording-provider.ts";
import { allChecks } from "./all-checks.ts";
import type { ConformanceOptions } from "./options.ts";
import { ReportBook, type CheckReport } from "./report.ts";
import { planSuite } from "./suite-plan.ts";

const exitCode = async (): Promise<{ readonly exitCode: number }> => ({ exitCode: 0 });
const provider = { runInContainer: exitCode, getContainerLogs: exitCode } as unknown as Provider;

/** Results of a feature's checks that did not run, in a run in which all others passed. */
function notRun(feature: "exec" | "logs" | "probes", lacksPart: ConformanceOptions["lacksPart"]): readonly CheckReport[] {
  const options: ConformanceOptions = { provider: new RecordingProvider().definition, required: [], lacksPart };
  const plan = planSuite(options, provider, { probes: true, multipleContainers: true });
  const book = new ReportBook(options, plan);
  for (const { check, needs } of plan.features[feature].checks) if (needs === undefined) book.note({ check, state: "passed" });
  return book.report().features[feature].checks.filter(({ state }) => state === "not-run");
}

test("a part that the checks do without is reported once, under its feature", () => {
  const reason = "the driver drops them";

  expect(notRun("logs", { "empty-lines": reason })).toEqual([{ name: "empty lines are in a container's log", state: "not-run", reason }]);
  expect(notRun("exec", { "empty-lines": reason })).toEqual([]);
  expect(notRun("logs", {})).toEqual([]);
});

test.each([
  ["separate-errors", "exec", "a command's stdout and stderr are separate, and complete before the command is reported as ended"],
  ["probe-commands", "probes", "until the startup probe has passed, a container is neither started nor ready, and no other probe runs"],
] as const)("the check of %s does not run without it, and is reported in its place", (part, feature, name) => {
  expect(allChecks.map((check) => check.name)).toContain(name);
  expect(notRun(feature, { [part]: "it is so" })).toEqual([{ name, state: "not-run", reason: "it is so" }]);
});
