import { expect, test } from "vitest";
import { zunConfigSchema } from "../config/schema.ts";
import { describeNode } from "./describe-node.ts";

const parsed = zunConfigSchema.safeParse({ cpu: 8, memory: "16Gi" });
const config = parsed.success ? parsed.data : undefined;

test.for([
  ["as large as it is configured", undefined, { cpu: "8", memory: "16Gi", pods: "20" }],
  ["no larger than the project's quota", { cpu: 4, memory: 10_240, containers: 5 }, { cpu: "4", memory: "10Gi", pods: "5" }],
  ["not bound by a quota of -1", { cpu: -1, memory: -1, containers: -1 }, { cpu: "8", memory: "16Gi", pods: "20" }],
] as const)("the node is %s", ([, quota, capacity]) => {
  expect(config && describeNode(config, quota).capacity).toEqual(capacity);
});

test("a configuration that cannot be read is named by its field", () => {
  const wrong = zunConfigSchema.safeParse({ mode: "pod", pollInterval: "soon", cpu: "many", authUrl: "cloud" });
  expect(wrong.success ? [] : wrong.error.issues.map(({ path }) => path.join(".")).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    "authUrl",
    "cpu",
    "mode",
  ]);
});
