import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { kinds } from "../kinds/index.ts";
import { builtInDefinition } from "../kinds/schema/schema.ts";
import { applyPatch, type ObjectPatch } from "./apply-patch.ts";

const podKind = { group: "", version: "v1", kind: "Pod" };
const pod = {
  spec: {
    containers: [
      { name: "a", image: "x:1" },
      { name: "b", image: "y:1" },
    ],
  },
};

test.each<[ObjectPatch["type"], unknown, object[]]>([
  [
    "strategic",
    { spec: { containers: [{ name: "b", image: "y:2" }] } },
    [
      { name: "a", image: "x:1" },
      { name: "b", image: "y:2" },
    ],
  ],
  ["merge", { spec: { containers: [{ name: "b", image: "y:2" }] } }, [{ name: "b", image: "y:2" }]],
  ["json", [{ op: "remove", path: "/spec/containers/0" }], [{ name: "b", image: "y:1" }]],
])("a %s patch treats the list of containers in its own way", (type, body, containers) => {
  expect(applyPatch(pod, { type, body }, podKind)).toEqual({ spec: { containers } });
});

test("the result shares nothing with the object and the patch", () => {
  const added = { name: "c" };

  const patched = applyPatch(pod, { type: "strategic", body: { spec: { containers: [added] } } }, podKind);
  for (const container of patched.spec.containers) container.image = "changed";

  expect(pod.spec.containers.map(({ image }) => image)).toEqual(["x:1", "y:1"]);
  expect(added).toEqual({ name: "c" });
});

test("members of the patch that are undefined change nothing, and those that are null remove the field", () => {
  const object: { metadata: { labels?: object; uid?: string } } = { metadata: { labels: { a: "b" }, uid: "1" } };

  expect(applyPatch(object, { type: "merge", body: { metadata: { labels: undefined, uid: null } } }, podKind)).toEqual({
    metadata: { labels: { a: "b" } },
  });
});

test("a strategic merge patch of a custom resource is refused with 415, as the API server does", () => {
  const kind = { group: "example.com", version: "v1", kind: "Widget" };
  const apply = (): unknown => applyPatch({}, { type: "strategic", body: {} }, kind);

  expect(apply).toThrow(
    "apply a strategic merge patch to an object of kind Widget in example.com/v1: expected a kind that is built into Kubernetes; use a merge patch",
  );
  expect(apply).toThrow(expect.objectContaining({ status: expect.objectContaining({ code: 415 }) }));
  expect(applyPatch({ spec: { a: 1 } }, { type: "merge", body: { spec: { a: 2 } } }, kind)).toEqual({ spec: { a: 2 } });
});

test("a patch that is not an object is invalid input, which errdefs recognizes", () => {
  expect(() => applyPatch(pod, { type: "merge", body: [] }, podKind)).toThrow(expect.toSatisfy(isInvalidInput));
});

test("the type of each kind of the server is found by its group, version and kind", () => {
  expect(kinds.map(builtInDefinition)).toEqual(kinds.map(({ schema }) => schema));
});
