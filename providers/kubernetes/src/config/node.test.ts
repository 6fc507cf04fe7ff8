import { expect, test } from "vitest";
import { kubernetesConfigSchema } from "../config.ts";

test.for([
  [{ node: { capacity: { cpu: "many" } } }, "node.capacity.cpu", /expected a quantity of zero or more/],
  [{ node: { capacity: { cpu: "-1" } } }, "node.capacity.cpu", /expected a quantity of zero or more/],
  [{ node: { capacity: "quota" }, namespaces: { mode: "same" } }, "node.capacity", /namespaces.mode one, but the mode is same/],
  [{ node: { capacity: "quota", each: true } }, "node.capacity", /expected auto, nodes or quantities/],
  [{ node: { capacity: "quota", others: "subtract" } }, "node.others", /expected auto or ignore/],
  [{ scheduling: { tolerations: [{ operator: "Equal" }] } }, "scheduling.tolerations.0.operator", /expected Exists/],
  [{ scheduling: { tolerations: [{ key: "a", operator: "Exists", value: "b" }] } }, "scheduling.tolerations.0.value", /expected none/],
  [{ scheduling: { tolerations: [{ key: "a", tolerationSeconds: 5 }] } }, "scheduling.tolerations.0.effect", /expected NoExecute/],
  [{ carry: { secrets: ["a/b/c"] } }, "carry.secrets.0", /NAME or NAMESPACE\/NAME/],
  [{ carry: { farServiceAccount: "Not_Valid" } }, "carry.farServiceAccount", /expected the name of a service account/],
  [{ node: { each: true }, scheduling: { farNode: "a" } }, "scheduling.farNode", /use scheduling.nodeSelector/],
] as const)("a configuration that cannot work is refused by field: %#", ([input, path, message]) => {
  const { success, error } = kubernetesConfigSchema.safeParse(input);
  const issues = error?.issues.flatMap((issue) =>
    issue.code === "invalid_union" ? issue.errors.flat().map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) : [issue],
  );

  expect(success).toBe(false);
  expect(issues).toContainEqual(expect.objectContaining({ message: expect.stringMatching(message) }));
  expect(issues?.map((issue) => issue.path.join("."))).toContain(path);
});

test("quantities are taken as they are", () => {
  const capacity = { cpu: "500m", memory: "1Gi", "nvidia.com/gpu": "0" };

  expect(kubernetesConfigSchema.parse({ node: { capacity } }).node.capacity).toEqual(capacity);
});
