import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { metricCatalogue, type MetricDefinition } from "../packages/metrics/src/prometheus/metric-catalogue.ts";
import { farName } from "../providers/kubernetes/src/far/far-metrics.ts";
import type { CheckResult } from "./check.ts";
import { root } from "./workspace.ts";

/** A place in the sources that counts, sets or observes a metric. */
export interface MetricUse {
  /** Regular expression of the name, because a part of it can be computed. */
  readonly name: RegExp;
  readonly type: MetricDefinition["type"];
  /** Names of its labels; `undefined` if they cannot be read from the source. */
  readonly labels: readonly string[] | undefined;
  readonly line: number;
}

/** Methods of `Metrics`, with the type of metric and the place of the labels among the arguments. */
const methods: Readonly<Record<string, { readonly type: MetricDefinition["type"]; readonly labelsAt: number }>> = {
  count: { type: "counter", labelsAt: 1 },
  gauge: { type: "gauge", labelsAt: 2 },
  observe: { type: "histogram", labelsAt: 2 },
  sampled: { type: "gauge", labelsAt: 2 },
};

/**
 * Finds the uses of metrics in a source. Labels in a variable or a private field are found where that is set. A name for `backEnd` is that of an
 * `ObjectReader`, which counts what it skips.
 */
export function findMetricUses(fileName: string, text: string): readonly MetricUse[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const objects = objectsByName(source);
  const uses: MetricUse[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && isMetrics(node.expression.expression)) {
      const method = methods[node.expression.name.text];
      const name = node.arguments[0] && nameOf(node.arguments[0]);
      if (method && name) {
        const labels = labelsOf(node.arguments[method.labelsAt], objects);
        uses.push({ name, type: method.type, labels, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1 });
      }
    }
    if (
      ts.isPropertyAssignment(node) &&
      node.name.getText() === "backEnd" &&
      ts.isStringLiteral(node.initializer) &&
      countsByBackEnd(node.parent)
    ) {
      const name = new RegExp(`^vk_${node.initializer.text.toLowerCase()}_skipped_objects_total$`);
      uses.push({ name, type: "counter", labels: ["kind"], line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

/** The uses in the client of API servers, under the names that they have for the far cluster of the provider kubernetes. */
export function farUses(uses: readonly PlacedUse[]): readonly PlacedUse[] {
  return uses
    .filter(({ place }) => /^packages\/kube-client\/src\/(reflector|rest)\//.test(place))
    .map((use) => ({ ...use, name: new RegExp(`^${farName(use.name.source.replace(/^\^|\$$/g, ""))}$`) }));
}

function isMetrics(node: ts.Expression): boolean {
  const name = ts.isPropertyAccessExpression(node) ? node.name.text : ts.isIdentifier(node) ? node.text : "";
  return name.replace(/^#/, "") === "metrics";
}

function nameOf(node: ts.Expression): RegExp | undefined {
  if (ts.isStringLiteralLike(node)) return new RegExp(`^${node.text}$`);
  if (!ts.isTemplateExpression(node)) return undefined;
  return new RegExp(`^${[node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("\\w+")}$`);
}

function labelsOf(
  node: ts.Expression | undefined,
  objects: ReadonlyMap<string, ts.ObjectLiteralExpression>,
): readonly string[] | undefined {
  if (!node) return [];
  const object = ts.isObjectLiteralExpression(node) ? node : objects.get(node.getText());
  if (!object) return undefined;
  const labels: string[] = [];
  for (const property of object.properties) {
    const more = ts.isSpreadAssignment(property) ? labelsOf(property.expression, objects) : property.name && [property.name.getText()];
    if (!more) return undefined;
    labels.push(...more);
  }
  return labels;
}

/** Object literals by the text of what they are assigned to: `labels`, `this.#labels`. */
function objectsByName(source: ts.SourceFile): ReadonlyMap<string, ts.ObjectLiteralExpression> {
  const objects = new Map<string, ts.ObjectLiteralExpression>();
  const visit = (node: ts.Node): void => {
    const [target, value] = ts.isVariableDeclaration(node)
      ? [node.name, node.initializer]
      : ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken
        ? [node.left, node.right]
        : [];
    if (target && value && ts.isObjectLiteralExpression(value)) objects.set(target.getText(), value);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return objects;
}

/** A use with its file and line. */
export type PlacedUse = MetricUse & { readonly place: string };

/** Uses that the catalogue does not have, or with another type or other labels, and metrics of the catalogue that nothing uses. */
export function metricProblems(uses: readonly PlacedUse[], catalogue: Readonly<Record<string, MetricDefinition>>): readonly string[] {
  const described = Object.entries(catalogue);
  const wrong = uses.flatMap(({ name, type, labels, place }) => {
    const found = described.filter(([known]) => name.test(known));
    if (found.length === 0) return [`${place}: the metric ${name.source} is not in the catalogue; describe it in metric-catalogue.ts`];
    if (labels === undefined)
      return [`${place}: the labels of ${name.source} cannot be read from the source; write them as an object literal`];
    return found
      .filter(([, metric]) => metric.type !== type || metric.labels.toSorted().join() !== labels.toSorted().join())
      .map(([known, metric]) => {
        const here = `${type} with the labels [${labels.join(", ")}]`;
        return `${place}: ${known} is used as a ${here}; the catalogue has a ${metric.type} with [${metric.labels.join(", ")}]`;
      });
  });
  const unused = described.filter(([known]) => !uses.some(({ name }) => name.test(known)));
  return [...wrong, ...unused.map(([known]) => `metric-catalogue.ts describes ${known}, which nothing counts; remove it`)];
}

/** Whether the catalogue and the sources agree about metrics. */
export function checkMetricUses(): readonly CheckResult[] {
  const files = globSync("{packages,providers}/*/src/**/*.ts", { cwd: root }).filter(
    (file) => !/\.test\.ts$|test-support|prometheus-metrics/.test(file),
  );
  const uses = files.flatMap((file) =>
    findMetricUses(file, readFileSync(join(root, file), "utf8")).map((use) => ({ ...use, place: `${file}:${use.line}` })),
  );
  // PrometheusMetrics counts what it drops by itself.
  const { vk_metrics_dropped_total: _, ...counted } = metricCatalogue;
  return [
    {
      name: "every metric is in the catalogue with its type and labels, and counted",
      problems: metricProblems([...uses, ...farUses(uses)], counted),
    },
  ];
}

/** Whether an object counts by its own name: a budget's requests are named otherwise, and so is what `countSkipped` counts. */
function countsByBackEnd(options: ts.ObjectLiteralExpression): boolean {
  const isBudget = ts.isNewExpression(options.parent) && options.parent.expression.getText() === "CallBudget";
  return !isBudget && !options.properties.some((each) => each.name?.getText() === "countSkipped");
}
