import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { alerts } from "../../tools/monitoring/alerts.ts";
import { alertName } from "../../tools/monitoring/render-alerts.ts";
import { root } from "../../tools/workspace.ts";
import { alertCases, asPrometheus3Stores, foreignSeries } from "./support/alert-cases.ts";
import { programOf, runProgram, type ProgramEnd } from "./support/programs.ts";

const ruleFile = join(root, "deploy/monitoring/alerts.yaml");

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-alerts-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Runs promtool's own tests: the series, and the expressions with the samples that they must have after two hours. */
async function testRules(
  series: Readonly<Record<string, string>>,
  expected: readonly { readonly expr: string; readonly value: number | undefined }[],
): Promise<ProgramEnd> {
  const file = join(folder, `test-${crypto.randomUUID()}.yaml`);
  const test = {
    rule_files: [ruleFile],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: expected.map(({ expr, value }) => ({
          expr,
          eval_time: "2h",
          exp_samples: value === undefined ? [] : [{ labels: "{}", value }],
        })),
      },
    ],
  };
  await writeFile(file, stringify(test));
  return runProgram(programOf("PROMTOOL"), ["test", "rules", file]);
}

/** Number of alerts of a name that fire. */
function firing(name: string): string {
  return `count(ALERTS{alertname="${name}", alertstate="firing"})`;
}

const passed = { code: 0, stderr: "" };

test("promtool accepts the rules, without a duplicate", async () => {
  const { code, stdout, stderr } = await runProgram(programOf("PROMTOOL"), ["check", "rules", "--lint=all", "--lint-fatal", ruleFile]);

  expect({ code, stderr }).toEqual(passed);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

test("every alert has a case, and every case an alert", () => {
  expect(Object.keys(alertCases).toSorted()).toEqual(alerts.map(({ name }) => name).toSorted());
});

test.for(Object.entries(alertCases))("%s fires when it should", async ([name, { fires }]) => {
  expect(await testRules(fires, [{ expr: firing(alertName({ name })), value: 1 }])).toMatchObject(passed);
});

const ofHistograms = Object.entries(alertCases).filter(([, { fires }]) => Object.keys(fires).some((series) => series.includes('le="')));

test.for(ofHistograms)(
  "%s, which reads buckets, does the same with the bounds that Prometheus 3 stores",
  async ([name, { fires, quiet }]) => {
    const expr = firing(alertName({ name }));
    expect(await testRules(asPrometheus3Stores(fires), [{ expr, value: 1 }])).toMatchObject(passed);
    expect(await testRules(asPrometheus3Stores(quiet), [{ expr, value: undefined }])).toMatchObject(passed);
  },
);

test.for(Object.entries(alertCases))("%s does not fire when it should not", async ([name, { quiet }]) => {
  expect(await testRules(quiet, [{ expr: firing(alertName({ name })), value: undefined }])).toMatchObject(passed);
});

test("the metrics of other programs under the same names make nothing fire", async () => {
  expect(foreignSeries.length).toBeGreaterThan(10);
  for (const series of foreignSeries) {
    const others = 'count(ALERTS{alertname!="VirtualKubeletAbsent", alertstate="firing"})';
    expect(await testRules(series, [{ expr: others, value: undefined }])).toMatchObject(passed);
  }
});

test("a test of promtool that must fail does fail", async () => {
  const { quiet } = alertCases["ProviderDown"] ?? { quiet: {} };
  const { code, stderr } = await testRules(quiet, [{ expr: firing("VirtualKubeletProviderDown"), value: 1 }]);

  expect(code).not.toBe(0);
  expect(stderr).toContain("got: nil");
});
