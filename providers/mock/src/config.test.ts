import { expect, test } from "vitest";
import { mockConfigSchema, nodeConfigOf } from "./config.ts";

function parse(input: unknown): { node: ReturnType<typeof nodeConfigOf>; stages: number } | string[] {
  const parsed = mockConfigSchema.safeParse(input);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return { node: nodeConfigOf(parsed.data, "vk"), stages: parsed.data.stages.length };
}

const defaults = {
  cpu: "20",
  memory: "100Gi",
  pods: "20",
  ephemeralStorage: "100Gi",
  others: {},
  providerID: undefined,
  podCIDR: "10.88.0.0/13",
};

test.for([
  ["no configuration", undefined, defaults],
  ["an empty one", {}, defaults],
  [
    "the flat form",
    { cpu: 2, memory: "4Gi", others: { "example.com/x": "1" } },
    { ...defaults, cpu: "2", memory: "4Gi", others: { "example.com/x": "1" } },
  ],
  [
    "upstream's form",
    { vk: { cpu: "2", providerID: "mock://vk" }, other: { cpu: "9" } },
    { ...defaults, cpu: "2", providerID: "mock://vk" },
  ],
  ["upstream's form without this node", { other: { cpu: "9" } }, defaults],
  [
    "a node within the flat form, which takes the rest from it",
    { pods: "500", cpu: "1", nodes: { vk: { cpu: "2" } } },
    { ...defaults, cpu: "2", pods: "500" },
  ],
] as const)("%s gives the node its size", ([, input, node]) => {
  expect(parse(input)).toEqual({ node, stages: 0 });
});

test.for([
  ["an amount", { cpu: "2 cores" }, ["cpu: expected a quantity such as 20, 500m or 100Gi"]],
  ["an amount in upstream's form", { vk: { pods: "-1" } }, ["vk.pods: expected a quantity such as 20, 500m or 100Gi"]],
  ["a range", { podCIDR: "10.0.0.0/31" }, ["podCIDR: expected an IPv4 range from /8 to /30, such as 10.88.0.0/16"]],
  ["a key", { memroy: "1Gi" }, [': Unrecognized key: "memroy"']],
  [
    "a stage's value",
    { stages: [{ exitAfter: "soon" }] },
    ["stages.0.exitAfter: expected a duration such as 500ms, 2s or 1m30s, or never"],
  ],
  ["a stage's key", { stages: [{ exitAfer: "1s" }] }, ['stages.0: Unrecognized key: "exitAfer"']],
  [
    "a container's failure",
    { stages: [{ containers: { a: { fail: "provider-error" } } }] },
    ["stages.0.containers.a.fail: only for a whole pod; expected image-pull-error or create-error"],
  ],
] as const)("%s that is wrong is named with its path", ([, input, issues]) => {
  expect(parse(input)).toEqual(issues);
});

test("the JSON Schema describes the input", () => {
  expect(mockConfigSchema.toJSONSchema?.()).toMatchObject({
    type: "object",
    additionalProperties: false,
    properties: { stages: { type: "array" } },
  });
});
