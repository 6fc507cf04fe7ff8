import { expect, test } from "vitest";
import { farUses, findMetricUses, metricProblems, type MetricUse, type PlacedUse } from "./metric-uses.ts";

const source = `
class A {
  constructor(options) { this.#labels = { name: options.name }; }
  run() {
    const labels = { method: "GET", path };
    this.#metrics.count("a_total", labels);
    this.#options.metrics.gauge("b", 1, this.#labels);
    metrics.observe("c_seconds", took, { ...this.#labels, code });
    using _ = metrics.sampled?.("d", () => 1);
    metrics.count(\`e_\${kind}_total\`, given);
    others.count("not_a_metric");
    new ObjectReader({ metrics, backEnd: "Acme", idOf });
  }
}`;

test("finds the names, types and labels of metrics", () => {
  expect(findMetricUses("a.ts", source)).toEqual([
    { name: /^a_total$/, type: "counter", labels: ["method", "path"], line: 6 },
    { name: /^b$/, type: "gauge", labels: ["name"], line: 7 },
    { name: /^c_seconds$/, type: "histogram", labels: ["name", "code"], line: 8 },
    { name: /^d$/, type: "gauge", labels: [], line: 9 },
    { name: /^e_\w+_total$/, type: "counter", labels: undefined, line: 10 },
    { name: /^vk_acme_skipped_objects_total$/, type: "counter", labels: ["kind"], line: 12 },
  ]);
});

test("what the client of API servers counts has another name for the far cluster", () => {
  const [inClient, elsewhere] = [use("vk_reflector_lists_total"), use("vk_node_ready")];

  expect(farUses([{ ...inClient, place: "packages/kube-client/src/reflector/reflector.ts:3" }, elsewhere])).toEqual([
    { ...inClient, name: /^vk_kubernetes_far_reflector_lists_total$/, place: "packages/kube-client/src/reflector/reflector.ts:3" },
  ]);
});

const catalogue = { a_total: { type: "counter", help: "a", labels: ["method"] } } as const;

function use(name: string, given: Partial<MetricUse> = {}): PlacedUse {
  return { name: new RegExp(`^${name}$`), type: "counter", labels: ["method"], line: 1, place: "a.ts:1", ...given };
}

test.for<[what: string, uses: readonly PlacedUse[], problems: readonly string[]]>([
  ["a use that fits", [use("a_total")], []],
  ["a name of which a part is computed", [use("\\w+_total")], []],
  [
    "a metric that the catalogue does not have",
    [use("a_total"), use("b_total")],
    ["a.ts:1: the metric ^b_total$ is not in the catalogue; describe it in metric-catalogue.ts"],
  ],
  [
    "another type",
    [use("a_total", { type: "gauge" })],
    ["a.ts:1: a_total is used as a gauge with the labels [method]; the catalogue has a counter with [method]"],
  ],
  [
    "another label",
    [use("a_total", { labels: ["method", "code"] })],
    ["a.ts:1: a_total is used as a counter with the labels [method, code]; the catalogue has a counter with [method]"],
  ],
  [
    "labels from elsewhere",
    [use("a_total", { labels: undefined })],
    ["a.ts:1: the labels of ^a_total$ cannot be read from the source; write them as an object literal"],
  ],
  ["a metric that nothing counts", [], ["metric-catalogue.ts describes a_total, which nothing counts; remove it"]],
])("of %s it is said", ([, uses, problems]) => {
  expect(metricProblems(uses, catalogue)).toEqual(problems);
});
