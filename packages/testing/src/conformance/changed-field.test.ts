import { expect, test } from "vitest";
import { changedField } from "./changed-field.ts";

const pod = { metadata: { name: "a", labels: { app: "web" } }, spec: { containers: [{ name: "a", env: [{ name: "A" }] }] } };

test("equal values have no changed field", () => {
  expect(changedField(pod, structuredClone(pod))).toBeUndefined();
});

test.each([
  ["metadata.labels.app", (copy: typeof pod) => (copy.metadata.labels.app = "db")],
  ["metadata.uid", (copy: typeof pod) => Object.assign(copy.metadata, { uid: "1" })],
  ["metadata.labels", (copy: typeof pod) => Reflect.deleteProperty(copy.metadata, "labels")],
  ["spec.containers[0].env[1]", (copy: typeof pod) => copy.spec.containers[0]?.env.push({ name: "B" })],
  ["spec.containers[0].name", (copy: typeof pod) => Object.assign(copy.spec.containers[0] ?? {}, { name: "b" })],
  ["spec.containers", (copy: typeof pod) => Object.assign(copy.spec, { containers: {} })],
])("the path names %s", (path, change) => {
  const copy = structuredClone(pod);
  change(copy);

  expect(changedField(pod, copy)).toBe(path);
});
