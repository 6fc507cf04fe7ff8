import { expect, test } from "vitest";
import { atomicPaths } from "./atomic-paths.ts";
import { mergeTypeOf } from "./merge-type.ts";

test("atomic objects and lists are found by their paths", () => {
  const deployment = mergeTypeOf("io.k8s.api.apps.v1.Deployment");
  expect(
    atomicPaths(deployment, {
      metadata: { labels: { a: "b" } },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { spec: { nodeSelector: {}, containers: [{ name: "a" }, { name: "b", args: ["x"], env: [] }] } },
      },
    }),
  ).toEqual([".spec.selector", ".spec.template.spec.nodeSelector", ".spec.template.spec.containers[1].args"]);
});
