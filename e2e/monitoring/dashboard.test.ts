import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ReferenceMetric } from "../../tools/metric-reference.ts";
import { alerts } from "../../tools/monitoring/alerts.ts";
import { root } from "../../tools/workspace.ts";
import { programOf, runProgram } from "./support/programs.ts";
import { scrapedMetrics } from "./support/scraped-metrics.ts";

const target = z.object({ refId: z.string().regex(/^[A-Z]$/), expr: z.string().min(1), legendFormat: z.string() });
const panel = z.object({
  id: z.int(),
  type: z.enum(["row", "stat", "timeseries"]),
  title: z.string().min(1),
  gridPos: z.object({ x: z.int().min(0), y: z.int().min(0), w: z.int(), h: z.int() }),
  targets: z.array(target).optional(),
});
const dashboard = z.object({
  uid: z.string().max(40),
  title: z.string(),
  schemaVersion: z.int(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(panel),
});

const queries = z.array(
  z.object({ selectors: z.array(z.object({ metric: z.string(), labels: z.array(z.string()) })), grouping: z.array(z.string()) }),
);

/** Labels that Prometheus and an operator add to every metric of a target. */
const ofTargets = ["job", "instance", "namespace", "pod"];

const { panels, templating } = dashboard.parse(JSON.parse(readFileSync(join(root, "deploy/monitoring/dashboard.json"), "utf8")));

/** The dashboard's queries, with values in place of Grafana's variables. */
const expressions = panels
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  .map((expr) => expr.replaceAll(/\$__(rate_interval|range)/g, "5m").replaceAll(/\$\w+/g, ".*"));

/** What Prometheus' parser finds in expressions. @throws its words about one that does not parse */
async function parseQueries(texts: readonly string[]): Promise<z.infer<typeof queries>> {
  const { code, stdout, stderr } = await runProgram(programOf("PROMQL_PARSER"), [], JSON.stringify(texts));
  if (code !== 0) throw new Error(stderr);
  return queries.parse(JSON.parse(stdout));
}

/** Metrics and labels of an expression that nothing exposes. */
function unknownIn({ selectors, grouping }: z.infer<typeof queries>[number], metrics: readonly ReferenceMetric[]): readonly string[] {
  const known = selectors.map(({ metric: name, labels }) => {
    const metric = metrics.find((each) => each.name === name || isSampleOf(name, each));
    const own = metric ? [...metric.labels, ...ofTargets, ...(name.endsWith("_bucket") ? ["le"] : [])] : [];
    return { name, own, problems: metric ? labels.filter((label) => !own.includes(label)).map((label) => `${name}{${label}}`) : [name] };
  });
  const groupable = new Set([...known.flatMap(({ own }) => own), ...ofTargets]);
  return [
    ...known.flatMap(({ problems }) => problems),
    ...grouping.filter((label) => !groupable.has(label)).map((label) => `by (${label})`),
  ];
}

function isSampleOf(sample: string, { name, type }: ReferenceMetric): boolean {
  return type === "histogram" && ["_bucket", "_sum", "_count"].some((suffix) => sample === `${name}${suffix}`);
}

test("every query of the dashboard parses, and names metrics and labels that a node exposes", async () => {
  const metrics = await scrapedMetrics();
  const parsed = await parseQueries(expressions);

  expect(parsed.length).toBeGreaterThan(30);
  expect(parsed.flatMap((query) => unknownIn(query, metrics))).toEqual([]);
});

test("every alert names metrics and labels that a node exposes", async () => {
  const metrics = await scrapedMetrics();
  const parsed = await parseQueries(alerts.map(({ expr }) => expr));

  expect(parsed).toHaveLength(alerts.length);
  expect(parsed.flatMap((query) => unknownIn(query, metrics))).toEqual([]);
});

test("labels in an alert's text are labels of its result", async () => {
  const metrics = await scrapedMetrics();
  for (const { name, expr, summary, description } of alerts) {
    const used = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
    const [query] = await parseQueries([expr]);
    const own = metrics.filter((metric) => query?.selectors.some((each) => each.metric === metric.name || isSampleOf(each.metric, metric)));
    const available = new Set([...own.flatMap(({ labels }) => labels), ...ofTargets]);
    expect([name, used.filter((label) => !available.has(label))]).toEqual([name, []]);
  }
});

test("an unknown metric, an unknown label and a broken query are found", async () => {
  const [first, second, third] = await parseQueries(["vk_no_such_metric", 'vk_node_ready{color="red"}', "sum by (color) (vk_node_ready)"]);
  const metrics = await scrapedMetrics();

  expect([first, second, third].flatMap((query) => (query ? unknownIn(query, metrics) : []))).toEqual([
    "vk_no_such_metric",
    "vk_node_ready{color}",
    "by (color)",
  ]);
  await expect(parseQueries(["sum by ("])).rejects.toThrow("sum by (");
});

test("the panels lie in Grafana's grid without covering each other, and variables choose the targets", () => {
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );

  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(templating.list.map(({ name }) => name)).toEqual(["datasource", "job", "instance"]);
});
